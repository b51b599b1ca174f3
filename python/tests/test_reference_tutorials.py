"""The programs of the three gpu_tracker tutorials, word for word but for shorter work, on the fake driver."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fake_driver import MB, device, run

GPU = [device("GPU-1", 4, 353, [{"pid": "main", "memory": 277 * MB}, {"pid": "child", "memory": 277 * MB}])]
HEAD = """
import jobmeter.compat
jobmeter.compat.install(force=True)
import gpu_tracker as gput

def example_function():
    import time
    block = bytearray(60_000_000)
    block[::4096] = b"x" * len(range(0, len(block), 4096))
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        sum(range(1000))

def child_function():
    import os
    with open("child.tmp", "w") as file:
        file.write(str(os.getpid()))
    os.rename("child.tmp", "child.pid")
    example_function()
"""


def body(code: str) -> str:
    """Below the guard that a spawned worker needs."""
    return HEAD + "\nif __name__ == '__main__':\n" + "".join(f"    {line}\n" for line in code.strip().splitlines())


def layout(text: str) -> str:
    """The words without the figures."""
    return re.sub(r"[0-9]+(\.[0-9]+)?(e-[0-9]+)?", "N", text)


PERCENT = """
      Max sum percent: N
      Max hardware percent: N
      Mean sum percent: N
      Mean hardware percent: N"""
RSS = """
      Total RSS: N
      Private RSS: N
      Shared RSS: N"""
TEXT = f"""Max RAM:
   Unit: gigabytes
   System capacity: N
   System: N
   Main:{RSS}
   Descendants:{RSS}
   Combined:{RSS}
Max GPU RAM:
   Unit: gigabytes
   System capacity: 2.048
   System: 0.353
   Main: 0.277
   Descendants: 0.0
   Combined: 0.277
CPU utilization:
   System core count: N
   Number of expected cores: N
   System:{PERCENT}
   Main:{PERCENT}
   Descendants:{PERCENT}
   Combined:{PERCENT}
   Main number of threads: N
   Descendants number of threads: N
   Combined number of threads: N
GPU utilization:
   System GPU count: N
   Number of expected GPUs: N
   GPU percentages:{PERCENT}
Compute time:
   Unit: hours
   Time: N
"""


def test_start_stop_and_print(tmp_path: Path) -> None:
    code = """
tracker = gput.Tracker(n_expected_cores=1, sleep_time=0.1)
tracker.start()
example_function()
tracker.stop()
print(tracker)
"""
    out = run(tmp_path, body(code), GPU)
    for line in ("   System capacity: 2.048", "   System: 0.353", "   Main: 0.277", "   Combined: 0.277"):
        assert line in out.splitlines()
    assert layout(out) == layout(TEXT)
    assert "      Max sum percent: 4.0\n      Max hardware percent: 4.0" in out


def test_units_json_and_data_classes(tmp_path: Path) -> None:
    code = """
import json
with gput.Tracker(ram_unit='megabytes', gpu_ram_unit='megabytes', time_unit='seconds', sleep_time=0.1) as tracker:
    example_function()
print(json.dumps(tracker.to_json(), indent=1))
print("---")
print(repr(tracker.resource_usage.max_ram))
print(repr(tracker.resource_usage.max_ram.unit))
print(repr(tracker.resource_usage.max_ram.main))
print(repr(tracker.resource_usage.max_ram.main.total_rss))
print(repr(tracker.resource_usage.max_gpu_ram))
print(repr(tracker.resource_usage.compute_time))
"""
    text, shown = run(tmp_path, body(code), GPU).split("---\n")
    found = json.loads(text)
    assert list(found) == ["max_ram", "max_gpu_ram", "cpu_utilization", "gpu_utilization", "compute_time"]
    assert list(found["max_ram"]) == ["unit", "system_capacity", "system", "main", "descendants", "combined"]
    assert list(found["cpu_utilization"]) == [
        "system_core_count", "n_expected_cores", "system", "main", "descendants", "combined",
        "main_n_threads", "descendants_n_threads", "combined_n_threads",
    ]  # fmt: skip
    assert found["max_ram"]["main"]["total_rss"] >= 60.0 and found["compute_time"]["time"] >= 1.0
    lines = shown.splitlines()
    assert lines[0].startswith("MaxRAM(unit='megabytes', system_capacity=") and "descendants=RSSValues(" in lines[0]
    assert lines[1] == "'megabytes'" and lines[2].startswith("RSSValues(total_rss=")
    assert float(lines[3]) == found["max_ram"]["main"]["total_rss"]
    gpu = found["max_gpu_ram"]
    assert lines[4] == (
        f"MaxGPURAM(unit='megabytes', system_capacity={gpu['system_capacity']}, system={gpu['system']}, "
        f"main={gpu['main']}, descendants=0.0, combined={gpu['combined']})"
    )
    assert (gpu["system_capacity"], gpu["system"], gpu["main"]) == (2048.0, 353.0, pytest.approx(277.0))
    assert lines[5].startswith("ComputeTime(unit='seconds', time=")


def test_a_failure(tmp_path: Path) -> None:
    code = """
try:
    with gput.Tracker(sleep_time=0.1) as tracker:
        example_function()
        raise RuntimeError('AN ERROR')
except Exception as error:
    print(f'The following error occured while tracking: {error}')
finally:
    print(round(tracker.resource_usage.max_gpu_ram.main, 6))
"""
    assert run(tmp_path, body(code), GPU) == "The following error occured while tracking: AN ERROR\n0.277\n"


def test_a_child_process(tmp_path: Path) -> None:
    code = """
import json
import multiprocessing as mp
ctx = mp.get_context(method='spawn')
child_process = ctx.Process(target=child_function)
with gput.Tracker(n_expected_cores=2, sleep_time=0.1) as tracker:
    child_process.start()
    example_function()
    child_process.join()
child_process.close()
print(json.dumps(tracker.to_json()))
"""
    found = json.loads(run(tmp_path, body(code), GPU))
    gpu, ram = found["max_gpu_ram"], found["max_ram"]
    assert gpu["descendants"] == pytest.approx(0.277) and gpu["combined"] == pytest.approx(0.554)
    assert ram["descendants"]["total_rss"] >= 0.06
    assert ram["combined"]["total_rss"] < ram["main"]["total_rss"] + ram["descendants"]["total_rss"]
    assert found["cpu_utilization"]["descendants"]["max_sum_percent"] > 0.0
    assert found["cpu_utilization"]["descendants_n_threads"] >= 1


def test_the_first_release(tmp_path: Path) -> None:
    code = """
tracker = gput.Tracker()
tracker.start()
tracker.stop()
print(tracker)
with gput.Tracker(ram_unit='megabytes', gpu_ram_unit='kilobytes', time_unit='seconds') as tracker:
    pass
print(repr(tracker.max_ram))
print(repr(tracker.max_gpu_ram.unit), tracker.max_gpu_ram.descendents, tracker.max_ram.descendents.total_rss)
print(repr(tracker.compute_time))
"""
    lines = run(tmp_path, body(code), GPU).splitlines()
    assert lines[0] == "Max RAM:" and lines[-3].startswith("MaxRAM(unit='megabytes', system_capacity=")
    assert lines[-2] == "'kilobytes' 0.0 0.0"
    assert lines[-1].startswith("ComputeTime(unit='seconds', time=")
