# 250 MB for 5 ms, in a process that ends soon after.
"$TESTKIT" hold 250M 5 400 hold.truth
echo "combined.rss_bytes_max 250000000 265000000" >> "$TRUTH_FILE"
