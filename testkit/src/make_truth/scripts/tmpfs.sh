# Memory that the job holds in a file of a tmpfs and gives back before it ends.
file=/dev/shm/jobmeter-truth-$$
head -c 60000000 /dev/zero > "$file"
sleep 0.4
rm -f "$file"
echo "combined.unmapped_memory_peak_bytes 60000000 64000000" >> "$TRUTH_FILE"
echo "combined.rss_bytes_max - 20000000" >> "$TRUTH_FILE"
