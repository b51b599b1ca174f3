# Phases marked in the recipes of a Makefile: every line is a shell of its own.
now() { sed -n 's/usage_usec \(.*\)/\1000/p;t;p' "$1" | head -n 1; }
cat > Makefile <<'MAKE'
all:
	cat "$$TRUTH_CPU_FILE" > before
	$(JOBMETER) mark --begin build
	cat "$$TRUTH_CPU_FILE" > from
	$(TESTKIT) burn 150
	cat "$$TRUTH_CPU_FILE" > to
	$(JOBMETER) mark --end build
	cat "$$TRUTH_CPU_FILE" > after
	$(TESTKIT) burn 100
MAKE
make -s
echo "phase.build.cpu_ns $(($(now to) - $(now from))) $(($(now after) - $(now before)))" >> "$TRUTH_FILE"
echo "phase.build.open_calls 0 0" >> "$TRUTH_FILE"
