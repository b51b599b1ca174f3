# The folder in which the commands of the pages run: small jobs under the names that the pages use, and some runs of them.
set -eu
mkdir -p bin home
cat >solver <<'END'
#!/bin/sh
i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done
# Long enough that a tick sees its memory, on a busy machine too.
sleep 0.1
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
cat >bin/xdg-open <<'END'
#!/bin/sh
test -s "$1"
END
# Where jq is installed it reads what it is given; elsewhere that it is JSON is all that can be told.
command -v jq >/dev/null || cat >bin/jq <<'END'
#!/bin/sh
exec python3 -c 'import json, sys; json.load(sys.stdin)'
END
for program in align.sh example-script.sh simulate train; do cp solver $program; done
chmod +x solver bin/* start-daemon pipeline.sh align.sh example-script.sh simulate train
touch in.dat input.toml program.py train.py
printf 'b\na\nb\n' >big.txt
mkdir -p home/.zfunc home/.config/fish/completions home/.local/share/bash-completion/completions home/.local/share/man/man1
for name in scratch-1 scratch-2 train train align base base base base base new new new new new; do
    jobmeter run -q --name "$name" -i 10ms -- ./solver
done
jobmeter run -q --job 4711 --rank 0 --world 1 -- ./solver
cat >ours.csv <<'END'
vendor,type,vcpus,memory,price_per_hour,currency,region,as_of
lab,fat-node,128,1TiB,0.90,EUR,cellar,2026-01
END
mkdir -p runs/main runs/branch
jobmeter show --json name:base >before.json
jobmeter show --json name:new >after.json
cp after.json summary.json
for number in 1 2 3 4 5; do
    jobmeter run -q --record runs/main/$number.jobmeter -- ./solver
    jobmeter run -q --record runs/branch/$number.jobmeter -- ./solver
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
