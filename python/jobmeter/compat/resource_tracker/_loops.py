"""`ProcessTracker` and `SystemTracker`: endless loops that write one CSV line per interval."""

from __future__ import annotations

import csv
import os
import sys
import time
import warnings
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional, TextIO

from ... import _engine
from . import _layout
from ._readings import process_stats, system_stats
from .column_maps import PROCESS_COLUMNS, SYSTEM_COLUMNS

Stats = Dict[str, Any]


class _Loop:
    """A reading per interval, each compared with the one before."""

    columns: List[str] = []

    def __init__(self, start_time: Optional[float], interval: float) -> None:
        if not interval > 0:
            raise ValueError(f"The interval of {interval} is invalid. Must be more than 0 seconds.")
        self.interval = interval
        self.start_time = time.time() if start_time is None else start_time
        self.stats: Stats = {}

    def _read(self) -> Stats:
        raise NotImplementedError

    def _difference(self, last: Stats, now: Stats) -> Stats:
        raise NotImplementedError

    def diff_stats(self) -> Stats:
        """Statistics since the last call."""
        last, self.stats = self.stats or self._read(), self._read()
        return _layout.shown(self._difference(last, self.stats), _layout.current())

    def start_tracking(self, output_file: Optional[str] = None, print_header: bool = True) -> None:
        """Write lines until the process ends or the loop is interrupted."""
        time.sleep(max(0.0, self.start_time - time.time()))
        begin = time.monotonic()
        columns = _layout.columns(self.columns, _layout.current())
        self.stats = self._read()
        with _output(output_file) as file:
            writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
            if print_header:
                writer.writerow(columns)
                file.flush()
            while True:
                time.sleep(_until_next_beat(time.monotonic() - begin, self.interval))
                try:
                    row = self.diff_stats()
                except ProcessLookupError:
                    return
                writer.writerow([row[column] for column in columns])
                file.flush()


class SystemTracker(_Loop):
    """Writes the use of the whole machine as CSV to standard output or to a file."""

    columns = SYSTEM_COLUMNS

    def __init__(
        self,
        start_time: Optional[float] = None,
        interval: float = 1,
        autostart: bool = True,
        output_file: Optional[str] = None,
        csv_file_path: Optional[str] = None,
    ) -> None:
        super().__init__(start_time, interval)
        if autostart:
            self.start_tracking(output_file if csv_file_path is None else csv_file_path)

    def _read(self) -> Stats:
        return system_stats()

    def _difference(self, last: Stats, now: Stats) -> Stats:
        row = {key: value for key, value in now.items() if key not in ("disk_stats", "disk_spaces")}
        row.update(_cpu(last, now))
        for column, key in (("disk_read_bytes", "read_bytes"), ("disk_write_bytes", "write_bytes")):
            before = {name: disk[key] for name, disk in last["disk_stats"].items()}
            row[column] = sum(
                max(0, disk[key] - before.get(name, disk[key])) for name, disk in now["disk_stats"].items()
            )
        for column in ("net_recv_bytes", "net_sent_bytes"):
            row[column] = max(0, now[column] - last[column])
        for key in ("total", "used", "free"):
            space = sum(mount[key] for mount in now["disk_spaces"].values())
            row[f"disk_space_{key}_gb"] = round(space / 1e9, 2)
        return row


class ProcessTracker(_Loop):
    """Writes the use of one process, and of its descendants, as CSV until it ends."""

    columns = PROCESS_COLUMNS

    def __init__(
        self,
        pid: Optional[int] = None,
        start_time: Optional[float] = None,
        interval: float = 1,
        children: bool = True,
        autostart: bool = True,
        output_file: Optional[str] = None,
        csv_file_path: Optional[str] = None,
    ) -> None:
        super().__init__(start_time, interval)
        self.pid = os.getpid() if pid is None else pid
        self.children = children
        if autostart:
            self.start_tracking(output_file if csv_file_path is None else csv_file_path)

    def _read(self) -> Stats:
        stats = process_stats(self.pid, self.children)
        if stats["memory"] == 0:
            # It has given its memory back and is about to end: a row of it would be of nothing.
            raise ProcessLookupError(f"process {self.pid} is ending")
        return stats

    def _difference(self, last: Stats, now: Stats) -> Stats:
        row = {key: value for key, value in now.items() if key != "gpu_utilized_indexes"}
        row.update(_cpu(last, now))
        for column in ("disk_read_bytes", "disk_write_bytes"):
            row[column] = max(0, now[column] - last[column])
        return row


class PidTracker(ProcessTracker):
    """Old name of `ProcessTracker`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn("PidTracker is now called ProcessTracker", DeprecationWarning, stacklevel=2)
        super().__init__(*args, **kwargs)


def _until_next_beat(elapsed: float, interval: float) -> float:
    """Seconds to the next multiple of the interval, but at least half of one: a rate over less tells little."""
    left = interval - elapsed % interval
    return left if left >= interval / 2 else left + interval


def _cpu(last: Stats, now: Stats) -> Stats:
    ticks = {key: max(0, now[key] - last[key]) for key in ("utime", "stime")}
    span = now["timestamp"] - last["timestamp"]
    cores = sum(ticks.values()) / 100 / span if span > 0 else 0.0
    return {**ticks, "cpu_usage": round(cores, 4)}


@contextmanager
def _output(path: Optional[str]) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    with open(_engine.create_file(path), "w", newline="", encoding="utf-8") as file:
        yield file
