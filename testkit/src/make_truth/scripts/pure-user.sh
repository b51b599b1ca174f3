# Nothing but arithmetic: what little of it is in the kernel is the start of the program.
now() { sed -n 's/usage_usec \(.*\)/\1000/p;t;p' "$TRUTH_CPU_FILE" | head -n 1; }
before=$(now)
awk 'BEGIN { for (i = 0; i < 8000000; i++) x += i; print x }' > answer
after=$(now)
echo "combined.cpu_user_ns $(((after - before) * 9 / 10)) -" >> "$TRUTH_FILE"
