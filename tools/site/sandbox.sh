# The folder in which the commands of the pages run: small jobs under the names that the pages use, and some runs of them.
set -eu
mkdir -p bin home
cat >solver <<'END'
#!/bin/sh
i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done
END
cat >bin/make <<'END'
#!/bin/sh
exec sleep 0.05
END
cat >bin/python <<'END'
#!/bin/sh
case ${1:-} in -m) exec true ;; esac
exec sleep 0.05
END
cat >start-daemon <<'END'
#!/bin/sh
sleep 0.1 &
END
cat >pipeline.sh <<'END'
#!/bin/sh
jobmeter mark --begin load
sleep 0.05
jobmeter mark --end load
jobmeter mark half-way
END
cp solver align.sh
cp solver example-script.sh
chmod +x solver bin/* start-daemon pipeline.sh align.sh example-script.sh
touch in.dat program.py train.py
for name in train train align base base base base base new new new new new; do
    jobmeter run -q --name "$name" -i 10ms -- ./solver
done
jobmeter run -q --tag branch=main --name nightly -f json -o usage.json -- ./solver
# What gpu_tracker's sub-tracking would have written during the last run: one call of `load`.
begin=$(date +%s.%N)
jobmeter run -q --name traced -- ./solver
{
    echo process_id,code_block_name,position,timestamp
    echo "1,load,0,$begin"
    echo "1,load,1,$(date +%s.%N)"
} >sub-tracking.csv
