# Wants more than its group may have; the kernel ends the one that asks.
echo "oom_killed 1 1" >> "$TRUTH_FILE"
exec "$TESTKIT" hold 240M 10 20 hold.truth
