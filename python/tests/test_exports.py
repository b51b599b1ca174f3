"""Exports in the hands of those who will read them: pyarrow, pandas, polars, DuckDB and sqlite3.

JOBMETER_BIN names the jobmeter program to test.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

BINARY = os.environ.get("JOBMETER_BIN")
pytestmark = pytest.mark.skipif(BINARY is None, reason="JOBMETER_BIN is not set")

JOB = """
import os, subprocess, sys, time
data = bytearray(30_000_000)
for _ in range(5):
    subprocess.run([sys.executable, "-c", "sum(range(300_000))"], check=True)
end = time.monotonic() + 0.3
while time.monotonic() < end:
    data[os.getpid() % 1000] ^= 1
"""


def jobmeter(*arguments: str | os.PathLike[str], store: Path) -> str:
    environment = {**os.environ, "JOBMETER_STORE": str(store)}
    done = subprocess.run(
        [str(BINARY), *arguments], env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict, list[dict]]:
    """A folder of exports of a real run, its summary, and its samples by way of plain JSON."""
    folder = tmp_path_factory.mktemp("exports")
    store = folder / "store"
    jobmeter("run", "-q", "-i", "20ms", "--", sys.executable, "-c", JOB, store=store)
    for format_ in ("csv", "jsonl", "parquet", "arrow"):
        jobmeter("export", "last", "-f", format_, "--table", "all", "-o", folder, store=store)
    jobmeter("export", "last", "-o", folder / "run.sqlite", store=store)
    summary = json.loads(jobmeter("show", "last", "-f", "json", store=store))
    samples = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    assert len(samples) >= 10
    return folder, summary, samples


def sums(samples: list[dict]) -> dict[str, tuple[int, int]]:
    """Sum of the known values, and how many are unknown, per column."""
    return {
        name: (sum(row[name] or 0 for row in samples), sum(row[name] is None for row in samples))
        for name in samples[0]
    }


def test_totals_are_those_of_the_summary(exported: tuple[Path, dict, list[dict]]) -> None:
    _, summary, samples = exported
    total = max(row["combined_cpu_ns"] for row in samples if row["combined_cpu_ns"] is not None)
    assert total == summary["combined"]["cpu_ns"]["value"]
    peak = max(row["combined_rss_bytes"] for row in samples if row["combined_rss_bytes"] is not None)
    # The summary states what was proven, and no row is above it.
    assert peak <= summary["combined"]["rss_bytes_max"]["value"]


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
def test_pyarrow(exported: tuple[Path, dict, list[dict]], format_: str) -> None:
    import pyarrow
    import pyarrow.compute
    import pyarrow.parquet

    folder, _, samples = exported
    path = folder / f"samples.{format_}"
    if format_ == "parquet":
        table = pyarrow.parquet.read_table(path)
    else:
        table = pyarrow.ipc.open_file(path).read_all()
        table.validate(full=True)
    assert table.column_names == list(samples[0])
    assert {str(field.type) for field in table.schema} == {"uint64"}
    for name, (total, unknown) in sums(samples).items():
        column = table.column(name)
        assert (pyarrow.compute.sum(column).as_py() or 0, column.null_count) == (total, unknown), name


def test_arrow_and_parquet_agree_on_every_table(exported: tuple[Path, dict, list[dict]]) -> None:
    import pyarrow
    import pyarrow.parquet

    folder, _, _ = exported
    paths = sorted(folder.glob("*.arrow"))
    assert len(paths) >= 8
    for path in paths:
        arrow = pyarrow.ipc.open_file(path).read_all()
        arrow.validate(full=True)
        assert arrow.equals(pyarrow.parquet.read_table(path.with_suffix(".parquet"))), path.name
        rows = [json.loads(line) for line in path.with_suffix(".jsonl").read_text().splitlines()]
        assert arrow.to_pylist() == rows, path.name


def test_pandas(exported: tuple[Path, dict, list[dict]]) -> None:
    import pandas

    folder, _, samples = exported
    for frame in (
        pandas.read_parquet(folder / "samples.parquet", dtype_backend="pyarrow"),
        pandas.read_feather(folder / "samples.arrow", dtype_backend="pyarrow"),
        pandas.read_csv(folder / "samples.csv", dtype="UInt64"),
    ):
        for name, (total, unknown) in sums(samples).items():
            assert (int(frame[name].sum()), int(frame[name].isna().sum())) == (total, unknown), name


def test_polars(exported: tuple[Path, dict, list[dict]]) -> None:
    import polars

    folder, _, samples = exported
    for frame in (
        polars.read_parquet(folder / "samples.parquet"),
        polars.read_ipc(folder / "samples.arrow"),
        polars.read_csv(folder / "samples.csv", infer_schema_length=None),
    ):
        for name, (total, unknown) in sums(samples).items():
            column = frame[name].cast(polars.UInt64)
            assert (column.sum(), column.null_count()) == (total, unknown), name


def test_duckdb(exported: tuple[Path, dict, list[dict]]) -> None:
    import duckdb

    folder, _, samples = exported
    for file in ("samples.parquet", "samples.csv", "samples.jsonl"):
        reader = {"parquet": "read_parquet", "csv": "read_csv", "jsonl": "read_json"}[file.split(".")[1]]
        source = f"{reader}('{folder / file}')"
        for name, (total, unknown) in sums(samples).items():
            query = f'SELECT coalesce(sum("{name}"), 0), count(*) - count("{name}") FROM {source}'
            [found] = duckdb.sql(query).fetchall()
            assert (int(found[0]), found[1]) == (total, unknown), (file, name)


def test_sqlite(exported: tuple[Path, dict, list[dict]]) -> None:
    folder, _, samples = exported
    with sqlite3.connect(folder / "run.sqlite") as database:
        for name, (total, unknown) in sums(samples).items():
            query = f'SELECT coalesce(sum("{name}"), 0), count(*) - count("{name}") FROM samples'
            assert database.execute(query).fetchone() == (total, unknown), name
        children = database.execute("SELECT count(*) FROM processes WHERE exit_code = 0").fetchone()[0]
    assert children >= 1


def test_every_process_has_a_row(exported: tuple[Path, dict, list[dict]]) -> None:
    folder, _, _ = exported
    rows = [json.loads(line) for line in (folder / "processes.jsonl").read_text().splitlines()]
    # The job and its five children, however short they lived.
    assert len(rows) >= 6
