# Daemons that end before the main process does, and children that nobody waits for in time.
"$TESTKIT" daemons 20 15
"$TESTKIT" zombies 20 100
"$TESTKIT" daemon-hold 60M 50 hold.truth
sleep 0.3
