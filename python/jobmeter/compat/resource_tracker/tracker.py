"""`ResourceTracker`: processes and machine in the background, on one native thread."""

from __future__ import annotations

import gzip
import json
import os
import time
from statistics import mean
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Sequence, Type

from ... import _engine
from ..._warnings import warn
from .._series import Series
from . import _advice, _layout
from ._loops import PidTracker, ProcessTracker, SystemTracker
from ._options import warn_of
from ._rows import process_rows, system_rows
from ._snapshot import rows_of, server_of
from ._stream import Stream, Target
from ._upload import put_csv
from .cloud_info import search_cloud_info
from .column_maps import BYTE_MAPPING, HUMAN_NAMES_MAPPING
from .report import Report, build_report
from .server_info import get_server_info
from .tiny_data_frame import StatSpec, TinyDataFrame

__all__ = ["PidTracker", "ProcessTracker", "ResourceTracker", "SystemTracker"]

_SNAPSHOT_VERSION = 1
# Unpacked; a day of one row per second takes some 50 MB. A gzip file of 1 MB may unpack to 1 GB.
_SNAPSHOT_MAX_BYTES = 128 * 1024 * 1024


def _duration(stamps: Sequence[float]) -> float:
    """Seconds covered by the rows: each stands for the interval before it."""
    spans = len(stamps) - 1
    covered = max(stamps) - min(stamps)
    return covered + covered / spans if spans else 0.0


DEFAULT_SPECS = [
    StatSpec(column, agg, None, 2)
    for column in ("cpu_usage", "memory", "gpu_usage", "gpu_vram", "gpu_utilized")
    for column in (f"process_{column}",)
    for agg in (mean, max)
] + [
    StatSpec("system_disk_space_used_gb", max, None, 2),
    StatSpec("system_net_recv_bytes", sum),
    StatSpec("system_net_sent_bytes", sum),
    StatSpec("timestamp", _duration, "duration"),
]
_DEFAULT = tuple(DEFAULT_SPECS)


