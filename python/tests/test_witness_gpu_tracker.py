"""The same files through gpu-tracker itself and through our module: the words must be the same."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import pytest
from test_gpu_tracker_files import write_tables

import jobmeter.compat.gpu_tracker as gput
from jobmeter import _gpu_tracker

pytest.importorskip("gpu_tracker", reason="the witness gpu-tracker is not installed")

# Runs in a process of its own, where `gpu_tracker` is the real one.
WITNESS = """
import json, pickle, sys
import gpu_tracker
assert "jobmeter" not in gpu_tracker.__file__.rpartition("site-packages")[2]
folder, what = sys.argv[1:]
analyze = lambda n: gpu_tracker.SubTrackingAnalyzer(f"{folder}/{n}.{what}", f"{folder}/{n}-sub.{what}").sub_tracking_results()
found = {n: analyze(n) for n in ("a", "b", "narrow")}
for name, results in found.items():
    pickle.dump(results, open(f"{folder}/{name}-witness.pkl", "wb"))
compared = gpu_tracker.TrackingComparison({"first one": f"{folder}/a-witness.pkl", "B": f"{folder}/b-witness.pkl"})
json.dump({
    "text": {n: str(r) for n, r in found.items()},
    "json": {n: r.to_json() for n, r in found.items()},
    "compared": str(compared.compare("mean")),
    "compared_json": compared.compare("std").to_json(),
}, sys.stdout)
"""


def write_files(folder: Path, kind: str, name: str, seed: int) -> None:
    dice = random.Random(seed)
    rows = []
    for index in range(50):
        row: Dict[str, Any] = {c: dice.uniform(0, 10 ** dice.randint(-6, 5)) for c in _gpu_tracker.columns()}
        row.update({c: dice.randint(0, 40) for c in row if c.endswith("n_threads")}, timestamp=1000.0 + index)
        row["descendants_ram"] = 0.0
        if name == "narrow":
            # Numbers shorter than the words above them.
            row.update({c: type(row[c])(1) for c in row if c != "timestamp"})
        rows.append(row)
    static = {
        "ram_unit": "gigabytes", "gpu_ram_unit": "kilobytes", "time_unit": "days",
        "ram_system_capacity": 63.0882304, "gpu_ram_system_capacity": 2.048, "system_core_count": 12,
        "n_expected_cores": 2, "system_gpu_count": 1, "n_expected_gpus": 1,
    }  # fmt: skip
    tables = [("static_data", list(static), [static]), ("data", list(rows[0]), rows)]
    write_tables(str(folder / f"{name}.{kind}"), *tables)
    blocks = []
    for block, begin in (("load", 1000.5), ("x.py:7", 1012.1), ("load", 1020.25), ("x.py:33", 1031.0)):
        for position, moment in ((0, begin), (1, begin + dice.uniform(3, 8))):
            blocks.append(dict(process_id=42, code_block_name=block, position=position, timestamp=moment))
    write_tables(str(folder / f"{name}-sub.{kind}"), ("data", list(blocks[0]), blocks))


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_analysis_and_comparison_agree_with_the_witness(tmp_path: Path, kind: str) -> None:
    for name, seed in (("a", 1), ("b", 2), ("narrow", 3)):
        write_files(tmp_path, kind, name, seed)
    done = subprocess.run(
        [sys.executable, "-c", WITNESS, str(tmp_path), kind], capture_output=True, text=True, check=True
    )
    witness = json.loads(done.stdout)
    for name in ("a", "b", "narrow"):
        ours = gput.SubTrackingAnalyzer(
            str(tmp_path / f"{name}.{kind}"), str(tmp_path / f"{name}-sub.{kind}")
        ).sub_tracking_results()
        assert str(ours) == witness["text"][name]
        assert_close(ours.to_json(), witness["json"][name])
        with open(tmp_path / f"{name}.pkl", "wb") as file:
            pickle.dump(ours, file)
    compared = gput.TrackingComparison({"first one": str(tmp_path / "a.pkl"), "B": str(tmp_path / "b.pkl")})
    assert str(compared.compare("mean")) == witness["compared"]
    assert_close(compared.compare("std").to_json(), witness["compared_json"])


def assert_close(ours: Any, theirs: Any) -> None:
    """Equal but for the last digits, where the order of summation differs."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_close(ours[key], theirs[key])
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for left, right in zip(ours, theirs):
            assert_close(left, right)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    else:
        assert ours == theirs


def test_parameters_and_defaults_are_the_witness_s() -> None:
    code = """
import inspect, json, gpu_tracker as g
names = ("Tracker", "SubTracker", "SubTrackingAnalyzer", "TrackingComparison", "sub_track")
print(json.dumps({n: [(p.name, repr(p.default)) for p in inspect.signature(getattr(g, n)).parameters.values()] for n in names}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    import inspect

    for name, parameters in json.loads(done.stdout).items():
        ours = [[p.name, repr(p.default)] for p in inspect.signature(getattr(gput, name)).parameters.values()]
        # Ours may take more behind them.
        assert ours[: len(parameters)] == parameters, name


_DATABASES = """
import gpu_tracker as g, time
with g.Tracker(sleep_time=0.1, tracking_file="t.sqlite", disable_logs=True):
    with g.SubTracker("a", sub_tracking_file="s.sqlite"):
        time.sleep(0.4)
"""


def test_databases_have_the_types_of_the_witness_s(tmp_path: Path) -> None:
    import sqlite3

    columns: Dict[str, Dict[str, Any]] = {}
    for who, code in (("theirs", _DATABASES), ("ours", _DATABASES.replace("gpu_tracker", "jobmeter.compat.gpu_tracker"))):
        folder = tmp_path / who
        folder.mkdir()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)
        assert done.returncode == 0, done.stderr
        for file, table in (("t", "static_data"), ("t", "data"), ("s", "data")):
            with sqlite3.connect(folder / f"{file}.sqlite") as database:
                found = {row[1]: row[2] for row in database.execute(f"PRAGMA table_info({table})")}
                stored = [tuple(type(v).__name__ for v in row) for row in database.execute(f"SELECT * FROM {table} LIMIT 1")]
            columns.setdefault(f"{file}.{table}", {})[who] = (found, stored)
    for name, both in columns.items():
        (theirs, their_values), (ours, our_values) = both["theirs"], both["ours"]
        assert list(ours) == list(theirs), name
        # The original takes the type of the first value it happens to write: 0 without a decimal makes a column of
        # percentages an INTEGER one.
        differing = {column for column in ours if ours[column] != theirs[column]}
        assert all(column.endswith("percent") and theirs[column] == "INTEGER" for column in differing), (name, differing)
        kinds = zip(ours, our_values[0], their_values[0])
        assert all(left == right or column in differing for column, left, right in kinds), (name, our_values, their_values)
