"""The code examples of the reseng.monitor page, shortened in time, on the real engine."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import time
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import IO, List

import pytest
from workloads import burn, hold

from jobmeter.compat.reseng_monitor import ResourceMonitor, log_start_finish, usage_log

pd = pytest.importorskip("pandas", reason="pandas is not installed")


def write(file: "IO[bytes]", megabytes: int) -> None:
    file.seek(0)
    for _ in range(megabytes):
        file.write(b"a" * (1 << 20))
    file.flush()


def test_the_monitor(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    monitor = ResourceMonitor(interval=0.1)
    monitor.start()
    monitor.tag("cpu v")
    burn(0.4)
    monitor.tag("cpu ^")
    block = hold(60)
    time.sleep(0.3)
    monitor.tag("mem1 ^")
    with TemporaryFile() as file:
        write(file, 50)
        monitor.tag("write ^")
        time.sleep(0.2)
    monitor.stop()
    del block
    assert monitor.df is not None and len(monitor.df) >= 5
    assert monitor.df["cpu"].max() > 5.0
    assert monitor.df["memory"].max() >= 60 << 20
    # 50 MB went through write calls: the rates times the spans give them back.
    spans = pd.Series(monitor.df.index).diff()
    assert (monitor.df["write_chars"].to_numpy()[1:] * spans.to_numpy()[1:]).sum() >= 40 << 20
    assert [label for _, label in monitor.tags] == ["cpu v", "cpu ^", "mem1 ^", "write ^"]
    monitor.plot()
    path = str(tmp_path / "m.json")
    monitor.dump(path)
    ResourceMonitor.load(path).plot()
    matplotlib.pyplot.close("all")


def test_serialization(tmp_path: Path) -> None:
    """The second example: dumped to a named temporary file, loaded and drawn."""
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    m1 = ResourceMonitor(interval=0.1)
    m1.start()
    m1.tag("start")
    burn(0.3)
    m1.tag("stop")
    m1.stop()
    with NamedTemporaryFile() as tf:
        m1.dump(tf.name)
        m2 = ResourceMonitor.load(tf.name)
    m2.plot()
    matplotlib.pyplot.close("all")
    assert m1.df is not None and m2.df is not None
    assert list(m2.df.columns) == list(m1.df.columns) and len(m2.df) == len(m1.df)
    assert m2.tags == m1.tags


def test_usage_log_until_the_process_ends(capsys: pytest.CaptureFixture[str]) -> None:
    context = multiprocessing.get_context("fork")
    child = context.Process(target=time.sleep, args=(0.5,))
    child.start()
    assert child.pid is not None
    usage_log(child.pid, 0.1)
    child.join()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "time,cpu,memory,read_bytes,read_chars,write_bytes,write_chars"
    assert len(lines) >= 3 and all(len(line.split(",")) == 7 for line in lines)


_IDLE = """
import json, os, sys, time
from jobmeter.compat.reseng_monitor import ResourceMonitor
monitor = ResourceMonitor(interval=0.1)
monitor.start()
time.sleep(1)
zero = open("/dev/zero", "rb", buffering=0)
if sys.argv[1] == "read":
    for _ in range(20):
        zero.read(100_000)
        time.sleep(0.05)
else:
    time.sleep(1)
monitor.stop()
chars = monitor.df["read_chars"]
print(json.dumps([chars.iloc[3:9].max(), sum(chars * monitor.df.index.to_series().diff().fillna(0))]))
"""


def test_the_bytes_that_we_read_are_not_the_programs() -> None:
    """The meter's thread is one of the program's: its 6 KB per sample made an idle program read 60 KB a second."""
    for what, total in (("idle", 0), ("read", 2_000_000)):
        done = subprocess.run([sys.executable, "-c", _IDLE, what], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        while_idle, read = json.loads(done.stdout)
        # A tick reads a few bytes more or less than the one before.
        assert while_idle < 2_000, what
        # A row that comes right after a late one shows the rate of both, so that rates times distances are a little more.
        assert total * 0.95 <= read <= total * 1.1 + 20_000, what


@log_start_finish
def func(x: int) -> int:
    time.sleep(0.05)
    return x + 1


def test_the_decorator_under_multiprocessing(capfd: pytest.CaptureFixture[str]) -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        result: List[int] = pool.map(func, range(4))
        pool.close()
        pool.join()
    assert result == [1, 2, 3, 4]
    out = capfd.readouterr().out
    assert out.count("started.") == out.count("seconds.") == 4
