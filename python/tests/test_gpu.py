"""GPU figures on the fake driver of the testkit."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from fake_driver import MB, device, run

ONE = [device("GPU-1", 4, 353, [{"pid": "main", "memory": 277 * MB}])]
TWO = ONE + [device("GPU-2", 50, 100, [])]


def test_the_gpu_figures_of_the_tutorial(tmp_path: Path) -> None:
    code = """
import json, time
import jobmeter.compat.gpu_tracker as gput
with gput.Tracker(sleep_time=0.1) as tracker:
    time.sleep(1.0)
print(json.dumps(tracker.to_json()))
"""
    found = json.loads(run(tmp_path, code, ONE))
    assert found["max_gpu_ram"] == {
        "unit": "gigabytes", "system_capacity": pytest.approx(2.048), "system": pytest.approx(0.353),
        "main": pytest.approx(0.277), "descendants": 0.0, "combined": pytest.approx(0.277),
    }  # fmt: skip
    gpu = found["gpu_utilization"]
    assert (gpu["system_gpu_count"], gpu["n_expected_gpus"]) == (1, 1)
    assert gpu["gpu_percentages"]["max_sum_percent"] == pytest.approx(4.0)
    assert gpu["gpu_percentages"]["max_hardware_percent"] == pytest.approx(4.0)


def test_chosen_gpus_and_wrong_ones(tmp_path: Path) -> None:
    code = """
import json, time
import jobmeter.compat.gpu_tracker as gput
for uuids in ({"bad"}, set()):
    try:
        gput.Tracker(gpu_uuids=uuids)
    except ValueError as error:
        print(error)
with gput.Tracker(sleep_time=0.1, gpu_uuids={"GPU-2"}, gpu_brand="nvidia") as tracker:
    time.sleep(1.0)
print(json.dumps(tracker.to_json()["gpu_utilization"]))
print(json.dumps(tracker.to_json()["max_gpu_ram"]))
"""
    bad, empty, gpu, memory = run(tmp_path, code, TWO).splitlines()
    assert bad == "GPU UUID of bad is not valid. Available UUIDs are: GPU-1, GPU-2"
    assert empty.startswith("gpu_uuids is not None but the set is empty.")
    found = json.loads(gpu)
    assert (found["system_gpu_count"], found["n_expected_gpus"]) == (2, 1)
    assert found["gpu_percentages"]["max_sum_percent"] == pytest.approx(50.0)
    # Chosen GPUs narrow the utilization, not the memory.
    assert json.loads(memory) == {
        "unit": "gigabytes", "system_capacity": pytest.approx(4.096), "system": pytest.approx(0.453),
        "main": pytest.approx(0.277), "descendants": 0.0, "combined": pytest.approx(0.277),
    }  # fmt: skip


def test_the_native_api_sees_devices_and_processes(tmp_path: Path) -> None:
    code = """
import json, os, time, jobmeter
threads = len(os.listdir("/proc/self/task"))
with jobmeter.track(interval=0.05) as run:
    time.sleep(1.0)
usage = run.usage
# The thread that waits for the driver is not the program's either.
assert usage.cpu.main.threads_max == threads, (usage.cpu.main.threads_max, threads)
print(json.dumps([d.uuid for d in usage.gpu.devices]))
print(usage.gpu_ram.main.gpu_memory_bytes_max)
print("GPU" in str(run))
"""
    uuids, memory, shown = run(tmp_path, code, TWO).splitlines()
    assert json.loads(uuids) == ["GPU-1", "GPU-2"]
    assert int(memory) == 277 * MB and shown == "True"


def test_phases_know_the_gpu(tmp_path: Path) -> None:
    code = """
import json, time
import jobmeter
with jobmeter.track(interval=0.05) as run:
    time.sleep(0.5)
    with run.phase("train"):
        time.sleep(0.5)
print(json.dumps(run.phases().to_dict()))
"""
    phases = json.loads(run(tmp_path, code, ONE))
    assert phases["name"] == ["train"] and phases["closed"] == [1] and phases["quality"] == ["exact"]
    assert phases["peak_gpu_memory_bytes"] == [277 * MB]
    assert phases["system_gpu_busy_ppm_max"] == [40_000]
    assert phases["system_gpu_busy_ppm_mean"] == [pytest.approx(40_000)]


def test_resource_tracker_and_server_info(tmp_path: Path) -> None:
    code = """
import json, time
from jobmeter.compat.resource_tracker import ResourceTracker, get_server_info
print(json.dumps(get_server_info()))
tracker = ResourceTracker(interval=0.1)
time.sleep(1.0)
tracker.stop()
row = tracker.system_metrics[-1]
print(json.dumps([row["gpu_usage"], row["gpu_vram"], row["gpu_utilized"]]))
print(json.dumps([tracker.process_metrics[-1]["gpu_vram"], tracker.recommend_resources()["vram"]]))
"""
    info, system, process = (json.loads(line) for line in run(tmp_path, code, TWO).splitlines())
    assert info["gpu_count"] == 2 and info["gpu_names"] == ["Tesla T4", "Tesla T4"]
    assert info["gpu_memory_mb"] == pytest.approx(2 * 2048 * MB / 1024**2, abs=0.01)
    assert system == [pytest.approx(0.54), pytest.approx(453 * MB / 1024**2, abs=0.01), 2]
    assert process[0] == pytest.approx(277 * MB / 1024**2, abs=0.01)
    assert process[1] == 512


def test_single_readings_and_csv_of_processes(tmp_path: Path) -> None:
    code = """
import json, os, subprocess, sys
from jobmeter.compat.resource_tracker import SystemTracker, tracker_procfs, tracker_psutil
for module in (tracker_procfs, tracker_psutil):
    process, system = module.get_process_stats(os.getpid()), module.get_system_stats()
    indexes = sorted(process["gpu_utilized_indexes"])
    print(json.dumps([process["gpu_vram"], process["gpu_utilized"], indexes]))
    print(json.dumps([system["gpu_usage"], system["gpu_vram"], system["gpu_utilized"]]))
for name, pid in (("SystemTracker", ""), ("ProcessTracker", f"pid={os.getpid()}, ")):
    loop = f"from jobmeter.compat.resource_tracker import {name}\\n{name}({pid}interval=0.1)"
    child = subprocess.Popen([sys.executable, "-c", loop], stdout=subprocess.PIPE, text=True)
    print(child.stdout.readline() + child.stdout.readline(), end="")
    child.kill()
    child.wait()
"""
    lines = run(tmp_path, code, TWO).splitlines()
    mib = pytest.approx(277 * MB / 1024**2, abs=0.01)
    for process, system in (lines[0:2], lines[2:4]):
        assert json.loads(process) == [mib, 1, [0]]
        assert json.loads(system) == [pytest.approx(0.54), pytest.approx(453 * MB / 1024**2, abs=0.01), 2]
    system_row, process_row = (dict(zip(*csv.reader(part))) for part in (lines[4:6], lines[6:8]))
    assert (float(system_row["gpu_usage"]), int(system_row["gpu_utilized"])) == (pytest.approx(0.54), 2)
    assert (float(process_row["gpu_vram"]), int(process_row["gpu_utilized"])) == (mib, 1)
