# Phases whose marks come from a subshell in the background: each mark has another parent.
now() { sed -n 's/usage_usec \(.*\)/\1000/p;t;p' "$TRUTH_CPU_FILE" | head -n 1; }
before=$(now)
(
    "$JOBMETER" mark --begin p
    inner=$(now)
    "$TESTKIT" burn 250
    "$TESTKIT" hold 80M 60 80 hold.truth
    echo "$inner $(now)" > inner
    "$JOBMETER" mark --end p
) &
wait $!
after=$(now)
read -r from to < inner
echo "phase.p.cpu_ns $((to - from)) $((after - before))" >> "$TRUTH_FILE"
echo "phase.p.peak_rss_bytes 80000000 -" >> "$TRUTH_FILE"
echo "phase.p.open_calls 0 0" >> "$TRUTH_FILE"
sleep 0.3
