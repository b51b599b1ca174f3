"""The page of the run, as jobmeter reports it: self-contained, no network."""

from __future__ import annotations

import json
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

from ... import _engine
from ._advice import allocation
from ._sections import with_sections
from .helpers import round_memory

if TYPE_CHECKING:
    from .tracker import ResourceTracker

__all__ = ["Report", "build_report", "round_memory"]

_TICK_NS = 10_000_000
# Metric of the page, table and columns of the rows that add up to it, the factor, and whether it accumulates.
_METRICS: Sequence[Tuple[str, str, Tuple[str, ...], float, bool]] = (
    ("combined_cpu_ns", "process", ("utime", "stime"), _TICK_NS, True),
    ("combined_rss_bytes", "process", ("memory",), 1024, False),
    ("combined_read_storage_bytes", "process", ("disk_read_bytes",), 1, True),
    ("combined_write_storage_bytes", "process", ("disk_write_bytes",), 1, True),
    ("combined_gpu_busy_ppm", "process", ("gpu_usage",), 1e6, False),
    ("combined_gpu_memory_bytes", "process", ("gpu_vram",), 1024**2, False),
    ("system_cpu_ns", "system", ("utime", "stime"), _TICK_NS, True),
    ("system_memory_used_bytes", "system", ("memory_used",), 1024, False),
    ("system_disk_read_bytes", "system", ("disk_read_bytes",), 1, True),
    ("system_disk_write_bytes", "system", ("disk_write_bytes",), 1, True),
    ("system_net_receive_bytes", "system", ("net_recv_bytes",), 1, True),
    ("system_net_transmit_bytes", "system", ("net_sent_bytes",), 1, True),
    ("system_gpu_busy_ppm", "system", ("gpu_usage",), 1e6, False),
    ("system_gpu_memory_bytes", "system", ("gpu_vram",), 1024**2, False),
)


class Report(str):
    """The page as text, with ways to keep it and to look at it."""

    def save(self, filepath: str) -> Report:
        """Write the page aside and move it into place."""
        _engine.write_file(filepath, self.encode("utf-8"))
        return self

    def browse(self) -> Report:
        """Open the page in the default browser, from a temporary file."""
        import webbrowser

        handle, path = tempfile.mkstemp(suffix=".html")
        with open(handle, "w", encoding="utf-8") as file:
            file.write(self)
        webbrowser.open(f"file://{path}")
        return self


def build_report(tracker: ResourceTracker, historical_stats: Sequence[Dict[str, Any]], status_failed: bool) -> Report:
    resources = tracker.recommend_resources(historical_stats)
    advice = [
        f"Next time: {resources['cpu']} cores, {resources['memory']} MiB of memory, "
        f"{resources['gpu']} GPUs, {resources['vram']} MiB of VRAM"
    ]
    if status_failed:
        advice.insert(0, "This run failed; the next one may need more.")
    rows = tracker._rows()
    cloud = tracker.cloud_info or {}
    guidance = json.dumps({
        "lines": advice,
        "resources": resources,
        "allocation": allocation(rows["process"], rows["system"]),
        **{key: cloud[key] for key in ("vendor", "instance_type", "region") if key in cloud},
    })
    session = tracker._session
    page = _page_of_rows(tracker, guidance) if session is None else session.page(guidance)
    return Report(with_sections(page, tracker))


def _page_of_rows(tracker: ResourceTracker, guidance: str) -> str:
    """Of a restored tracker: a snapshot holds nothing but the rows."""
    from .server_info import get_server_info

    rows = tracker._rows()
    length = min(len(table) for table in rows.values() if table)
    kept = {kind: table[:length] for kind, table in rows.items() if table}
    stamps = [row["timestamp"] for row in next(iter(kept.values()))]
    begin = stamps[0] if tracker.start_time is None else min(tracker.start_time, stamps[0])
    columns: List[Tuple[str, List[Optional[int]]]] = []
    for metric, kind, names, factor, accumulates in _METRICS:
        if kind in kept:
            values = [_sum([row[name] for name in names], factor) for row in kept[kind]]
            columns.append((metric, [0, *_sums(values)] if accumulates else [None, *values]))
    cores = (tracker.server_info or {}).get("vcpus") or get_server_info()["vcpus"]
    return _engine.page_of_rows(
        pid=tracker.pid,
        started_unix_ns=round(begin * 1e9),
        system_cores=int(cores),
        t_ns=[0] + [round((stamp - begin) * 1e9) for stamp in stamps],
        columns=columns,
        guidance=guidance,
    )


def _sum(values: List[Optional[float]], factor: float) -> Optional[int]:
    known = [value for value in values if value is not None]
    return round(sum(known) * factor) if len(known) == len(values) else None


def _sums(values: List[Optional[int]]) -> List[Optional[int]]:
    total = 0
    sums: List[Optional[int]] = []
    for value in values:
        total += value or 0
        sums.append(None if value is None else total)
    return sums
