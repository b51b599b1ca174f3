# 200 MB shared by six forked children, each of which makes 5 MB its own.
"$TESTKIT" cow 200M 6 5M 300 cow.truth
echo "combined.rss_bytes_max 230000000 250000000" >> "$TRUTH_FILE"
