"""The code examples of the gpu_tracker tutorials, on the real engine."""

from __future__ import annotations

import json
import multiprocessing as mp
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import pytest
from workloads import example_function

import jobmeter.compat.gpu_tracker as gput


def check_shape(found: Dict[str, Any]) -> None:
    """What must hold of every result, whatever the machine."""
    for scope in ("main", "descendants", "combined"):
        for value in found["max_ram"][scope].values():
            assert isinstance(value, float) and value >= 0.0
        cpu = found["cpu_utilization"][scope]
        assert cpu["max_sum_percent"] >= 0.0 and cpu["mean_sum_percent"] >= 0.0
    assert found["max_ram"]["combined"]["total_rss"] <= found["max_ram"]["system_capacity"]
    assert found["cpu_utilization"]["system_core_count"] == os.cpu_count()
    assert found["compute_time"]["time"] > 0.0


def test_start_and_stop() -> None:
    tracker = gput.Tracker(n_expected_cores=1, sleep_time=0.1)
    tracker.start()
    example_function()
    tracker.stop()
    found = tracker.to_json()
    check_shape(found)
    assert found["cpu_utilization"]["n_expected_cores"] == 1
    main = found["cpu_utilization"]["main"]
    assert main["max_sum_percent"] == main["max_hardware_percent"] > 0.0
    # 60 MB were held.
    assert found["max_ram"]["main"]["total_rss"] >= 0.06
    lines = str(tracker).splitlines()
    assert lines[0] == "Max RAM:" and lines[1] == "   Unit: gigabytes" and len(lines) == 60


def test_context_manager_with_defaults() -> None:
    with gput.Tracker() as tracker:
        example_function()
    check_shape(tracker.to_json())
    assert tracker.to_json()["compute_time"]["unit"] == "hours"


def test_units() -> None:
    with gput.Tracker(ram_unit="megabytes", gpu_ram_unit="megabytes", time_unit="seconds", sleep_time=0.1) as tracker:
        example_function()
    usage = tracker.resource_usage
    assert usage is not None
    assert usage.max_ram.unit == "megabytes" and usage.max_ram.main.total_rss >= 60.0
    assert usage.compute_time.unit == "seconds" and usage.compute_time.time >= 0.3
    assert json.loads(json.dumps(tracker.to_json(), indent=1)) == tracker.to_json()


def test_the_example_of_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        with gput.Tracker() as tracker:
            example_function()
            raise RuntimeError("AN ERROR")
    except Exception as error:
        print(f"The following error occured while tracking: {error}")
    finally:
        assert tracker.resource_usage is not None
        print(tracker.resource_usage.max_gpu_ram.main)
    assert capsys.readouterr().out == "The following error occured while tracking: AN ERROR\n0.0\n"


def test_the_example_of_a_child_process() -> None:
    context = mp.get_context(method="spawn")
    child_process = context.Process(target=example_function)
    with gput.Tracker(n_expected_cores=2, sleep_time=0.1, ram_unit="megabytes") as tracker:
        child_process.start()
        example_function()
        child_process.join()
        child_process.close()
    found = tracker.to_json()
    check_shape(found)
    ram = found["max_ram"]
    assert ram["descendants"]["total_rss"] >= 60.0
    assert found["cpu_utilization"]["descendants"]["max_sum_percent"] > 0.0
    assert found["cpu_utilization"]["descendants_n_threads"] >= 1
    # Shared pages are counted once.
    assert ram["combined"]["total_rss"] < ram["main"]["total_rss"] + ram["descendants"]["total_rss"]


def test_another_process() -> None:
    child = subprocess.Popen([sys.executable, "-c", "x = bytearray(30 << 20)\nimport time\ntime.sleep(0.5)"])
    with gput.Tracker(process_id=child.pid, sleep_time=0.1, ram_unit="megabytes") as tracker:
        child.wait()
    assert tracker.resource_usage is not None
    assert tracker.resource_usage.max_ram.main.total_rss >= 20.0


def test_a_process_that_is_gone_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    tracker = gput.Tracker(process_id=4_194_303, disable_logs=False)
    tracker.start()
    tracker.stop()
    assert "The target process of ID 4194303 ended before tracking could begin." in caplog.text
    assert tracker.to_json()["max_ram"]["main"]["total_rss"] == 0.0


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_sub_tracking_end_to_end(tmp_path: Path, kind: str) -> None:
    tracking, sub = str(tmp_path / f"t.{kind}"), str(tmp_path / f"s.{kind}")
    with gput.Tracker(sleep_time=0.1, tracking_file=tracking, ram_unit="megabytes"):
        with gput.SubTracker("block", sub_tracking_file=sub):
            example_function()
    results = gput.SubTrackingAnalyzer(tracking, sub).sub_tracking_results()
    block = results.code_block_results[0]
    assert (block.name, block.num_calls, block.num_non_empty_calls) == ("block", 1, 1)
    assert block.num_timepoints >= 2
    assert block.to_json()["compute_time"]["total"] >= 0.3
    assert block.to_json()["resource_usage"]["main_ram"]["max"] >= 60.0
