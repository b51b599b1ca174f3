"""Snapshots of other releases: 0.4 and 0.5 of the original, and our own in either layout.

Whatever wrote them, rows and server facts are brought to the layout of the reference page.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ._layout import NEWER, REFERENCE, TICKS_PER_S
from .column_maps import PROCESS_COLUMNS, SYSTEM_COLUMNS
from .server_info import ServerInfo

_MIB_PER_GB, _MIB_PER_GIB = 1e9 / 1024**2, 1024
Row = Dict[str, Any]


def rows_of(snapshot: Mapping[str, Any], kind: str) -> List[Row]:
    """The rows of `process` or `system` in the columns of the reference page."""
    found = snapshot.get(f"{kind}_metrics")
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ValueError(f"the snapshot has no list of {kind}_metrics; it was not written by a ResourceTracker")
    wrote = snapshot["metadata"].get("resource_tracker") or {}
    ours = wrote.get("implementation") == "jobmeter"
    in_ticks = ours and wrote.get("layout", REFERENCE) != NEWER
    # Release 0.4 counted GiB under the name of GB.
    gib = not ours and str(wrote.get("version", "")).startswith(("0.1", "0.2", "0.3", "0.4"))
    wanted = PROCESS_COLUMNS if kind == "process" else SYSTEM_COLUMNS
    return [{name: _value(row, name, in_ticks, gib) for name in wanted} for row in found]


def _value(row: Row, name: str, in_ticks: bool, gib: bool) -> Any:
    if name.startswith("memory") and name not in row:
        return _times(row.get(f"{name}_mib"), 1024, whole=True)
    if name in ("utime", "stime") and not in_ticks:
        return _times(row.get(name), TICKS_PER_S, whole=True)
    if name.startswith("disk_space_") and gib:
        return _times(row.get(name), _MIB_PER_GIB / _MIB_PER_GB)
    if name == "gpu_vram" and name not in row:
        return row.get("gpu_vram_mib")
    if name in ("disk_read_bytes", "disk_write_bytes") and name not in row:
        return row.get(name[len("disk_") :])
    return row.get(name)


def _times(value: Optional[float], factor: float, whole: bool = False) -> Optional[float]:
    if value is None:
        return None
    return round(value * factor) if whole else round(value * factor, 2)


def server_of(facts: Optional[Mapping[str, Any]]) -> Optional[ServerInfo]:
    """Server facts of any release under the names of all of them; unknown is `None`."""
    if facts is None:
        return None
    memory = _first(facts, ("memory_mib", "memory_mb"))
    vram = _first(facts, ("gpu_memory_mib", "gpu_memory_mb"))
    known = {"vcpus": None, "gpu_count": None, "gpu_names": [], "os": None, "gpu_name": "", **facts}
    known.update(memory_mb=memory, memory_mib=memory, gpu_memory_mb=vram, gpu_memory_mib=vram)
    info = ServerInfo(known)
    if "allocation" in facts:
        info["allocation"] = facts["allocation"]
    return info


def _first(facts: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((facts[name] for name in names if facts.get(name) is not None), None)
