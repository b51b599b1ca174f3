"""GPU figures on the fake driver of the testkit, loaded as the real one would be.

`JOBMETER_NVML_PATH` names the library; without it a build of the testkit is looked for. The driver is
scripted by the file that `FAKE_NVML_STATE` names, so each test runs in an interpreter of its own.
"""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MB = 1_000_000


def library() -> str:
    named = os.environ.get("JOBMETER_NVML_PATH")
    built = glob.glob(os.path.join(ROOT, "target", "*", "lib*fake_nvml.so"))
    if not named and not built:
        pytest.skip("no fake driver: build it with `cargo build -p jobmeter-fake-nvml` or set JOBMETER_NVML_PATH")
    return named or built[0]


def device(uuid: str, busy: int, used: int, processes: List[Dict[str, Any]]) -> Dict[str, Any]:
    return {
        "name": "Tesla T4", "uuid": uuid, "pci": f"0000:0{uuid[-1]}:00.0", "memory_total": 2048 * MB,
        "memory_used": used * MB, "gpu_util": busy, "compute": processes,
    }  # fmt: skip


def run(folder: Path, code: str, devices: List[Dict[str, Any]]) -> str:
    state = folder / "state.json"
    state.write_text(json.dumps({"driver_version": "550.1", "devices": devices}))
    environment = {**os.environ, "JOBMETER_NVML_PATH": library(), "FAKE_NVML_STATE": str(state)}
    # The program tells the driver its own pid, as a real one would know it.
    head = f"import os\nopen({str(folder / 'main.pid')!r}, 'w').write(str(os.getpid()))\n"
    done = subprocess.run(
        [sys.executable, "-c", head + code], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


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
print(tracker.resource_usage.max_gpu_ram.system_capacity)
"""
    bad, empty, gpu, capacity = run(tmp_path, code, TWO).splitlines()
    assert bad == "GPU UUID of bad is not valid. Available UUIDs are: GPU-1, GPU-2"
    assert empty.startswith("gpu_uuids is not None but the set is empty.")
    found = json.loads(gpu)
    assert (found["system_gpu_count"], found["n_expected_gpus"]) == (2, 1)
    assert found["gpu_percentages"]["max_sum_percent"] == pytest.approx(50.0)
    assert float(capacity) == pytest.approx(4.096)


def test_the_native_api_sees_devices_and_processes(tmp_path: Path) -> None:
    code = """
import json, time, jobmeter
with jobmeter.track(interval=0.05) as run:
    time.sleep(1.0)
usage = run.usage
print(json.dumps([d.uuid for d in usage.gpu.devices]))
print(usage.gpu_ram.main.gpu_memory_bytes_max)
print("GPU RAM" in str(run))
"""
    uuids, memory, shown = run(tmp_path, code, TWO).splitlines()
    assert json.loads(uuids) == ["GPU-1", "GPU-2"]
    assert int(memory) == 277 * MB and shown == "True"


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