class ResourceTracker:
    """Tracks a process, its descendants and the machine while the program runs on.

    `method` is accepted for compatibility; there is no helper process to fork or spawn. Cloud discovery is
    off unless asked for with `discover_cloud=True`, because it may send a request on the local link.
    It starts at once unless `autostart` is off; the first `start()` after that is harmless, so that programs of all
    releases work. It is a context manager too.

    `stream_to` hands the samples on while they are taken, as CSV: to a new file, a pipe, an open text file, or by POST to
    an http(s) address every `upload_interval` seconds, with `stream_headers`. Nothing is sent without it.
    """

    def __init__(
        self,
        pid: Optional[int] = None,
        children: bool = True,
        interval: float = 1,
        method: Optional[str] = None,
        autostart: bool = True,
        track_processes: bool = True,
        track_system: bool = True,
        discover_server: bool = True,
        discover_cloud: bool = False,
        sentinel_token: Optional[str] = None,
        upload_interval: int = 60,
        streaming_metadata: Optional[Dict[str, Any]] = None,
        stream_to: Optional[Target] = None,
        stream_headers: Optional[Dict[str, str]] = None,
        **newer: Any,
    ) -> None:
        if sentinel_token is not None:
            newer["sentinel_token"] = sentinel_token
        if upload_interval != 60 and stream_to is None:
            newer["upload_interval"] = upload_interval
        if streaming_metadata is not None:
            newer["streaming_metadata"] = streaming_metadata
        warn_of(newer, stacklevel=2)
        if method is not None:
            # Nothing is started by it, but a name that is none is a mistake all the same.
            from multiprocessing import get_context

            get_context(method)
        self.pid = os.getpid() if pid is None else pid
        self.children = children
        self.interval = interval
        self.method = method
        self.autostart = autostart
        self.track_processes = track_processes
        self.track_system = track_system
        self.discover_server = discover_server
        self.discover_cloud = discover_cloud
        self.start_time: Optional[float] = None
        self.stop_time: Optional[float] = None
        self._session: Optional[_engine.Session] = None
        self._forks_before = 0
        self._server: Optional[Dict[str, Any]] = None
        self._cloud: Optional[Dict[str, Any]] = None
        self._cloud_search: Optional[Callable[[], Dict[str, Any]]] = None
        # Rows of a restored snapshot, in place of a session.
        self._restored: Optional[Dict[str, List[Dict[str, Any]]]] = None
        self._stream_to, self._stream_headers = stream_to, stream_headers
        self._upload_interval = upload_interval
        self._stream: Optional[Stream] = None
        self._started_itself = False
        if autostart:
            self.start()
            self._started_itself = True

    def start(self) -> None:
        """Begin to track; a tracker runs once. One that started itself takes the first call as meant for that."""
        if self.stop_time is not None or self._restored is not None:
            raise RuntimeError(
                "Resource tracker already stopped. Create a new instance instead of trying to restart it."
            )
        if self._started_itself:
            self._started_itself = False
            return
        if self._session is not None:
            raise RuntimeError("Resource tracker already running, cannot start again.")
        if self.discover_cloud:
            self._cloud_search = search_cloud_info()
        self._forks_before = int(_engine.system_reading()["forks"] or 0)
        self._session = _engine.start(
            pid=None if self.pid == os.getpid() else self.pid,
            interval=self.interval,
        )
        self.start_time = time.time()
        if self._stream_to is not None:
            self._stream = self._begin_stream(self._stream_to)

    def _begin_stream(self, target: Target) -> Stream:
        is_address = isinstance(target, str) and target.lower().startswith(("http://", "https://"))
        pause_s = self._upload_interval if is_address else self.interval
        try:
            return Stream(self._rows_from, target, pause_s, self._stream_headers)
        except OSError:
            self.stop()
            raise

    def _rows_from(self, offset: int) -> TinyDataFrame:
        return self.get_combined_metrics(offset=offset)

    def stop(self, exit_code: int = 0, run_status: str = "finished") -> None:
        """Stop tracking and keep what was collected."""
        if self._session is not None:
            self._session.stop()
        if self.stop_time is None:
            self.stop_time = time.time()
        stream, self._stream = self._stream, None
        problem = None if stream is None else stream.finish()
        if problem is not None:
            warn(f"samples could not be streamed: {problem}", stacklevel=2)

    def cleanup(self) -> None:
        """Release the background thread; `stop` does the same and keeps the data."""
        self.stop()

    def __enter__(self) -> ResourceTracker:
        if not self.running:
            self.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        return self._session is not None and self._session.running

    def _rows(self) -> Dict[str, List[Dict[str, Any]]]:
        """Both tables in the layout of the reference page."""
        if self._restored is not None:
            return self._restored
        if self._session is None:
            return {"process": [], "system": []}
        series = Series.of(self._session)
        process = process_rows(series, self.pid, self.children) if self.track_processes else []
        system = system_rows(series, self._forks_before) if self.track_system else []
        return {"process": process, "system": system}

    def _shown_rows(self) -> Dict[str, List[Dict[str, Any]]]:
        """Both tables in the layout that the program has chosen."""
        layout = _layout.current()
        return {kind: [_layout.shown(row, layout) for row in rows] for kind, rows in self._rows().items()}

    @property
    def n_samples(self) -> int:
        return max(len(rows) for rows in self._rows().values())

    def wait_for_samples(self, n: int = 1, timeout: float = 5) -> None:
        """Block until `n` samples are there; `RuntimeError` after `timeout` seconds."""
        if not self.running and self.n_samples < n:
            raise RuntimeError(
                f"Resource tracker has been already stopped with {self.n_samples} sample(s), "
                f"cannot wait to collect the requested {n} sample(s)."
            )
        end = time.monotonic() + timeout
        while self.n_samples < n:
            if time.monotonic() > end:
                raise RuntimeError(f"Timed out waiting for resource tracker to collect {n} samples")
            time.sleep(min(self.interval / 4, 0.05))

    @property
    def process_metrics(self) -> TinyDataFrame:
        """Rows of the tracked process(es)."""
        return TinyDataFrame(self._shown_rows()["process"])

    @property
    def system_metrics(self) -> TinyDataFrame:
        """Rows of the machine."""
        return TinyDataFrame(self._shown_rows()["system"])

    def get_combined_metrics(
        self,
        bytes: bool = False,
        human_names: bool = False,
        system_prefix: Optional[str] = None,
        process_prefix: Optional[str] = None,
        offset: Optional[int] = None,
    ) -> TinyDataFrame:
        """Both tables side by side, with prefixes; everything in bytes and plain words if asked."""
        rows = self._shown_rows()
        prefixes = {
            "system": ("System " if human_names else "system_") if system_prefix is None else system_prefix,
            "process": ("Process " if human_names else "process_") if process_prefix is None else process_prefix,
        }
        present = [kind for kind in ("system", "process") if rows[kind]]
        if not present:
            return TinyDataFrame([])
        length = min(len(rows[kind]) for kind in present)
        first = 0 if offset is None else offset
        stamp = HUMAN_NAMES_MAPPING["timestamp"] if human_names else "timestamp"
        data: Dict[str, List[Any]] = {stamp: [r["timestamp"] for r in rows[present[0]][first:length]]}
        for kind in present:
            for column in rows[kind][0]:
                if column == "timestamp":
                    continue
                factor = BYTE_MAPPING.get(column, 1) if bytes else 1
                name = prefixes[kind] + (HUMAN_NAMES_MAPPING[column] if human_names else column)
                values = [row[column] for row in rows[kind][first:length]]
                data[name] = values if factor == 1 else [None if v is None else v * factor for v in values]
        return TinyDataFrame(data)

    def stats(self, specs: Sequence[StatSpec] = _DEFAULT) -> Dict[str, Dict[str, Any]]:
        """Statistics over the combined metrics."""
        combined = self.get_combined_metrics()
        if len(combined) == 0:
            raise RuntimeError("No metrics collected (yet)")
        layout = _layout.current()
        if specs is _DEFAULT:
            specs = [s._replace(column=_layout.column(s.column, layout)) for s in specs if self._tracks(s.column)]
        return combined.stats(specs)

    def _tracks(self, column: str) -> bool:
        """Default statistics speak of both tables; leave out those of a table that was not wanted."""
        rows = self._rows()
        return not (column.startswith("process_") and not rows["process"]) and not (
            column.startswith("system_") and not rows["system"]
        )

    @property
    def sentinel_result(self) -> None:
        """What the Sentinel service answered: nothing, since nothing is sent to it."""
        return None

    @property
    def server_info(self) -> Optional[Dict[str, Any]]:
        """Hardware of the server and whether it seems `dedicated` to the tracked process or `shared`."""
        if self._server is None and self.discover_server:
            self._server = get_server_info()
        if self._server is None:
            return None
        rows = self._rows()
        self._server["allocation"] = _advice.allocation(rows["process"], rows["system"])
        return self._server

    @property
    def cloud_info(self) -> Optional[Dict[str, Any]]:
        """Whose machine this is. Found in the background since the start; this waits for the rest, 500 ms at most."""
        if self._cloud is None and self.discover_cloud:
            search = self._cloud_search or search_cloud_info()
            self._cloud = search()
        return self._cloud

    def recommend_resources(self, historical_stats: Sequence[Dict[str, Any]] = ()) -> Dict[str, int]:
        """Cores, memory (MiB), GPUs and VRAM (MiB) to ask for next time."""
        if self.running:
            self.wait_for_samples(n=1, timeout=self.interval * 5)
        return _advice.recommend_resources([self.stats(), *historical_stats])

    def recommend_server(self, **kwargs: Any) -> Dict[str, Any]:
        """The cheapest server of the built-in catalogue that fits; keywords narrow the choice."""
        historical_stats: Sequence[Dict[str, Any]] = kwargs.pop("historical_stats", ())
        return _advice.recommend_server(self.recommend_resources(historical_stats), kwargs)

    def report(
        self,
        integration: str = "standalone",
        historical_stats: Sequence[Dict[str, Any]] = (),
        status_failed: bool = False,
        integration_version: Optional[str] = None,
    ) -> Report:
        """A self-contained HTML page of the run."""
        return build_report(self, historical_stats, status_failed)

    def snapshot(self) -> Dict[str, Any]:
        """Everything collected so far, as plain values."""
        rows = self._shown_rows()
        end = time.time() if self.stop_time is None else self.stop_time
        begin = end if self.start_time is None else self.start_time
        return {
            "metadata": {
                "version": _SNAPSHOT_VERSION,
                "resource_tracker": {
                    "version": "0.5.0",
                    "implementation": "jobmeter",
                    "layout": _layout.current(),
                },
                "pid": self.pid,
                "children": self.children,
                "interval": self.interval,
                "method": self.method,
                "autostart": self.autostart,
                "track_processes": self.track_processes,
                "track_system": self.track_system,
                "discover_server": self.discover_server,
                "discover_cloud": self.discover_cloud,
                "start_time": begin,
                "stop_time": end,
                "duration": round(end - begin, 2),
            },
            "server_info": self.server_info,
            "cloud_info": self.cloud_info,
            "process_metrics": rows["process"],
            "system_metrics": rows["system"],
        }

    @classmethod
    def from_snapshot(cls, snapshot: Dict[str, Any]) -> ResourceTracker:
        """A stopped tracker with the data of a snapshot, also of the original's releases 0.4 and 0.5."""
        about = snapshot["metadata"]
        names = ("pid", "children", "interval", "method", "track_processes", "track_system")
        tracker = cls(
            autostart=False,
            discover_server=False,
            discover_cloud=False,
            **{name: about[name] for name in names if name in about},
        )
        tracker.start_time, tracker.stop_time = about["start_time"], about["stop_time"]
        tracker._restored = {kind: rows_of(snapshot, kind) for kind in ("process", "system")}
        tracker._server, tracker._cloud = server_of(snapshot.get("server_info")), snapshot.get("cloud_info")
        return tracker

    def upload(self, uri: str, *, endpoint_url: Optional[str] = None, region: Optional[str] = None) -> str:
        """Put the collected samples as CSV at `s3://bucket/key`; needs botocore (`pip install 'jobmeter[s3]'`).

        `endpoint_url` names a server other than Amazon's.
        """
        return put_csv(uri, self.get_combined_metrics().to_csv() or "", endpoint_url, region)

    def dumps(self) -> str:
        return json.dumps(self.snapshot())

    @classmethod
    def loads(cls, s: str) -> ResourceTracker:
        return cls.from_snapshot(json.loads(s))

    def dump(self, file: str) -> None:
        """Write a snapshot as gzipped JSON."""
        _engine.write_file(file, gzip.compress(self.dumps().encode("utf-8")))

    @classmethod
    def load(cls, file: str) -> ResourceTracker:
        with gzip.open(file, "rb") as source:
            content = source.read(_SNAPSHOT_MAX_BYTES + 1)
        if len(content) > _SNAPSHOT_MAX_BYTES:
            raise ValueError(f"{file} unpacks to more than {_SNAPSHOT_MAX_BYTES} bytes; it is not a snapshot")
        return cls.loads(content.decode("utf-8"))
