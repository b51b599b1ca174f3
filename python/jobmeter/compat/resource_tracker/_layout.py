"""The two layouts of rows: that of the reference page, and that of release 0.5.

Rows are made in the layout of the reference page (CPU time in ticks, memory in KiB). That of 0.5 names its units
(`memory_mib`) and has CPU time in seconds. Which one is shown is chosen by `jobmeter.compat.install` or by the
environment variable `JOBMETER_RESOURCE_TRACKER`, for the whole program.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional, Sequence

VARIABLE = "JOBMETER_RESOURCE_TRACKER"
REFERENCE, NEWER = "reference", "0.5"
TICKS_PER_S = 100
Row = Dict[str, Any]

_chosen: Optional[str] = None
_fallback = REFERENCE
_MEMORY = ("memory", *(f"memory_{n}" for n in ("free", "used", "buffers", "cached", "active", "inactive")))
_NAMES = {**{name: f"{name}_mib" for name in _MEMORY}, "gpu_vram": "gpu_vram_mib"}


def check(name: str) -> str:
    """The layout of a release; `ValueError` for one that is not known."""
    if name == REFERENCE:
        return REFERENCE
    if name == NEWER or name.startswith(NEWER + "."):
        return NEWER
    raise ValueError(f'"{name}" is no layout of resource_tracker. Valid values are "{REFERENCE}" and "{NEWER}".')


def choose(name: Optional[str]) -> None:
    """Choose for this program; `None` leaves it to the environment variable."""
    global _chosen
    _chosen = None if name is None else check(name)


def current() -> str:
    return _chosen or check(os.environ.get(VARIABLE) or _fallback)


@contextmanager
def fallback(layout: str) -> Iterator[None]:
    """Inside, the layout where neither the program nor the environment chose one."""
    global _fallback
    before, _fallback = _fallback, layout
    try:
        yield
    finally:
        _fallback = before


def column(name: str, layout: str) -> str:
    """The name of a column, with or without its prefix, in a layout."""
    if layout == REFERENCE:
        return name
    for prefix in ("", "system_", "process_"):
        if name.startswith(prefix) and name[len(prefix) :] in _NAMES:
            return prefix + _NAMES[name[len(prefix) :]]
    return name


def columns(names: Sequence[str], layout: str) -> List[str]:
    return [column(name, layout) for name in names]


def shown(row: Row, layout: str) -> Row:
    """A row of the reference layout in the wanted one."""
    if layout == REFERENCE:
        return row
    return {_NAMES.get(name, name): _newer_value(name, value) for name, value in row.items()}


def _newer_value(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _MEMORY:
        return round(value / 1024, 4)
    return value / TICKS_PER_S if name in ("utime", "stime") else value
