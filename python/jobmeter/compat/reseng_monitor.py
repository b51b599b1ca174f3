"""The interface of reseng.monitor: a resource monitor with tags and a plot, and a logging decorator."""

from __future__ import annotations

import functools
import io
import json
import math
import os
import time
import warnings
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple, TypeVar

from .. import _engine
from .._rates import Value, rates
from ._series import Series, or_zero

if TYPE_CHECKING:
    import pandas as pd

from ._reseng_trials import (
    _read,
    _use_cpu,
    _use_mem,
    _write,
    test_all,
    test_log_start_finish,
    test_resource_monitor,
    test_resource_monitor_serialization,
)

__all__ = [
    "ResourceMonitor", "_read", "_use_cpu", "_use_mem", "_write", "bytes2human", "func_sig", "log_start_finish",
    "test_all", "test_log_start_finish", "test_resource_monitor", "test_resource_monitor_serialization", "usage_log",
]  # fmt: skip

_COLUMNS = ["time", "cpu", "memory", "read_bytes", "read_chars", "write_bytes", "write_chars"]
_RATES = {
    "read_bytes": "main_read_storage_bytes",
    "read_chars": "main_read_chars_bytes",
    "write_bytes": "main_write_storage_bytes",
    "write_chars": "main_write_chars_bytes",
}
# The kernel counts CPU time in steps of 10 ms: a run that is shorter than two of them has nothing to tell.
_LEAST_NS = 20_000_000
_TOO_SHORT = "ResourceMonitor: no entries in monitor log, execution time may be too short."
_Function = TypeVar("_Function", bound=Callable[..., Any])


def usage_log(pid: int, interval: float = 1) -> None:
    """Write the resource usage of a process to standard output as CSV, until it ends."""
    session = _engine.start(pid=None if pid == os.getpid() else pid, interval=interval, own_io=True)
    print(",".join(_COLUMNS), flush=True)
    shown = 0
    try:
        while True:
            running = session.running
            rows = _rows(session)
            for row in rows[shown:]:
                print(",".join(str(row[c]) for c in _COLUMNS), flush=True)
            shown = len(rows)
            if not running:
                return
            time.sleep(interval)
    finally:
        session.stop()


class ResourceMonitor:
    """Watches a process; after `stop`, the log is a data frame in `df`, indexed by elapsed seconds."""

    def __init__(self, pid: Optional[int] = None, interval: float = 1) -> None:
        self.pid = os.getpid() if pid is None else pid
        self.interval = interval
        self.tags: List[Tuple[float, str]] = []
        self.df: Optional[pd.DataFrame] = None
        self._session: Optional[_engine.Session] = None

    def start(self) -> None:
        pid = None if self.pid == os.getpid() else self.pid
        self._session = _engine.start(pid=pid, interval=self.interval, own_io=True)

    def stop(self) -> None:
        if self._session is None:
            raise RuntimeError("ResourceMonitor: not started, call start() first.")
        self._session.stop()
        # After the stop: what it costs is not the program's.
        import pandas as pd

        rows = _rows(self._session)
        if not rows:
            warnings.warn(_TOO_SHORT, stacklevel=2)
            return
        df = pd.DataFrame(rows, columns=_COLUMNS)
        df["elapsed"] = df["time"] - df.loc[0, "time"]
        self.df = df.set_index("elapsed")

    def tag(self, label: str) -> None:
        """Name this moment; it is written into the plots."""
        self.tags.append((time.time(), label))

    def plot(self) -> None:
        """Draw CPU, memory, read and write, two by two, with the tags."""
        if self.df is None:
            print(_TOO_SHORT)
            return
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(2, 2, figsize=(12, 8))
        _draw(axes[0][0], "cpu", {"cpu": self.df["cpu"]}, legend=False)
        _draw(axes[1][0], "memory", {"memory": self.df["memory"]}, legend=False, in_bytes=True)
        for axis, kind in ((axes[0][1], "read"), (axes[1][1], "write")):
            lines = {unit: self.df[f"{kind}_{unit}"] for unit in ("bytes", "chars")}
            _draw(axis, kind, lines, in_bytes=True)
        begin = self.df["time"].iloc[0]
        for axis in axes.flatten():
            bottom = min(line.get_data()[1].min() for line in axis.lines)
            for moment, label in self.tags:
                axis.text(moment - begin, bottom, label, rotation="vertical")

    def dump(self, filepath: str) -> None:
        """Keep tags and log in a JSON file."""
        if self.df is None:
            raise RuntimeError(_TOO_SHORT)
        text = json.dumps({"tags": self.tags, "data": self.df.to_csv()})
        _engine.write_file(filepath, text.encode("utf-8"))

    @classmethod
    def load(cls, filepath: str) -> ResourceMonitor:
        """Read a file written by `dump`, of this package or of the original."""
        import pandas as pd

        with open(filepath, encoding="utf-8") as file:
            kept = json.load(file)
        monitor = cls()
        monitor.tags = [(moment, label) for moment, label in kept["tags"]]
        monitor.df = pd.read_csv(io.StringIO(kept["data"])).set_index("elapsed")
        return monitor


