# Something has happened before jobmeter looks, and goes on happening.
dd if=/dev/zero of=before bs=1M count=5 2> /dev/null
"$TESTKIT" burn 300
: > ready
"$TESTKIT" burn 150
dd if=/dev/zero of=after bs=1M count=10 2> /dev/null
"$TESTKIT" burn 150
"$TESTKIT" hold 100M 300 400 hold.truth
"$TESTKIT" burn 100
