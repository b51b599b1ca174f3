"""Tracking and sub-tracking files, their analysis and comparison."""

from __future__ import annotations

import csv
import math
import os
import pickle
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Dict, List

import fake_engine
import pytest

import jobmeter.compat.gpu_tracker as gput
from jobmeter import _gpu_tracker

SECOND = 1_000_000_000
START = fake_engine.STARTED_UNIX_NS / 1e9
STATIC = {
    "ram_unit": "megabytes", "gpu_ram_unit": "gigabytes", "time_unit": "hours",
    "ram_system_capacity": 25274.793984, "gpu_ram_system_capacity": 0.0,
    "system_core_count": 2, "n_expected_cores": 1, "system_gpu_count": 0, "n_expected_gpus": 0,
}  # fmt: skip


STATIC_COLUMNS, DATA_COLUMNS = list(STATIC), _gpu_tracker.columns()
SUB_COLUMNS = ["process_id", "code_block_name", "position", "timestamp"]


def write_tables(path: str, *tables: "tuple[str, List[str], List[Dict[str, Any]]]") -> None:
    """A tracking or sub-tracking file of known content, as the original would write it."""
    if path.endswith(".csv"):
        with open(path, "w", newline="") as file:
            for _, columns, rows in tables:
                writer = csv.DictWriter(file, columns)
                writer.writeheader()
                writer.writerows(rows)
        return
    with sqlite3.connect(path) as database:
        for name, columns, rows in tables:
            database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            marks = ", ".join("?" for _ in columns)
            database.executemany(f"INSERT INTO {name} VALUES ({marks})", [[r[c] for c in columns] for r in rows])


def write_tracking(path: str, rows: List[Dict[str, Any]]) -> None:
    write_tables(path, ("static_data", STATIC_COLUMNS, [STATIC]), ("data", DATA_COLUMNS, rows))


def write_sub_tracking(path: str, stamps: "List[tuple[str, int, float]]") -> None:
    rows = [dict(process_id=7, code_block_name=n, position=p, timestamp=t) for n, p, t in stamps]
    write_tables(path, ("data", SUB_COLUMNS, rows))


