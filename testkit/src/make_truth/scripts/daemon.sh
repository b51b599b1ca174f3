# A daemon that goes on working after the main process has ended.
setsid "$TESTKIT" spawn-short 40 25 < /dev/null > /dev/null 2>&1 &
"$TESTKIT" burn 200
