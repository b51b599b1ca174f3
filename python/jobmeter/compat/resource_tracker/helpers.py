"""Small helpers: dictionaries with aliases, CSV rows, statistics of several runs, files and processes to end."""

from __future__ import annotations

import csv
import importlib.util
import io
import os
from contextlib import suppress
from multiprocessing.process import BaseProcess
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from .column_maps import resolve_alias


class AliasDict(Dict[str, Any]):
    """A dictionary of figures that also answers to the column names of other releases."""

    def __missing__(self, key: str) -> Any:
        found = resolve_alias(key, self.keys())
        if found is None:
            raise KeyError(key)
        column, convert = found
        value = self[column]
        if isinstance(value, dict):
            return {name: convert(v) for name, v in value.items()}
        return None if value is None else convert(value)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or (
            isinstance(key, str) and resolve_alias(key, self.keys()) is not None
        )

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default


def render_csv_row(
    row: Iterable[Union[str, float, int, None]], quoting: int = csv.QUOTE_NONNUMERIC
) -> bytes:
    """One CSV row with its line end."""
    text = io.StringIO(newline="")
    csv.writer(text, quoting=quoting, lineterminator="\n").writerow(row)  # type: ignore[arg-type]
    return text.getvalue().encode()


def aggregate_stats(stats: Sequence[Dict[str, Dict[str, Any]]]) -> Dict[str, Dict[str, Any]]:
    """Join the statistics of several runs: `mean` and `duration` averaged, `max` and `sum` at their largest."""
    gathered: Dict[str, Dict[str, List[float]]] = {}
    for run in stats:
        for column, figures in run.items():
            for name, value in figures.items():
                gathered.setdefault(column, {}).setdefault(name, []).append(value)
    return AliasDict(
        {c: {n: _joined(n, values) for n, values in figures.items()} for c, figures in gathered.items()}
    )


def _joined(name: str, values: List[float]) -> float:
    if name in ("mean", "duration"):
        return sum(values) / len(values)
    if name in ("max", "sum"):
        return max(values)
    raise ValueError(f"Unsupported aggregation type: {name}")


def round_memory(mib: Union[int, float]) -> int:
    """Round up to an amount of memory that servers come with: 128, 256, 512 MiB, then whole GiB."""
    for step in (128, 256, 512):
        if mib <= step:
            return step
    return int(-(-mib // 1024)) * 1024


def known(value: Optional[float]) -> float:
    """The interface prints 0 for what is unknown."""
    return 0 if value is None else value


def is_psutil_available() -> bool:
    """Whether psutil could be imported; nothing here needs it."""
    return importlib.util.find_spec("psutil") is not None


def is_procfs_available() -> bool:
    """Whether `/proc` can be read."""
    return os.access("/proc/self/stat", os.R_OK)


def is_partition(disk_name: str) -> bool:
    """Whether a block device is a part of another one, as the kernel says."""
    return "/" not in disk_name and os.path.exists(f"/sys/class/block/{disk_name}/partition")


def get_tracker_implementation() -> Tuple[Callable[..., Any], Callable[[], Any]]:
    """`get_process_stats` and `get_system_stats`; there is one implementation."""
    from ._readings import get_process_stats, get_system_stats

    return get_process_stats, get_system_stats


def get_zfs_pools_space() -> Dict[str, Dict[str, int]]:
    """Always empty: file systems of ZFS are among the mounts that are counted; pools are not asked."""
    return {}


def cleanup_files(files: List[str]) -> None:
    """Remove files; one that is not there or cannot be removed is left."""
    for path in files:
        with suppress(OSError):
            os.unlink(path)


def cleanup_processes(processes: List[BaseProcess]) -> None:
    """End processes: asked to first, forced to after a second."""
    for process in processes:
        # A process that was never started, or that is closed already, raises one of these.
        with suppress(AssertionError, AttributeError, ValueError):
            for end in (process.terminate, process.kill):
                if process.is_alive():
                    end()
                    process.join(timeout=1.0)
            process.close()
