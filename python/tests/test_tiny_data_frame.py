"""TinyDataFrame, against what the witness resource-tracker 0.5.0 answers to the same calls."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
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
    "df.__setitem__(5, [1, 2, 3])", "df.__setitem__('a', [1])", "str(TinyDataFrame([]))", "str(df[:0])",
    "TinyDataFrame([{'a': 1}, {'b': 2.123456789}])", "str(TinyDataFrame([{'a': 1}, {'b': 2.123456789}]))",
    "TinyDataFrame(df, path)", "TinyDataFrame(7)", "TinyDataFrame(csv_file_path=7)",
    "str(TinyDataFrame({'wide enough': list(range(100)), 's': ['1'] * 100}))",
    "dict(df.stats([StatSpec('s', mean), StatSpec('nope', max), StatSpec('a', lambda v: 1 / 0, 'x'), StatSpec('a', sum)]))",
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"a","b"\n1,2\n1,2,3\n', "corrupt line 3: 3 values, the header names 2 columns"),
        ('"a","b"\n1,"2\n', "corrupt line 2: unexpected end of data"),
        ('"a","a"\n1,2\n', "corrupt header in line 1: a column is named twice"),
        ('"a","b"\n1,\xff\n', "'utf-8' codec can't decode"),
    ],
)
def test_a_corrupt_file_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "corrupt.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RuntimeError) as caught:
        TinyDataFrame(csv_file_path=str(path), retries=1, retry_delay=0.01)
    assert str(caught.value).startswith(f"Failed to read CSV file after 2 attempts: {path}: {said}")


def test_a_csv_comes_from_an_address_when_given_one(tmp_path: Path) -> None:
    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/cars.csv" else 404)
            self.end_headers()
            self.wfile.write(b'"name","hp"\n"Datsun 710",93\n')

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        assert TinyDataFrame(csv_file_path=f"{base}/cars.csv").to_dict() == [{"name": "Datsun 710", "hp": 93}]
        with pytest.raises(RuntimeError, match="^Failed to read CSV file after 1 attempts"):
            TinyDataFrame(csv_file_path=f"{base}/nothing.csv")
        server.shutdown()
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(RuntimeError):
        TinyDataFrame(csv_file_path=f"file://{tmp_path}/x.csv")


def test_a_failing_statistic_is_logged_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    df = TinyDataFrame({"a": ["x", "y"], "b": [1, 2]})
    assert df.stats([StatSpec("a", mean), StatSpec("b", max), StatSpec("c", max)]) == {"b": {"max": 2}}
    assert [r.levelname for r in caplog.records] == ["ERROR", "ERROR"]
    assert caplog.messages[0].startswith("Error collecting statistic on a with mean:")


def test_newer_and_older_names_are_aliases() -> None:
    df = TinyDataFrame({
        "memory": [1024, 2048], "memory_free": [512, 0], "gpu_vram": [3.0, 4.0], "disk_read_bytes": [1, 2],
        "system_memory_used": [1024, None],
    })  # fmt: skip
    assert df["memory_mib"] == [1.0, 2.0]
    assert df["memory_free_mib"] == [0.5, 0.0]
    assert df["gpu_vram_mib"] == [3.0, 4.0]
    assert df["read_bytes"] == [1, 2]
    assert df[0]["memory_mib"] == 1.0 and df.to_dict()[1]["memory_free_mib"] == 0.0
    assert [row["gpu_vram_mib"] for row in df] == [3.0, 4.0] and df[1]["system_memory_used_mib"] is None
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
