"""The code examples of the resource_tracker page, on the real engine."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, List

import pytest

from jobmeter.compat.resource_tracker import ResourceTracker, get_server_info, tracker_procfs, tracker_psutil
from jobmeter.compat.resource_tracker.column_maps import PROCESS_COLUMNS, SYSTEM_COLUMNS
from jobmeter.compat.resource_tracker.dummy_workloads import cpu_multi, cpu_single


def test_the_quick_example(tmp_path: Path) -> None:
    tracker = ResourceTracker(interval=0.1)
    cpu_single(0.5)
    tracker.stop()
    assert tracker.process_metrics.columns == PROCESS_COLUMNS
    assert tracker.system_metrics.columns == SYSTEM_COLUMNS
    assert len(tracker.get_combined_metrics()) == tracker.n_samples >= 3
    stats = tracker.stats()
    assert 0.05 <= stats["process_cpu_usage"]["max"] <= (os.cpu_count() or 1) * 1.5
    assert stats["process_memory_mib"]["max"] >= 10
    resources = tracker.recommend_resources()
    assert resources["cpu"] >= 1 and resources["memory"] >= 128
    server = tracker.recommend_server()
    assert server["vcpus"] >= resources["cpu"] and server["memory_bytes"] >= resources["memory"] << 20
    assert tracker.recommend_server(vendor_id="aws")["vendor"] == "aws"
    with pytest.raises(TypeError, match="unknown filter `colour`; known: cpu"):
        tracker.recommend_server(colour="red")
    report = tracker.report()
    report.save(str(tmp_path / "report.html"))
    assert (tmp_path / "report.html").read_text().lower().startswith("<!doctype html>")
    assert tracker.server_info is not None and tracker.server_info["allocation"] in ("dedicated", "shared")
    assert tracker.cloud_info is None


def test_it_is_live_and_waits_for_samples() -> None:
    tracker = ResourceTracker(interval=0.05)
    tracker.wait_for_samples(n=2, timeout=30)
    assert tracker.running and tracker.n_samples >= 2
    assert len(tracker.get_combined_metrics()) >= 2
    tracker.stop()
    assert not tracker.running


def test_children_are_counted() -> None:
    tracker = ResourceTracker(interval=0.1)
    cpu_multi(duration=0.6, ncores=2)
    tracker.stop()
    assert max(tracker.process_metrics["children"]) >= 2
    alone = ResourceTracker(interval=0.1, children=False)
    cpu_multi(duration=0.3, ncores=2)
    alone.stop()
    total = sum(tracker.process_metrics["utime"]) + sum(tracker.process_metrics["stime"])
    assert total > sum(alone.process_metrics["utime"]) + sum(alone.process_metrics["stime"])


@pytest.mark.parametrize("module", [tracker_procfs, tracker_psutil])
def test_helper_functions(module: Any) -> None:
    process = module.get_process_stats(os.getpid())
    times = os.times()
    assert process["pid"] == os.getpid()
    assert abs(process["utime"] - times.user * 100) <= times.children_user * 100 + 20
    assert process["memory"] * 1024 >= 10 << 20
    system = module.get_system_stats()
    with open("/proc/meminfo") as file:
        total = int(next(line for line in file if line.startswith("MemTotal")).split()[1])
    assert 0 < system["memory_used"] < total and 0 < system["memory_free"] < total
    assert system["processes"] > 0 and system["utime"] > 0
    assert all({"total", "used", "free"} == set(space) for space in system["disk_spaces"].values())
    with pytest.raises(ProcessLookupError):
        module.get_process_stats(2**22 + 1)


def csv_rows(code: str, rows: int, **options: object) -> List[List[str]]:
    """Start a tracker that loops for ever, read so many lines of it, and end it."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(rows)]
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)
    process.stdout.close()
    return list(csv.reader(lines))


def test_system_tracker_writes_the_header_of_the_reference() -> None:
    code = "from jobmeter.compat.resource_tracker import SystemTracker\ntracker = SystemTracker(interval=0.1)"
    header, *rows = csv_rows(code, 4)
    assert header == SYSTEM_COLUMNS
    stamps = [float(row[0]) for row in rows]
    assert abs(stamps[0] - time.time()) < 60 and stamps == sorted(stamps)
    for row in rows:
        values = dict(zip(header, row))
        assert int(values["memory_used"]) > 0 and float(values["disk_space_total_gb"]) >= 0
        assert 0 <= float(values["cpu_usage"]) <= (os.cpu_count() or 1) * 1.5


def test_process_tracker_writes_to_a_file_until_the_process_ends(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.8)"])
    code = (
        "from jobmeter.compat.resource_tracker import ProcessTracker\n"
        f"ProcessTracker(pid={child.pid}, interval=0.1, csv_file_path={str(path)!r})"
    )
    tracker = subprocess.Popen([sys.executable, "-c", code])
    child.wait()
    assert tracker.wait(timeout=30) == 0
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == PROCESS_COLUMNS
    assert {row["pid"] for row in rows} == {str(child.pid)}
    assert all(int(row["memory"]) > 0 for row in rows)


def test_server_info() -> None:
    info = get_server_info()
    assert list(info) == ["vcpus", "memory_mb", "gpu_count", "gpu_names", "gpu_memory_mb"]
    with open("/proc/meminfo") as file:
        kib = int(next(line for line in file if line.startswith("MemTotal")).split()[1])
    assert info["vcpus"] == os.cpu_count() and info["memory_mb"] == round(kib / 1024, 2)
