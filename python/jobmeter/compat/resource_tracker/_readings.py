"""One-shot statistics of a process or the machine: levels, and counters since boot or birth."""

from __future__ import annotations

import time
from typing import Any, Dict

from ... import _engine
from . import _layout
from .helpers import AliasDict, known

_TICK_NS = 10_000_000
_SYSTEM_MEMORY = ("free", "used", "buffers", "cached", "active", "inactive")


def get_process_stats(pid: int, children: bool = True) -> Dict[str, Any]:
    """Current statistics of a process, and of its descendants when `children` is set.

    CPU times are in clock ticks, `memory` in KiB, `gpu_vram` in MiB; in the layout of release 0.5 in seconds and MiB.
    A missing process raises `ProcessLookupError`.
    """
    return AliasDict(_layout.shown(process_stats(pid, children), _layout.current()))


def get_system_stats() -> Dict[str, Any]:
    """Current statistics of the machine: CPU times in ticks, memory in KiB, the rest as named."""
    return AliasDict(_layout.shown(system_stats(), _layout.current()))


def process_stats(pid: int, children: bool) -> Dict[str, Any]:
    """The same in the layout of the reference page."""
    reading = _engine.process_reading(pid, children)
    return dict(
        timestamp=time.time(),
        pid=pid,
        children=int(known(reading["descendants"])) if children else None,
        utime=round(known(reading["cpu_user_ns"]) / _TICK_NS),
        stime=round(known(reading["cpu_system_ns"]) / _TICK_NS),
        memory=int(known(reading["rss_bytes"])) // 1024,
        disk_read_bytes=int(known(reading["read_storage_bytes"])),
        disk_write_bytes=int(known(reading["write_storage_bytes"])),
        gpu_usage=known(reading["gpu_busy_ppm"]) / 1e6,
        gpu_vram=known(reading["gpu_memory_bytes"]) / 1024**2,
        gpu_utilized=len(reading["gpu_indexes"]),
        gpu_utilized_indexes=set(reading["gpu_indexes"]),
    )


def system_stats() -> Dict[str, Any]:
    """The same in the layout of the reference page."""
    reading = _engine.system_reading()
    stats: Dict[str, Any] = {
        "timestamp": time.time(),
        "processes": int(known(reading["forks"])),
        "utime": round(known(reading["cpu_user_ns"]) / _TICK_NS),
        "stime": round(known(reading["cpu_system_ns"]) / _TICK_NS),
    }
    stats.update({f"memory_{n}": int(known(reading[f"memory_{n}_bytes"])) // 1024 for n in _SYSTEM_MEMORY})
    stats["disk_stats"] = reading["disks"]
    stats["disk_spaces"] = reading["mounts"]
    stats["net_recv_bytes"] = int(known(reading["net_receive_bytes"]))
    stats["net_sent_bytes"] = int(known(reading["net_transmit_bytes"]))
    stats["gpu_usage"] = known(reading["gpu_busy_ppm"]) / 1e6
    stats["gpu_vram"] = known(reading["gpu_memory_bytes"]) / 1024**2
    stats["gpu_utilized"] = int(known(reading["gpu_utilized"]))
    return stats
