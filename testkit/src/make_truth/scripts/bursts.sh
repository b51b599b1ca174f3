# Short bursts in short processes: nobody lives longer than some milliseconds.
i=0
while [ $i -lt 30 ]; do
    "$TESTKIT" hold 60M 0 0 hold.truth
    i=$((i + 1))
done
echo "combined.rss_bytes_max 60000000 72000000" >> "$TRUTH_FILE"
