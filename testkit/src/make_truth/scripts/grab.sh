# Memory in an unusual way, in processes that live for some milliseconds, two at a time.
how=${TRUTH_JOB#grab-}
head -c 60000000 /dev/zero > block
for round in 1 2 3 4 5; do
    "$TESTKIT" grab "$how" 60M 4 block &
    "$TESTKIT" grab "$how" 60M 4 block &
    wait
done
sleep 0.1
echo "combined.rss_bytes_max 60000000 145000000" >> "$TRUTH_FILE"
