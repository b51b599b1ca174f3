"""Rows in the columns of the CSV files, from the samples of a session or from two readings."""

from __future__ import annotations

from typing import Any, Dict, List

from .._series import Series, differences
from .helpers import known

_TICK_NS = 10_000_000
_SYSTEM_MEMORY = ("free", "used", "buffers", "cached", "active", "inactive")
Row = Dict[str, Any]


def _ticks(series: Series, name: str) -> List[int]:
    """CPU time since the row before in clock ticks of 10 ms, the unit of the reference.

    The total is rounded and not each difference, so that the ticks of all rows add up to the total.
    """
    totals = [None if ns is None else round(ns / _TICK_NS) for ns in series.column(name)]
    return [int(known(ticks)) for ticks in differences(totals)]


def system_rows(series: Series, forks_before: int) -> List[Row]:
    """One row per interval of the whole machine."""
    user, system = _ticks(series, "system_cpu_user_ns"), _ticks(series, "system_cpu_system_ns")
    cores = series.rates("system_cpu_ns")
    memory = {n: series.column(f"system_memory_{n}_bytes") for n in _SYSTEM_MEMORY}
    moved = {
        column: series.deltas(name)
        for column, name in (
            ("disk_read_bytes", "system_disk_read_bytes"),
            ("disk_write_bytes", "system_disk_write_bytes"),
            ("net_recv_bytes", "system_net_receive_bytes"),
            ("net_sent_bytes", "system_net_transmit_bytes"),
        )
    }
    space = {n: series.total(series.entities(f"system_mount_{n}_bytes")) for n in ("total", "used", "free")}
    gpu = _gpu_columns(series, "system")
    forks = series.column("system_forks")
    rows = []
    for i in range(1, len(series)):
        row: Row = {
            "timestamp": series.unix_s[i],
            "processes": forks_before + int(known(forks[i])),
            "utime": user[i],
            "stime": system[i],
            "cpu_usage": round(known(cores[i]), 4),
        }
        row.update({f"memory_{n}": int(known(memory[n][i])) // 1024 for n in _SYSTEM_MEMORY})
        row.update({c: int(known(moved[c][i])) for c in ("disk_read_bytes", "disk_write_bytes")})
        row.update({f"disk_space_{n}_gb": round(known(space[n][i]) / 1e9, 2) for n in ("total", "used", "free")})
        row.update({c: int(known(moved[c][i])) for c in ("net_recv_bytes", "net_sent_bytes")})
        row.update({c: values[i] for c, values in gpu.items()})
        rows.append(row)
    return rows


def process_rows(series: Series, pid: int, children: bool) -> List[Row]:
    """One row per interval of the tracked process, its descendants included when asked for."""
    scope = "combined" if children else "main"
    user, system = _ticks(series, f"{scope}_cpu_user_ns"), _ticks(series, f"{scope}_cpu_system_ns")
    cores = series.rates(f"{scope}_cpu_ns")
    memory = series.column(f"{scope}_rss_bytes")
    read = series.deltas(f"{scope}_read_storage_bytes")
    written = series.deltas(f"{scope}_write_storage_bytes")
    count = series.column("descendants_processes")
    gpu = _gpu_columns(series, scope)
    rows = []
    for i in range(1, len(series)):
        row: Row = {
            "timestamp": series.unix_s[i],
            "pid": pid,
            "children": int(known(count[i])) if children else None,
            "utime": user[i],
            "stime": system[i],
            "cpu_usage": round(known(cores[i]), 4),
            "memory": int(known(memory[i])) // 1024,
            "disk_read_bytes": int(known(read[i])),
            "disk_write_bytes": int(known(written[i])),
        }
        row.update({c: values[i] for c, values in gpu.items()})
        rows.append(row)
    return rows


def _gpu_columns(series: Series, scope: str) -> Dict[str, List[float]]:
    devices = series.entities(f"{scope}_gpu_busy_ppm")
    busy = series.total(devices) if devices else series.column(f"{scope}_gpu_busy_ppm")
    memory_names = series.entities(f"{scope}_gpu_memory_bytes")
    memory = series.total(memory_names) if memory_names else series.column(f"{scope}_gpu_memory_bytes")
    columns = [series.column(name) for name in devices]
    used = [sum(1 for c in columns if known(c[i]) > 0) for i in range(len(series))]
    return {
        "gpu_usage": [round(known(v) / 1e6, 4) for v in busy],
        "gpu_vram": [round(known(v) / 1024**2, 4) for v in memory],
        "gpu_utilized": [float(n) if n != int(n) else int(n) for n in used],
    }
