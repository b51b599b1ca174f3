"""One workload under the originals and under ours at the same time: a table, and ours is never further from the truth.

The truth is the CPU time of the workload, which `wait4` tells, and the peak of its resident memory, which the kernel
keeps. The workload waits until all trackers look at it, works, and waits until they have stopped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Dict, List

import pytest

WORKLOAD = """
import sys, time
print("ready", flush=True)
sys.stdin.readline()
held = bytearray(60_000_000)
end = time.process_time() + 1.2
while time.process_time() < end: pass
peak = next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith("VmHWM"))
print(peak, flush=True)
sys.stdin.readline()
"""

GPU_TRACKER = """
import json, sys
import {prefix}gpu_tracker as gput
tracker = gput.Tracker(process_id=int(sys.argv[1]), sleep_time=0.2, disable_logs=True, time_unit="seconds", ram_unit="bytes")
tracker.start()
print("ready", flush=True)
sys.stdin.readline()
tracker.stop()
usage = tracker.resource_usage
cpu_s = usage.cpu_utilization.main.mean_sum_percent / 100 * usage.compute_time.time
print(json.dumps(dict(cpu_s=cpu_s, peak_bytes=usage.max_ram.main.total_rss)), flush=True)
"""

RESOURCE_TRACKER = """
import json, sys, time
from {prefix}resource_tracker import ResourceTracker
tracker = ResourceTracker(pid=int(sys.argv[1]), interval=0.2, autostart=False, discover_server=False, discover_cloud=False)
tracker.start()
while tracker.n_samples < 2: time.sleep(0.05)
print("ready", flush=True)
sys.stdin.readline()
tracker.stop()
rows = tracker.process_metrics
scale = 1 if rows["utime"] and "{prefix}" == "" else 100
print(json.dumps(dict(cpu_s=(sum(rows["utime"]) + sum(rows["stime"])) / scale)), flush=True)
"""


def start(code: str, *arguments: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def tell(process: "subprocess.Popen[str]") -> str:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline()


def test_ours_is_never_further_from_the_truth() -> None:
    for name in ("gpu_tracker", "resource_tracker"):
        pytest.importorskip(name, reason=f"the witness {name} is not installed")
    workload = start(WORKLOAD)
    trackers = {
        (name, who): start(code.replace("{prefix}", prefix), str(workload.pid))
        for name, code in (("gpu_tracker", GPU_TRACKER), ("resource_tracker", RESOURCE_TRACKER))
        for who, prefix in (("original", ""), ("jobmeter", "jobmeter.compat."))
    }
    with open(f"/proc/{workload.pid}/stat") as file:
        before = file.read().rpartition(")")[2].split()
    started_s = (int(before[11]) + int(before[12])) / os.sysconf("SC_CLK_TCK")
    truth: Dict[str, float] = {"peak_bytes": float(tell(workload))}
    found = {key: json.loads(tell(process)) for key, process in trackers.items()}
    for process in trackers.values():
        process.communicate()
    assert workload.stdin is not None
    workload.stdin.close()
    _, status, usage = os.wait4(workload.pid, 0)
    workload.returncode = os.waitstatus_to_exitcode(status)
    assert workload.returncode == 0
    truth["cpu_s"] = usage.ru_utime + usage.ru_stime - started_s
    # CPU time is counted in ticks of 10 ms, at either end, and the end of the workload itself is seen by nobody; memory to a page or so by the kernel's batches.
    slack = {"cpu_s": 0.03, "peak_bytes": 1_000_000}
    worse: List[str] = []
    print(f"\n{'tracker':<18}{'figure':<12}{'truth':>14}{'original':>14}{'jobmeter':>14}")
    for name in ("gpu_tracker", "resource_tracker"):
        for figure in found[name, "original"]:
            theirs, ours = found[name, "original"][figure], found[name, "jobmeter"][figure]
            print(f"{name:<18}{figure:<12}{truth[figure]:>14.3f}{theirs:>14.3f}{ours:>14.3f}")
            if abs(ours - truth[figure]) > abs(theirs - truth[figure]) + slack[figure]:
                worse.append(f"{name} {figure}: {ours}, the original {theirs}, the truth {truth[figure]}")
    assert not worse, worse
