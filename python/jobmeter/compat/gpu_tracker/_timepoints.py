"""From a session to a `ResourceUsage` and to the rows of a tracking file."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

from .._series import Series, figure, or_zero
from .usage import (
    ComputeTime,
    CPUUtilization,
    GPUUtilization,
    MaxGPURAM,
    MaxRAM,
    ProcessingUnitPercentages,
    ResourceUsage,
    RSSValues,
)

if TYPE_CHECKING:
    from ... import _engine

# Decimal units, as multiplied onto bytes and seconds.
MEMORY_UNITS = {"bytes": 1.0, "kilobytes": 1e-3, "megabytes": 1e-6, "gigabytes": 1e-9, "terabytes": 1e-12}
TIME_UNITS = {"seconds": 1.0, "minutes": 1 / 60, "hours": 1 / 3600, "days": 1 / 86400}
SCOPES = ("main", "descendants", "combined")
Row = Dict[str, Union[int, float]]


@dataclasses.dataclass
class StaticData:
    """What does not change while tracking; the first table of a tracking file."""

    ram_unit: str
    gpu_ram_unit: str
    time_unit: str
    ram_system_capacity: float
    gpu_ram_system_capacity: float
    system_core_count: int
    n_expected_cores: int
    system_gpu_count: int
    n_expected_gpus: int

    def empty_usage(self) -> ResourceUsage:
        return ResourceUsage(
            max_ram=MaxRAM(self.ram_unit, self.ram_system_capacity),
            max_gpu_ram=MaxGPURAM(self.gpu_ram_unit, self.gpu_ram_system_capacity),
            cpu_utilization=CPUUtilization(self.system_core_count, self.n_expected_cores),
            gpu_utilization=GPUUtilization(self.system_gpu_count, self.n_expected_gpus),
            compute_time=ComputeTime(self.time_unit),
        )


def percentages(peak_cores: float, mean_cores: float, units: int) -> ProcessingUnitPercentages:
    peak, mean = peak_cores * 100, mean_cores * 100
    divisor = units or 1
    return ProcessingUnitPercentages(peak, peak / divisor, mean, mean / divisor)


def usage(static: StaticData, summary: Dict[str, Any], rows: Sequence[Row]) -> ResourceUsage:
    """Fill in the result. Peaks and means are the engine's own; GPUs follow from the rows."""
    result = static.empty_usage()
    scale = MEMORY_UNITS[static.ram_unit]
    gpu_scale = MEMORY_UNITS[static.gpu_ram_unit]
    system = summary["system"]
    result.max_ram.system = or_zero(figure(system, "memory_used_bytes_max")) * scale
    result.max_gpu_ram.system = max((float(r["system_gpu_ram"]) for r in rows), default=0.0)
    cpu = result.cpu_utilization
    cpu.system = percentages(
        or_zero(figure(system, "cores_used_max")),
        or_zero(figure(system, "cores_used_mean")),
        static.system_core_count,
    )
    for scope in SCOPES:
        figures = summary[scope]
        setattr(result.max_ram, scope, RSSValues(*(
            or_zero(figure(figures, key)) * scale
            for key in ("rss_bytes_max", "rss_private_bytes_max", "rss_shared_bytes_max")
        )))
        setattr(result.max_gpu_ram, scope, or_zero(figure(figures, "gpu_memory_bytes_max")) * gpu_scale)
        setattr(cpu, scope, percentages(
            or_zero(figure(figures, "cores_used_max")),
            or_zero(figure(figures, "cores_used_mean")),
            static.n_expected_cores,
        ))
        setattr(cpu, scope + "_n_threads", int(or_zero(figure(figures, "threads_max"))))
    busy = [float(r["gpu_sum_utilization_percent"]) / 100 for r in rows]
    if busy:
        result.gpu_utilization.gpu_percentages = percentages(
            max(busy), sum(busy) / len(busy), static.n_expected_gpus
        )
    wall_ns = summary["run"].get("wall_ns") or 0
    result.compute_time.time = wall_ns / 1e9 * TIME_UNITS[static.time_unit]
    return result


def timepoints(recording: _engine.Recording, static: StaticData, uuids: Optional[Sequence[str]]) -> List[Row]:
    """One row per interval, with the columns of a tracking file and in their order."""
    return series_rows(Series.of(recording), static, uuids)


def series_rows(series: Series, static: StaticData, uuids: Optional[Sequence[str]]) -> List[Row]:
    """The rows of a part of a run; the first sample only serves to take differences from."""
    columns: List[Tuple[str, List[Any]]] = []
    _memory(series, static, columns)
    _gpu(series, static, uuids, columns)
    for scope in SCOPES:
        threads = series.column(f"{scope}_threads")
        columns.append((f"{scope}_n_threads", [int(or_zero(v)) for v in threads]))
    _cpu(series, static, columns)
    columns.append(("timestamp", series.unix_s))
    names = [name for name, _ in columns]
    # Row 0 has levels but no interval yet.
    return [dict(zip(names, values)) for values in zip(*(c for _, c in columns))][1:]


def _memory(series: Series, static: StaticData, columns: List[Tuple[str, List[Any]]]) -> None:
    scale = MEMORY_UNITS[static.ram_unit]
    for scope in SCOPES:
        columns.append((f"{scope}_ram", _scaled(series.column(f"{scope}_rss_bytes"), scale)))
    columns.append(("system_ram", _scaled(series.column("system_memory_used_bytes"), scale)))


def _gpu(
    series: Series, static: StaticData, uuids: Optional[Sequence[str]], columns: List[Tuple[str, List[Any]]]
) -> None:
    scale = MEMORY_UNITS[static.gpu_ram_unit]
    for scope in SCOPES:
        columns.append((f"{scope}_gpu_ram", _scaled(series.column(f"{scope}_gpu_memory_bytes"), scale)))
    used = series.column("system_gpu_memory_bytes")
    if not series.has("system_gpu_memory_bytes"):
        used = series.total(series.entities("system_gpu_memory_bytes"))
    columns.append(("system_gpu_ram", _scaled(used, scale)))
    busy = series.total(series.entities("system_gpu_busy_ppm", uuids))
    sums = _scaled(busy, 1e-4)
    columns.append(("gpu_sum_utilization_percent", sums))
    divisor = static.n_expected_gpus or 1
    columns.append(("gpu_hardware_utilization_percent", [v / divisor for v in sums]))


def _cpu(series: Series, static: StaticData, columns: List[Tuple[str, List[Any]]]) -> None:
    for scope in ("system",) + SCOPES:
        divisor = static.system_core_count if scope == "system" else static.n_expected_cores
        sums = _scaled(series.rates(f"{scope}_cpu_ns"), 100.0)
        columns.append((f"cpu_{scope}_sum_utilization_percent", sums))
        columns.append((f"cpu_{scope}_hardware_utilization_percent", [v / (divisor or 1) for v in sums]))


def _scaled(values: Sequence[Optional[float]], factor: float) -> List[float]:
    return [or_zero(v) * factor for v in values]
