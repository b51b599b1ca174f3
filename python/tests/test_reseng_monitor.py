"""reseng.monitor: data frame, plot, files, decorator."""

from __future__ import annotations

import json
import os
import re
import time
import warnings
from pathlib import Path
from typing import Any, Dict, List

import fake_engine
import pytest

from jobmeter.compat.reseng_monitor import ResourceMonitor, bytes2human, func_sig, log_start_finish

pd = pytest.importorskip("pandas", reason="pandas is not installed")
SECOND = 1_000_000_000
COLUMNS = ["time", "cpu", "memory", "read_bytes", "read_chars", "write_bytes", "write_chars"]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    columns: Dict[str, List[Any]] = {
        "t_ns": [0, SECOND // 10, 2 * SECOND // 10],
        "main_cpu_ns": [0, SECOND // 20, SECOND // 20 + SECOND // 10],
        "main_rss_bytes": [10, 1000, 2000],
        "main_read_storage_bytes": [0, 0, 4096],
        "main_write_chars_bytes": [0, 100, 200],
    }
    fake_engine.install(monkeypatch, columns, fake_engine.summary())


def test_the_log_is_a_frame_indexed_by_elapsed(engine: None) -> None:
    monitor = ResourceMonitor(interval=0.1)
    monitor.start()
    monitor.tag("cpu v")
    monitor.stop()
    assert monitor.df is not None
    assert monitor.df.index.name == "elapsed"
    assert list(monitor.df.columns) == COLUMNS
    assert list(monitor.df["cpu"]) == [0.0, 50.0, 100.0]
    assert list(monitor.df["memory"]) == [10, 1000, 2000]
    assert list(monitor.df["read_bytes"]) == [0.0, 0.0, 40960.0]
    assert list(monitor.df["write_chars"]) == [0.0, 1000.0, 1000.0]
    assert monitor.df.index[0] == 0.0 and monitor.df.index[1] == pytest.approx(0.1, abs=1e-6)


def test_plot_and_files(engine: None, tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    monitor = ResourceMonitor(interval=0.1)
    monitor.start()
    monitor.tag("mem1 ^")
    monitor.stop()
    path = str(tmp_path / "log.json")
    monitor.dump(path)
    again = ResourceMonitor.load(path)
    assert again.tags == monitor.tags
    pd.testing.assert_frame_equal(again.df, monitor.df, check_exact=False)
    plt.close("all")
    again.plot()
    axes = plt.gcf().axes
    assert [a.get_title() for a in axes] == ["cpu", "read", "memory", "write"]
    assert all(any(t.get_text() == "mem1 ^" for t in a.texts) for a in axes)
    assert [t.get_text() for t in axes[1].get_legend().get_texts()] == ["bytes", "chars"]
    plt.close("all")


def test_a_file_of_the_original_loads(tmp_path: Path) -> None:
    path = tmp_path / "original.json"
    data = "elapsed,time,cpu,memory,read_bytes,read_chars,write_bytes,write_chars\n0.0,1.5,0.0,100,0.0,0.0,0.0,0.0\n"
    path.write_text(json.dumps({"tags": [[1.6, "start"]], "data": data}))
    monitor = ResourceMonitor.load(str(path))
    assert monitor.df is not None and monitor.df["memory"].iloc[0] == 100
    assert monitor.tags == [(1.6, "start")]


def test_too_short_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    columns: Dict[str, List[Any]] = {"t_ns": [0, SECOND // 100], "main_rss_bytes": [10, 10]}
    fake_engine.install(monkeypatch, columns, fake_engine.summary())
    monitor = ResourceMonitor()
    monitor.start()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        monitor.stop()
    text = "ResourceMonitor: no entries in monitor log, execution time may be too short."
    assert [str(w.message) for w in caught] == [text]
    monitor.plot()
    assert capsys.readouterr().out == text + "\n"


def test_decorator(capsys: pytest.CaptureFixture[str]) -> None:
    @log_start_finish
    def func(x: int, d: Any) -> int:
        return x + 1

    frame = pd.DataFrame(index=range(1000), columns=range(5))
    assert func(1, d=frame) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(": func(1, d=dataframe(1000, 5)) started.")
    assert re.search(r": func\(1, d=dataframe\(1000, 5\)\) finished in \d+\.\d\d seconds\.$", lines[1])
    assert func_sig(func, "x" * 11, pd.Series([1, 2])) == "func(xxxxxxxxx…, series(2))"


def test_human_bytes() -> None:
    assert [bytes2human(n) for n in (0, 9856, 100001221, 1 << 30)] == ["0.0B", "9.6K", "95.4M", "1.0G"]


def test_the_trials_of_the_original_can_be_called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Shortened: the same calls with the long work left out."""
    from jobmeter.compat import _reseng_trials, reseng_monitor

    for name in ("_use_cpu", "_use_mem", "_write", "_read", "test_all", "test_resource_monitor"):
        assert callable(getattr(reseng_monitor, name))
    sleep = time.sleep
    monkeypatch.setattr(_reseng_trials.time, "sleep", lambda seconds: sleep(min(seconds, 0.15)))
    monkeypatch.setattr(_reseng_trials, "_use_cpu", lambda t: sleep(0.05))
    monkeypatch.setattr(_reseng_trials, "_use_mem", lambda s, n: None)
    monkeypatch.setattr(_reseng_trials, "_write", lambda f, size_mb: f.write(b"a"))
    reseng_monitor.test_all()
    assert "func(1, d=dataframe(1000, 5)) finished in" in capsys.readouterr().out


def test_the_work_of_the_trials_does_what_it_says(tmp_path: Path) -> None:
    from jobmeter.compat.reseng_monitor import _read, _use_cpu, _write

    begin = time.process_time()
    _use_cpu(0.1)
    assert time.process_time() - begin > 0.01
    with open(tmp_path / "f", "w+b") as file:
        _write(file, 1)
        assert os.path.getsize(tmp_path / "f") == 2**20
        _read(file)
        assert file.tell() == 2**20
