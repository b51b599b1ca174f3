"""What to ask for next time, from the statistics of this run and of earlier ones."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping, Sequence

from .column_maps import SERVER_ALLOCATION_CHECKS
from .helpers import AliasDict, aggregate_stats, round_memory

_BUFFER = 1.2


def recommend_resources(stats: Sequence[Mapping[str, Any]]) -> Dict[str, int]:
    """Average CPU, and 20 % above the largest memory and VRAM, rounded to what servers come with."""
    runs = [AliasDict(run) for run in stats]
    wanted = ("process_cpu_usage", "process_memory_mib", "process_gpu_usage", "process_gpu_vram")
    joined = aggregate_stats([
        {column: {k: v for k, v in run[column].items() if k in ("mean", "max")} for column in wanted if column in run}
        for run in runs
    ])
    gpus = math.ceil(_of(joined, "process_gpu_usage", "max"))
    vram = _of(joined, "process_gpu_vram", "max")
    return {
        "cpu": max(1, math.floor(_of(joined, "process_cpu_usage", "mean") + 0.5)),
        "memory": round_memory(_of(joined, "process_memory_mib", "max") * _BUFFER),
        "gpu": gpus,
        "vram": round_memory(vram * _BUFFER) if vram > 0 else 0,
    }


def _of(stats: Mapping[str, Mapping[str, float]], column: str, name: str) -> float:
    return float(stats[column][name]) if column in stats else 0.0


def recommend_server(resources: Mapping[str, int], filters: Mapping[str, Any]) -> Dict[str, Any]:
    """The cheapest match in the catalogue."""
    from ... import _engine

    return _engine.recommend_server(dict(resources), dict(filters))


def allocation(process: Sequence[Dict[str, Any]], system: Sequence[Dict[str, Any]]) -> str:
    """`dedicated` while the machine does little beyond the tracked processes, else `shared`."""
    if not process or not system:
        return "unknown"
    for check in SERVER_ALLOCATION_CHECKS:
        ours = _mean([AliasDict(row)[str(check["process_column"])] for row in process])
        all_of_it = _mean([AliasDict(row)[str(check["system_column"])] for row in system])
        percent, absolute = check["percent"], check["absolute"]
        assert isinstance(percent, (int, float)) and isinstance(absolute, (int, float))
        if all_of_it > ours * percent and all_of_it > ours + absolute:
            return "shared"
    return "dedicated"


def _mean(values: List[float]) -> float:
    return sum(values) / len(values)
