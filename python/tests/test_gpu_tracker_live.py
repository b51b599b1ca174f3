"""Files that grow while tracking goes on, and what is left of a program that is killed."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import pytest

import jobmeter.compat.gpu_tracker as gput
from jobmeter import _gpu_tracker
from jobmeter.compat.gpu_tracker.usage import ResourceUsage


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it did not happen within a minute"
        time.sleep(0.02)


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_the_tracking_file_grows_while_tracking(tmp_path: Path, kind: str) -> None:
    path = str(tmp_path / f"t.{kind}")
    with gput.Tracker(sleep_time=0.1, tracking_file=path, disable_logs=True) as tracker:
        wait_until(lambda: len(_gpu_tracker.data(path)) >= 3)
        assert _gpu_tracker.static_data(path)["ram_unit"] == "gigabytes"
    rows = _gpu_tracker.data(path)
    stamps = [row["timestamp"] for row in rows]
    assert stamps == sorted(set(stamps)), "every row once, in order"
    assert tracker.resource_usage is not None
    peak = max(row["main_ram"] for row in rows)
    assert 0.0 < peak <= tracker.resource_usage.max_ram.main.total_rss * 1.001
    assert oct(os.stat(path).st_mode & 0o777) == "0o600"


PROGRAM = """
import sys, time
import jobmeter.compat.gpu_tracker as gput
tracker = gput.Tracker(
    sleep_time=0.1, tracking_file=sys.argv[1], resource_usage_file=sys.argv[2], time_unit="seconds", disable_logs=True)
tracker.start()
time.sleep(600)
"""


def test_a_killed_program_leaves_its_files(tmp_path: Path) -> None:
    tracking, backup = tmp_path / "t.csv", tmp_path / "usage.pkl"
    child = subprocess.Popen([sys.executable, "-c", PROGRAM, str(tracking), str(backup)])
    wait_until(lambda: backup.exists() and tracking.exists() and len(_gpu_tracker.data(str(tracking))) >= 2)
    child.send_signal(signal.SIGKILL)
    child.wait()
    with open(backup, "rb") as file:
        usage = pickle.load(file)
    assert isinstance(usage, ResourceUsage)
    assert usage.max_ram.main.total_rss > 0.0 and usage.compute_time.time > 0.0
    assert len(_gpu_tracker.data(str(tracking))) >= 2


def test_the_backup_goes_when_tracking_completes(tmp_path: Path) -> None:
    backup = tmp_path / "usage.pkl"
    with gput.Tracker(sleep_time=0.1, resource_usage_file=str(backup), disable_logs=True) as tracker:
        wait_until(backup.exists)
    assert tracker.resource_usage is not None and os.listdir(tmp_path) == []