def _rows(session: _engine.Session) -> List[Dict[str, float]]:
    """A row at the start and one per interval: CPU in percent of a core, memory in bytes, I/O in bytes per second."""
    series = Series.of(session)
    if len(series) == 0 or series.t_ns[-1] < _LEAST_NS:
        return []
    cpu = series.rates("main_cpu_ns")
    memory = series.column("main_rss_bytes")
    own = session.own_io()
    measured = {column: series.rates(name) for column, name in _RATES.items()}
    if own:
        # What the meter reads is not among the counters of the process.
        ours = {row[0]: row[2] for row in own}
        written = _without(series.t_ns, series.column(_RATES["write_chars"]), ours)
        measured["write_chars"] = rates(series.t_ns, written)
    rows = []
    for i in range(len(series)):
        if memory[i] is None:
            continue
        row = {"time": series.unix_s[i], "cpu": round(or_zero(cpu[i]) * 100, 1), "memory": memory[i]}
        row.update({column: or_zero(values[i]) * 1e9 for column, values in measured.items()})
        rows.append(row)
    return rows


def _without(t_ns: Sequence[int], values: Sequence[Value], ours: Dict[int, int]) -> List[Value]:
    """A counter of this process without what the meter's own thread has moved; it never runs backwards.

    A tick that another thread made (the one of the stop) counts as much as the one before it.
    """
    result: List[Value] = []
    known = growth = 0
    highest = -math.inf
    for moment, value in zip(t_ns, values):
        now = ours.get(moment, known + growth)
        known, growth = now, now - known
        if value is None:
            result.append(None)
            continue
        highest = max(highest, value - now)
        result.append(highest)
    return result


def bytes2human(count: float) -> str:
    """Bytes with a binary prefix and one decimal: `9.8K`, `95.4M`."""
    for power, prefix in reversed(list(enumerate("KMGTPEZY", 1))):
        if abs(count) >= 1024**power:
            return f"{count / 1024**power:.1f}{prefix}"
    return f"{count:.1f}B"


def _draw(axis: Any, title: str, lines: Dict[str, Any], *, legend: bool = True, in_bytes: bool = False) -> None:
    for label, values in lines.items():
        axis.plot(values, label=label)
    axis.set_title(title)
    if legend:
        axis.legend()
    if in_bytes:
        axis.yaxis.set_major_formatter(lambda value, _position: bytes2human(value))


def func_sig(f: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Text of a call: name and argument values, long ones cut, data frames by their shape."""
    words = [_argument(value) for value in args]
    words += [f"{name}={_argument(value)}" for name, value in kwargs.items()]
    return f"{f.__name__}({', '.join(words)})"


def _argument(value: Any) -> str:
    kind = type(value)
    # By name, so that pandas need not be there to print a number.
    if kind.__module__.partition(".")[0] == "pandas":
        if kind.__name__ == "Series":
            return f"series({len(value)})"
        if kind.__name__ == "DataFrame":
            return f"dataframe{value.shape}"
    text = str(value)
    return text if len(text) <= 10 else text[:9] + "…"


def log_start_finish(f: _Function) -> _Function:
    """Print the call when it starts, and its run time when it finishes."""

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        call = func_sig(f, *args, **kwargs)
        begin = time.time()
        print(f"{time.asctime()}: {call} started.")
        result = f(*args, **kwargs)
        print(f"{time.asctime()}: {call} finished in {time.time() - begin:.2f} seconds.")
        return result

    return wrapper  # type: ignore[return-value]
