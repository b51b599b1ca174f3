"""Tracking and sub-tracking files: CSV, or SQLite with the tables `data` and `static_data`.

A tracking file in CSV is two tables one after the other: header and one row of static data, then header
and rows of measurements. Whole files are written aside and renamed, readable by their owner only.
"""

from __future__ import annotations

import csv
import io
import os
import tempfile
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from ... import _engine

STATIC_COLUMNS = [
    "ram_unit", "gpu_ram_unit", "time_unit", "ram_system_capacity", "gpu_ram_system_capacity",
    "system_core_count", "n_expected_cores", "system_gpu_count", "n_expected_gpus",
]  # fmt: skip
DATA_COLUMNS = [
    "main_ram", "descendants_ram", "combined_ram", "system_ram",
    "main_gpu_ram", "descendants_gpu_ram", "combined_gpu_ram", "system_gpu_ram",
    "gpu_sum_utilization_percent", "gpu_hardware_utilization_percent",
    "main_n_threads", "descendants_n_threads", "combined_n_threads",
    "cpu_system_sum_utilization_percent", "cpu_system_hardware_utilization_percent",
    "cpu_main_sum_utilization_percent", "cpu_main_hardware_utilization_percent",
    "cpu_descendants_sum_utilization_percent", "cpu_descendants_hardware_utilization_percent",
    "cpu_combined_sum_utilization_percent", "cpu_combined_hardware_utilization_percent",
    "timestamp",
]  # fmt: skip
SUB_COLUMNS = ["process_id", "code_block_name", "position", "timestamp"]
_INTEGERS = {
    "system_core_count", "n_expected_cores", "system_gpu_count", "n_expected_gpus",
    "main_n_threads", "descendants_n_threads", "combined_n_threads", "process_id", "position",
}  # fmt: skip
_TEXTS = {"ram_unit", "gpu_ram_unit", "time_unit", "code_block_name"}


def extension(path: str) -> str:
    return os.path.splitext(path)[1]


def check_extension(path: str) -> None:
    if extension(path) not in (".csv", ".sqlite"):
        raise ValueError(f'Invalid file name: "{path}". Valid file extensions are ".csv" and ".sqlite".')


def write_tracking(path: str, static: Dict[str, Any], rows: Sequence[Dict[str, Any]]) -> None:
    tables = [("static_data", STATIC_COLUMNS, [static]), ("data", DATA_COLUMNS, rows)]
    _replace(path, tables)


def append_tracking(path: str, rows: Sequence[Dict[str, Any]]) -> None:
    """Add rows to a tracking file that `write_tracking` began, in one write."""
    if extension(path) == ".csv":
        text = io.StringIO()
        csv.DictWriter(text, DATA_COLUMNS, lineterminator="\n").writerows(rows)
        with open(path, "a", newline="", encoding="utf-8", opener=_private) as file:
            file.write(text.getvalue())
        return
    with _sqlite(path) as database:
        _insert(database, "data", DATA_COLUMNS, rows)


def write_sub_tracking(path: str, rows: Sequence[Dict[str, Any]]) -> None:
    _replace(path, [("data", SUB_COLUMNS, rows)])


def append_sub_tracking(path: str, row: Dict[str, Any]) -> None:
    """Add one row, creating the file with its header first."""
    if extension(path) == ".csv":
        fresh = not os.path.exists(path) or os.path.getsize(path) == 0
        with open(path, "a", newline="", encoding="utf-8", opener=_private) as file:
            writer = csv.DictWriter(file, SUB_COLUMNS, lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerow(row)
        return
    with _sqlite(path) as database:
        _insert(database, "data", SUB_COLUMNS, [row])


def read_static(path: str) -> Dict[str, Any]:
    if extension(path) == ".csv":
        rows = [_typed(STATIC_COLUMNS, r) for r in _csv_rows(path)[1:2]]
    else:
        rows = _select(path, "static_data")
    if not rows:
        raise ValueError(f"{path} has no static data; it is not a tracking file written by a Tracker.")
    return rows[0]


def read_data(path: str) -> List[Dict[str, Any]]:
    if extension(path) != ".csv":
        return _select(path, "data")
    rows = _csv_rows(path)
    if len(rows) < 3:
        return []
    return [_typed(rows[2], r) for r in rows[3:] if r]


def read_sub_tracking(path: str) -> List[Dict[str, Any]]:
    if extension(path) != ".csv":
        return _select(path, "data")
    rows = _csv_rows(path)
    if not rows or rows[0] != SUB_COLUMNS:
        raise ValueError(f"{path} must begin with the header {','.join(SUB_COLUMNS)}.")
    return [_typed(SUB_COLUMNS, r) for r in rows[1:] if r]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _csv_rows(path: str) -> List[List[str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def _typed(columns: Sequence[str], row: Sequence[str]) -> Dict[str, Any]:
    typed: Dict[str, Any] = {}
    for column, text in zip(columns, row):
        if column in _TEXTS:
            typed[column] = text
        elif text == "":
            typed[column] = None
        else:
            typed[column] = int(text) if column in _INTEGERS else float(text)
    return typed


Tables = Sequence[Tuple[str, Sequence[str], Sequence[Dict[str, Any]]]]


def _replace(path: str, tables: Tables) -> None:
    if extension(path) == ".csv":
        text = io.StringIO()
        for _, columns, rows in tables:
            writer = csv.DictWriter(text, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        _engine.write_file(path, text.getvalue().encode("utf-8"))
        return
    with tempfile.TemporaryDirectory() as folder:
        aside = os.path.join(folder, "database")
        with _sqlite(aside) as database:
            for name, columns, rows in tables:
                _insert(database, name, columns, rows)
        with open(aside, "rb") as file:
            _engine.write_file(path, file.read())


class _sqlite:
    """A connection that commits and closes on leaving, or raises and closes."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> Any:
        import sqlite3

        if not os.path.exists(self._path):
            os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
        self._connection = sqlite3.connect(self._path)
        return self._connection

    def __exit__(self, kind: Optional[type], *_: object) -> None:
        if kind is None:
            self._connection.commit()
        self._connection.close()


def _insert(database: Any, table: str, columns: Sequence[str], rows: Iterable[Dict[str, Any]]) -> None:
    # Table and column names are the constants of this module, never text from outside.
    kinds = ", ".join(
        f"{c} {'VARCHAR' if c in _TEXTS else 'INTEGER' if c in _INTEGERS else 'FLOAT'}" for c in columns
    )
    database.execute(f"CREATE TABLE IF NOT EXISTS {table} ({kinds})")
    places = ", ".join("?" for _ in columns)
    database.executemany(
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})",
        [[row[c] for c in columns] for row in rows],
    )


def _select(path: str, table: str) -> List[Dict[str, Any]]:
    import sqlite3

    if not os.path.exists(path):
        raise FileNotFoundError(2, "No such tracking file", path)
    with _sqlite(path) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute(f"SELECT * FROM {table}")]
