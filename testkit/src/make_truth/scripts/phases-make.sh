# Phases marked in the recipes of a Makefile: every line is a shell of its own.
cat > Makefile <<'MAKE'
all:
	$(JOBMETER) mark --begin build
	$(TESTKIT) burn 150
	$(JOBMETER) mark --end build
	$(TESTKIT) burn 100
MAKE
make -s
echo "phase.build.cpu_ns 150000000 230000000" >> "$TRUTH_FILE"
echo "phase.build.open_calls 0 0" >> "$TRUTH_FILE"