def row(timestamp: float, main_ram: float, **others: float) -> Dict[str, Any]:
    values: Dict[str, Any] = dict.fromkeys(DATA_COLUMNS, 0.0)
    values.update(main_ram=main_ram, timestamp=timestamp, main_n_threads=2, **others)
    values.update({k: int(values[k]) for k in values if k.endswith("n_threads")})
    return values


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    columns: Dict[str, List[Any]] = {
        "t_ns": [0, SECOND, 2 * SECOND],
        "main_rss_bytes": [1, 101_765_120, 132_837_376],
        "main_cpu_ns": [0, SECOND // 2, SECOND],
    }
    fake_engine.install(monkeypatch, columns, fake_engine.summary(), cores=2)


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_tracking_file_has_both_tables(engine: None, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"tracking.{kind}"
    with gput.Tracker(ram_unit="megabytes", tracking_file=str(path), sleep_time=0.1):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    if kind == "csv":
        with open(path, newline="") as file:
            lines = list(csv.reader(file))
        assert lines[0] == STATIC_COLUMNS
        assert lines[1][:3] == ["megabytes", "gigabytes", "hours"]
        assert lines[2] == DATA_COLUMNS
        assert len(lines) == 5
        assert float(lines[3][0]) == 101.76512
        assert float(lines[3][-1]) == START + 1
    else:
        with sqlite3.connect(path) as database:
            names = {r[0] for r in database.execute("SELECT name FROM sqlite_master")}
            assert names == {"data", "static_data"}
            found = database.execute("SELECT main_ram, cpu_main_sum_utilization_percent FROM data").fetchall()
        assert found == [(101.76512, 50.0), (132.837376, 50.0)]
    analyzer = gput.SubTrackingAnalyzer(str(path), str(tmp_path / "none.csv"))
    assert analyzer.read_static_data()["system_core_count"] == 2


def test_an_existing_tracking_file_is_kept(engine: None, tmp_path: Path) -> None:
    path = tmp_path / "exists.csv"
    path.write_text("precious")
    with pytest.raises(FileExistsError) as caught:
        gput.Tracker(tracking_file=str(path))
    text = f"File {path} already exists. Set overwrite to True to overwrite the existing file."
    assert str(caught.value) == text
    assert path.read_text() == "precious"
    with gput.Tracker(tracking_file=str(path), overwrite=True):
        pass
    assert path.read_text().startswith("ram_unit,")


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_sub_tracking(tmp_path: Path, kind: str) -> None:
    path = str(tmp_path / f"sub.{kind}")
    with gput.SubTracker("block", sub_tracking_file=path):
        pass
    line = 0
    with gput.SubTracker(sub_tracking_file=path) as unnamed:
        line = int(unnamed.code_block_name.rpartition(":")[2])

    @gput.sub_track(sub_tracking_file=path)
    def work(x: int) -> int:
        return x + 1

    assert work(1) == 2
    rows = _gpu_tracker.sub_data(path)
    assert [r["position"] for r in rows] == [0, 1] * 3
    assert {r["process_id"] for r in rows} == {os.getpid()}
    here = os.path.abspath(__file__)
    assert [r["code_block_name"] for r in rows[::2]] == ["block", f"{os.path.relpath(here)}:{line}", f"{here}:work"]
    with pytest.raises(ValueError, match="Invalid file name"):
        gput.SubTracker(sub_tracking_file="a.txt")


_THREE_BLOCKS = """
import sys
import jobmeter.compat.gpu_tracker as gput

path, overwrite = sys.argv[1], sys.argv[2] == "overwrite"

@gput.sub_track("function", sub_tracking_file=path, overwrite=overwrite)
def work():
    pass

for _ in range(3):
    work()
for _ in range(2):
    with gput.SubTracker("block", sub_tracking_file=path, overwrite=overwrite):
        pass
"""


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_overwrite_replaces_the_file_once_in_a_program(tmp_path: Path, kind: str) -> None:
    """Each block used to delete what the blocks before it had written."""
    path = str(tmp_path / f"sub.{kind}")
    for overwrite in ("keep", "overwrite"):
        done = subprocess.run([sys.executable, "-c", _THREE_BLOCKS, path, overwrite], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        rows = _gpu_tracker.sub_data(path)
        assert [r["code_block_name"] for r in rows] == ["function"] * 6 + ["block"] * 4
        assert [r["position"] for r in rows] == [0, 1] * 5
    done = subprocess.run([sys.executable, "-c", _THREE_BLOCKS, path, "keep"], capture_output=True, text=True)
    said = f"FileExistsError: File {path} already exists. Set overwrite to True to overwrite the existing file."
    assert said in done.stderr
    assert len(_gpu_tracker.sub_data(path)) == 10


def test_a_sub_tracking_file_that_vanished_is_told(tmp_path: Path) -> None:
    path = tmp_path / "gone.csv"
    with gput.SubTracker("first", sub_tracking_file=str(path)):
        pass
    path.unlink()
    with pytest.raises(FileNotFoundError, match="was removed in the middle of writing data to it"):
        with gput.SubTracker("second", sub_tracking_file=str(path)):
            pass


def test_threads_and_forked_children_add_to_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "many.csv")

    def block(name: str) -> None:
        with gput.SubTracker(name, sub_tracking_file=path, overwrite=True):
            pass

    threads = [threading.Thread(target=block, args=(f"t{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = os.fork()
    if child == 0:
        block("child")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    names = [r["code_block_name"] for r in _gpu_tracker.sub_data(path)]
    assert sorted(names) == sorted([*(f"t{n}" for n in range(8)), "child"] * 2)


def test_the_default_file_is_named_after_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with gput.SubTracker("x"):
        pass
    assert (tmp_path / f"{os.getpid()}.csv").exists()


def results_file(tmp_path: Path, name: str, factor: float, block: str = "work.py:15") -> str:
    tracking, sub = str(tmp_path / f"{name}.csv"), str(tmp_path / f"{name}-sub.csv")
    write_tracking(tracking, [row(1.0, 100 * factor), row(2.0, 300 * factor), row(9.0, 200 * factor)])
    stamps = [("blk", 0, 0.5), ("blk", 1, 1.5), ("blk", 0, 1.75), ("blk", 1, 2.5), (block, 0, 3.0), (block, 1, 4.0)]
    write_sub_tracking(sub, stamps)
    results = gput.SubTrackingAnalyzer(tracking, sub).sub_tracking_results()
    path = str(tmp_path / f"{name}.pkl")
    with open(path, "wb") as file:
        pickle.dump(results, file)
    return path


def test_analysis(tmp_path: Path) -> None:
    results_file(tmp_path, "a", 1.0)
    analyzer = gput.SubTrackingAnalyzer(str(tmp_path / "a.csv"), str(tmp_path / "a-sub.csv"))
    assert analyzer.load_code_block_names() == ["blk", "work.py:15"]
    pairs = analyzer.load_timestamp_pairs("blk")
    assert pairs == [(0.5, 1.5), (1.75, 2.5)]
    assert list(analyzer.load_timepoints(pairs)["main_ram"]) == [100.0, 300.0]
    overall = analyzer.overall_timepoint_results()
    assert overall.loc["main_ram", "mean"] == 200.0
    assert overall.loc["main_ram", "std"] == pytest.approx(math.sqrt(20000 / 3))
    results = analyzer.sub_tracking_results()
    block, empty = results.code_block_results
    assert (block.num_timepoints, block.num_calls, block.num_non_empty_calls) == (2, 2, 2)
    assert block.compute_time["total"] == 1.75
    assert block.resource_usage.loc["main_ram", "max"] == 300.0
    assert (empty.num_timepoints, empty.num_calls, empty.num_non_empty_calls) == (0, 1, 0)
    text = str(results).split("\n")
    width = len("cpu_descendants_hardware_utilization_percent")
    assert text[0] == "Overall:"
    assert text[1] == "\t" + " " * width + "   min   max  mean         std"
    assert text[2] == "\t" + "main_ram".ljust(width) + " 100.0 300.0 200.0 81.64965809"
    assert "Static Data:" in text
    assert text[text.index("Static Data:") + 2].startswith("\t  megabytes    gigabytes     hours        25274.793984")
    at = text.index("Code Block Results:")
    assert text[at + 1 : at + 8] == [
        "\tName:                blk", "\tNum Timepoints:      2", "\tNum Calls:           2",
        "\tNum Non Empty Calls: 2", "\tCompute Time:", "\t\t  min  max  mean   std  total", "\t\t 0.75  1.0 0.875 0.125   1.75",
    ]  # fmt: skip
    assert list(results.to_json()) == ["overall", "static_data", "code_block_results"]


def test_combining(tmp_path: Path) -> None:
    results_file(tmp_path, "a", 1.0)
    target, source = str(tmp_path / "all.csv"), str(tmp_path / "a-sub.csv")
    with pytest.raises(ValueError, match=r'does not end with the same extension as .* Must end in ".csv"'):
        gput.SubTrackingAnalyzer(None, target).combine_sub_tracking_files([source, "x.sqlite"])
    gput.SubTrackingAnalyzer(None, target).combine_sub_tracking_files([source, source])
    assert len(_gpu_tracker.sub_data(target)) == 12
    with pytest.raises(ValueError, match="File already exists"):
        gput.SubTrackingAnalyzer(None, target).combine_sub_tracking_files([source])


def test_comparison(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = {"Alpha session": results_file(tmp_path, "a", 1.0), "B": results_file(tmp_path, "b", 0.5, "work.py:119")}
    comparison = gput.TrackingComparison(files)
    assert "differ by line number" in caplog.text
    found = comparison.compare("max")
    text = str(found).split("\n")
    assert text[:7] == [
        "Overall Resource Usage:", "\tMain Ram:", "\t\t     B  Alpha session", "\t\t 150.0          300.0",
        "\tDescendants Ram:", "\t\t  Alpha session   B", "\t\t            0.0 0.0",
    ]  # fmt: skip
    assert "\t\twork.py:119 -> work.py:15:" in text
    data = found.to_json()
    assert list(data) == ["overall_resource_usage", "code_block_resource_usage", "code_block_compute_time"]
    assert data["overall_resource_usage"]["main_ram"] == {"B": 150.0, "Alpha session": 300.0}
    assert list(data["overall_resource_usage"]["main_ram"]) == ["B", "Alpha session"]
    assert found.overall_resource_usage["main_ram"]["B"] == 150.0
    with pytest.raises(ValueError, match="Invalid summary statistic 'median'. Valid values are min max mean std."):
        comparison.compare("median")
    other = {"A": files["Alpha session"], "C": results_file(tmp_path, "c", 1.0, "zz")}
    with pytest.raises(ValueError, match='Code block name .* of tracking session "A" does not match'):
        gput.TrackingComparison(other)


def test_a_pickle_may_name_nothing_else(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.system, ("touch " + str(tmp_path / "pwned"),)

    path = tmp_path / "evil.pkl"
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(pickle.UnpicklingError, match="is not a results file of this program"):
        gput.TrackingComparison({"A": str(path)})
    assert not (tmp_path / "pwned").exists()
