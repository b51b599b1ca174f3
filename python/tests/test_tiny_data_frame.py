"""TinyDataFrame, against what the witness resource-tracker 0.5.0 answers to the same calls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import mean

import pytest

from jobmeter.compat.resource_tracker import StatSpec, TinyDataFrame

EXPRESSIONS = [
    "df", "str(df)", "df[0]", "df[-1]", "df[1:]", "df['a']", "df[['a', 's']]", "df.columns", "len(df)",
    "df.head(2)", "df.tail(1)", "df.to_csv()", "df.to_dict()", "df.to_csv(quote_strings=False)", "list(df)",
    "df[10]", "df['nope']", "df[['nope']]", "df[1.5]", "df.rename({'zz': 'A'})", "df._data", "bool(df)",
    "TinyDataFrame([{'a': 1, 'b': 2}, {'a': 3, 'b': None}])",
    "str(TinyDataFrame([{'a': 1, 'b': 2}, {'a': 3, 'b': None}]))",
    "TinyDataFrame()", "TinyDataFrame([])", "TinyDataFrame(csv_file_path='/nonexistent.csv')",
    "str(TinyDataFrame({'a': list(range(100))}))", "TinyDataFrame(csv_file_path=path).to_dict()",
    "dict(df.stats([StatSpec('b', mean, None, 1), StatSpec('b', max), StatSpec('a', sum, 'tot')]))",
    "df.rename({'a': 'A'}).columns", "df[1:][['b']].to_dict()",
]  # fmt: skip

SETUP = """
import sys
from statistics import mean
path = sys.argv[1]
df = TinyDataFrame({'a': [1, 2, 3], 'b': [4.5, 5, 6], 's': ['x', 'y"q', 'zz']})
for expression in %r:
    try:
        print(repr(eval(expression)))
    except BaseException as error:
        print(type(error).__name__, error)
""" % (EXPRESSIONS,)
OURS = "from jobmeter.compat.resource_tracker.tiny_data_frame import StatSpec, TinyDataFrame" + SETUP
THEIRS = "from resource_tracker.tiny_data_frame import StatSpec, TinyDataFrame" + SETUP


def test_every_call_answers_like_the_witness(tmp_path: Path) -> None:
    pytest.importorskip("resource_tracker", reason="the witness resource-tracker is not installed")
    path = tmp_path / "x.csv"
    path.write_text('"a","b","c"\n1,2.5,"u"\n2,,"v, w"\n')

    def answers(code: str) -> "list[str]":
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    ours, theirs = answers(OURS), answers(THEIRS)
    assert len(ours) == len(EXPRESSIONS)
    for expression, left, right in zip(EXPRESSIONS, ours, theirs):
        assert left == right, expression


def test_newer_and_older_names_are_aliases() -> None:
    df = TinyDataFrame({
        "memory": [1024, 2048], "memory_free": [512, 0], "gpu_vram": [3.0, 4.0], "disk_read_bytes": [1, 2],
        "system_memory_used": [1024, None],
    })  # fmt: skip
    assert df["memory_mib"] == [1.0, 2.0]
    assert df["memory_free_mib"] == [0.5, 0.0]
    assert df["gpu_vram_mib"] == [3.0, 4.0]
    assert df["read_bytes"] == [1, 2]
    assert df["system_memory_used_mib"] == [1.0, None]
    assert df[["memory_mib"]].columns == ["memory_mib"]
    stats = df.stats([StatSpec("memory", mean)])
    assert stats["memory_mib"] == {"mean": 1.5}
    assert "memory_mib" in stats and stats.get("nothing") is None
    with pytest.raises(KeyError):
        stats["nothing"]


def test_hostile_text_cannot_reach_the_terminal_or_break_csv(tmp_path: Path) -> None:
    name = 'evil"\x1b[2J,\n'
    df = TinyDataFrame({"n": [name]})
    assert "\x1b" not in str(df)
    path = tmp_path / "out.csv"
    df.to_csv(str(path))
    assert TinyDataFrame(csv_file_path=str(path))["n"] == [name]
    assert path.stat().st_mode & 0o777 == 0o600
