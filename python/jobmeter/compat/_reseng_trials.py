"""The trials that come with reseng.monitor: work of known kinds under a monitor. The longest takes some 15 s."""

from __future__ import annotations

import tempfile
import time
from typing import IO, Any, Callable, Dict

__all__ = [
    "_read", "_use_cpu", "_use_mem", "_write", "test_all", "test_log_start_finish", "test_resource_monitor",
    "test_resource_monitor_serialization",
]  # fmt: skip

_BLOCK_BYTES = 8 * 1024


def _use_cpu(t: float) -> None:
    """Keep one core busy for `t` seconds."""
    end = time.time() + t
    while time.time() < end:
        pass


def _use_mem(s: int, n: int) -> None:
    """Hold `s` million more list entries in each of `n` seconds."""
    held = []
    for _ in range(n):
        held += [1] * (s * 1_000_000)
        time.sleep(1)


def _write(f: IO[bytes], size_mb: int) -> None:
    """Write so many MiB in blocks of 8 KiB, from the beginning of the file."""
    block = b"a" * _BLOCK_BYTES
    f.seek(0)
    for _ in range(size_mb * 2**20 // _BLOCK_BYTES):
        f.write(block)
        f.flush()


def _read(f: IO[bytes]) -> None:
    """Read a file in blocks of 8 KiB."""
    f.seek(0)
    while f.read(_BLOCK_BYTES):
        pass


def test_resource_monitor() -> None:
    """CPU, memory, writing and reading one after the other, tagged and plotted."""
    from .reseng_monitor import ResourceMonitor

    monitor = ResourceMonitor(interval=0.1)
    monitor.start()
    time.sleep(2)
    with tempfile.TemporaryFile() as file:
        trials: Dict[str, Callable[[], None]] = {
            "cpu": lambda: _use_cpu(2),
            "mem1": lambda: _use_mem(30, 2),
            "mem2": lambda: _use_mem(10, 2),
            "write": lambda: _write(file, 1000),
            "read": lambda: _read(file),
        }
        for label, work in trials.items():
            monitor.tag(f"{label} v")
            work()
            monitor.tag(f"{label} ^")
            time.sleep(1)
    monitor.stop()
    monitor.plot()


def test_resource_monitor_serialization() -> None:
    """A monitor that was dumped and loaded can be plotted."""
    from .reseng_monitor import ResourceMonitor

    monitor = ResourceMonitor(interval=0.2)
    monitor.start()
    time.sleep(1)
    monitor.tag("start")
    _use_cpu(2)
    monitor.tag("stop")
    time.sleep(1)
    monitor.stop()
    with tempfile.NamedTemporaryFile() as file:
        monitor.dump(file.name)
        ResourceMonitor.load(file.name).plot()


def test_log_start_finish() -> None:
    """The decorator prints a call with a data frame among its arguments."""
    import pandas as pd

    from .reseng_monitor import log_start_finish

    @log_start_finish
    def func(x: int, d: Any) -> int:
        time.sleep(0.5)
        return x + 1

    func(1, d=pd.DataFrame(index=range(1000), columns=range(5)))


def test_all() -> None:
    test_resource_monitor()
    test_resource_monitor_serialization()
    test_log_start_finish()
