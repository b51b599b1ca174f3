"""Result pickles of gpu_tracker itself are converted once, by a command, without running anything they name."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_gpu_tracker_files import row, write_sub_tracking, write_tracking

import jobmeter.compat.gpu_tracker as gput
from jobmeter.compat.gpu_tracker import _foreign_pickle

# Runs where `gpu_tracker` is the real one.
WITNESS = """
import json, pickle, sys
import gpu_tracker, gpu_tracker.tracker as t
assert "jobmeter" not in gpu_tracker.__file__.rpartition("site-packages")[2]
kind = sys.argv[1]
found = gpu_tracker.SubTrackingAnalyzer(f"t.{kind}", f"s.{kind}").sub_tracking_results()
pickle.dump(found, open("theirs.pkl", "wb"))
half = t.ProcessingUnitPercentages(50.5, 25.25, 40.0, 20.0)
usage = t.ResourceUsage(
    t.MaxRAM("gigabytes", 25.5, 1.5, main=t.RSSValues(0.1, 0.2, 0.3)), t.MaxGPURAM("gigabytes", 2.0),
    t.CPUUtilization(2, 2, main=half, main_n_threads=3), t.GPUUtilization(1, 1, half), t.ComputeTime("hours", 0.25))
pickle.dump(usage, open("usage.pkl", "wb"))
pickle.dump(gpu_tracker.Tracker, open("other.pkl", "wb"))
print(json.dumps(found.to_json()))
"""


def convert(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "jobmeter.compat.gpu_tracker", "convert-pickle", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_results_of_the_original_are_converted(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gpu_tracker", reason="the witness gpu-tracker is not installed")
    monkeypatch.chdir(tmp_path)
    write_tracking(f"t.{kind}", [row(1.0, 100.5), row(2.0, 300.25), row(9.0, 200.0)])
    stamps = [("blk", 0, 0.5), ("blk", 1, 1.5), ("blk", 0, 1.75), ("blk", 1, 2.5), ("e", 0, 8.0), ("e", 1, 9.5)]
    write_sub_tracking(f"s.{kind}", stamps)
    done = subprocess.run([sys.executable, "-c", WITNESS, kind], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    converted = convert(tmp_path, "theirs.pkl", "ours.pkl")
    assert (converted.returncode, converted.stderr) == (0, "")
    results = gput.TrackingComparison({"a": "ours.pkl", "b": "ours.pkl"}).results_map["a"]
    assert json.dumps(results.to_json(), sort_keys=True) == json.dumps(json.loads(done.stdout), sort_keys=True)
    assert os.stat("ours.pkl").st_mode & 0o777 == 0o600
    assert convert(tmp_path, "usage.pkl", "u.pkl").returncode == 0
    with open("u.pkl", "rb") as file:
        usage = pickle.load(file)
    assert usage.max_ram.main.private_rss == 0.2 and usage.cpu_utilization.main.max_sum_percent == 50.5
    assert usage.compute_time.time == 0.25 and type(usage).__module__ == "jobmeter.compat.gpu_tracker.usage"
    again = convert(tmp_path, "theirs.pkl", "ours.pkl")
    assert again.returncode == 1 and "ours.pkl exists already; name a new file." in again.stderr
    refused = convert(tmp_path, "other.pkl", "x.pkl")
    assert refused.returncode == 1 and "it names gpu_tracker.tracker.Tracker, which" in refused.stderr
    assert not os.path.exists("x.pkl")


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch pwned",)


@pytest.mark.parametrize(
    "data",
    [pickle.dumps(Evil()), b"", b"not a pickle", pickle.dumps({"a": 1}), pickle.dumps([slice(1)]), b"\x80\x04]\x94h\x00a."],
)
def test_hostile_and_foreign_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.pkl").write_bytes(data)
    with pytest.raises(ValueError, match="^x.pkl is not a result of gpu_tracker: "):
        _foreign_pickle.read("x.pkl")
    assert sorted(os.listdir()) == ["x.pkl"]


def test_no_cut_and_no_changed_byte_does_anything_else_than_be_refused(tmp_path: Path) -> None:
    import pandas as pd

    # The same classes of pandas as in the original's results, in a frame of our own.
    data = pickle.dumps({"frame": pd.DataFrame({"min": [1.0], "max": [2.0]}, index=["main_ram"])})
    path = tmp_path / "x.pkl"
    for place in range(0, len(data), 3):
        for bent in (data[:place], data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :]):
            path.write_bytes(bent)
            with pytest.raises(ValueError, match="is not a result of gpu_tracker"):
                _foreign_pickle.read(str(path))
