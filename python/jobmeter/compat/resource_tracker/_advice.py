"""What to ask for next time, from the statistics of this run and of earlier ones."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence

from .column_maps import SERVER_ALLOCATION_CHECKS
from .helpers import AliasDict, aggregate_stats


def recommend_resources(stats: Sequence[Mapping[str, Any]]) -> Dict[str, int]:
    """Average CPU, and 20 % above the largest memory and VRAM, rounded to what servers come with."""
    from ... import _engine

    runs = [AliasDict(run) for run in stats]
    wanted = ("process_cpu_usage", "process_memory_mib", "process_gpu_usage", "process_gpu_vram")
    joined = aggregate_stats([
        {column: {k: v for k, v in run[column].items() if k in ("mean", "max")} for column in wanted if column in run}
        for run in runs
    ])
    return _engine.recommend_resources(
        cores_mean=_of(joined, "process_cpu_usage", "mean"),
        memory_mib=_of(joined, "process_memory_mib", "max"),
        gpus_mean=_of(joined, "process_gpu_usage", "mean"),
        gpus_max=_of(joined, "process_gpu_usage", "max"),
        vram_mib=_of(joined, "process_gpu_vram", "max"),
    )


def _of(stats: Mapping[str, Mapping[str, float]], column: str, name: str) -> float:
    return float(stats[column][name]) if column in stats else 0.0


def recommend_server(resources: Mapping[str, int], filters: Mapping[str, Any]) -> Dict[str, Any]:
    """The cheapest match in the catalogue."""
    from ... import _engine

    return _engine.recommend_server(dict(resources), dict(filters))


def allocation(process: Sequence[Dict[str, Any]], system: Sequence[Dict[str, Any]]) -> str:
    """`dedicated` while the machine does little beyond the tracked processes, else `shared`.

    Either threshold is enough, as in the reference; `jobmeter advise` wants both.
    """
    if not process or not system:
        return "unknown"
    for check in SERVER_ALLOCATION_CHECKS:
        ours = _mean([row[str(check["process_column"])] for row in process])
        all_of_it = _mean([row[str(check["system_column"])] for row in system])
        if ours is None or all_of_it is None:
            return "unknown"
        percent, absolute = check["percent"], check["absolute"]
        assert isinstance(percent, (int, float)) and isinstance(absolute, (int, float))
        if all_of_it > ours * percent or all_of_it > ours + absolute:
            return "shared"
    return "dedicated"


def _mean(values: Sequence[Optional[float]]) -> Optional[float]:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
