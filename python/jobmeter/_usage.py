"""What a run needed, as data classes. Names and units are those of the summary's JSON.

Unknown is `None`, never 0; `usage.quality` says of each figure how true it is and why one is missing.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Dict, List, Mapping, Optional, Tuple, Type, TypeVar

from ._format import format_value

_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class Figure:
    """A number and how true it is: `exact`, `sampled`, `lower_bound`, `estimate` or `unavailable`."""

    value: Optional[float]
    quality: str
    lower: Optional[float] = None
    upper: Optional[float] = None
    reason: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class RamScope:
    """Resident memory; shared pages are counted once across the processes of the scope."""

    rss_bytes_max: Optional[int]
    rss_bytes_mean: Optional[float]
    rss_private_bytes_max: Optional[int]
    rss_shared_bytes_max: Optional[int]
    rss_sum_bytes_max: Optional[int]
    swap_bytes_max: Optional[int]


@dataclasses.dataclass(frozen=True)
class SystemRam:
    memory_total_bytes_max: Optional[int]
    memory_used_bytes_max: Optional[int]
    memory_used_bytes_mean: Optional[float]
    swap_bytes_max: Optional[int]


@dataclasses.dataclass(frozen=True)
class Ram:
    main: RamScope
    descendants: RamScope
    combined: RamScope
    system: SystemRam


@dataclasses.dataclass(frozen=True)
class GpuRamScope:
    gpu_memory_bytes_max: Optional[int]
    gpu_memory_bytes_mean: Optional[float]


@dataclasses.dataclass(frozen=True)
class GpuRam:
    main: GpuRamScope
    descendants: GpuRamScope
    combined: GpuRamScope
    system: GpuRamScope


@dataclasses.dataclass(frozen=True)
class CpuScope:
    """`cores_used` counts whole cores; `hardware_ratio` divides it by the cores that were expected."""

    cpu_ns: Optional[int]
    cpu_user_ns: Optional[int]
    cpu_system_ns: Optional[int]
    cores_used_max: Optional[float]
    cores_used_mean: Optional[float]
    hardware_ratio_max: Optional[float]
    hardware_ratio_mean: Optional[float]
    processes_max: Optional[int]
    threads_max: Optional[int]


@dataclasses.dataclass(frozen=True)
class Cpu:
    system_cores: int
    expected_cores: float
    main: CpuScope
    descendants: CpuScope
    combined: CpuScope
    system: CpuScope


@dataclasses.dataclass(frozen=True)
class GpuDevice:
    """One device; `facts` holds what does not change, such as its model."""

    uuid: str
    gpu_busy_ppm_max: Optional[int]
    gpu_busy_ppm_mean: Optional[float]
    gpu_memory_bytes_max: Optional[int]
    gpu_memory_total_bytes_max: Optional[int]
    gpu_power_mw_max: Optional[int]
    gpu_energy_uj: Optional[int]
    gpu_temperature_mc_max: Optional[int]
    facts: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Gpu:
    devices: Tuple[GpuDevice, ...]


@dataclasses.dataclass(frozen=True)
class IoScope:
    """`chars` counts what read and write calls moved, `storage` what reached block storage."""

    read_chars_bytes: Optional[int]
    write_chars_bytes: Optional[int]
    read_storage_bytes: Optional[int]
    write_storage_bytes: Optional[int]


@dataclasses.dataclass(frozen=True)
class SystemIo:
    disk_read_bytes: Optional[int]
    disk_write_bytes: Optional[int]


@dataclasses.dataclass(frozen=True)
class Io:
    main: IoScope
    descendants: IoScope
    combined: IoScope
    system: SystemIo


@dataclasses.dataclass(frozen=True)
class Network:
    """Of the machine (its network namespace), never of the job alone."""

    net_receive_bytes: Optional[int]
    net_transmit_bytes: Optional[int]


@dataclasses.dataclass(frozen=True)
class Time:
    started_unix_ns: int
    wall_ns: Optional[int]
    ticks: int
    late_ticks: int
    skipped_ticks: int


@dataclasses.dataclass(frozen=True)
class Usage:
    """The figures of a run, by resource and then by scope."""

    ram: Ram
    gpu_ram: GpuRam
    cpu: Cpu
    gpu: Gpu
    io: Io
    network: Network
    time: Time
    quality: Mapping[str, Figure]

    def __str__(self) -> str:
        """A short tree of what is known, in units for people; `repr` has every field."""
        fields = [(field.name, getattr(self, field.name)) for field in dataclasses.fields(self)]
        return "\n".join(line for field in fields for line in _branch(*field))


_UNITS = {
    "_bytes_per_s": "bytes_per_second",
    "_ns_per_s": "nanos_per_second",
    "_bytes": "bytes",
    "_ns": "nanos",
    "_ppm": "ppm",
    "_ratio": "ratio",
    "cores_used": "cores",
}


def _leaf(name: str, value: Any) -> str:
    stem = re.sub(r"_(max|mean|total)$", "", name)
    unit = next((unit for ending, unit in _UNITS.items() if stem.endswith(ending)), "count")
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{name} {format_value(value, unit) if is_number else value}"


def _branch(name: str, value: Any, depth: int = 0) -> List[str]:
    """The lines of a data class: its own known values behind its name, its parts below. The grades stay out."""
    if not dataclasses.is_dataclass(value):
        return []
    parts = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    # A moment is no amount.
    shown = [part for part in parts if isinstance(part[1], (int, float, str)) and part[0] != "started_unix_ns"]
    leaves = [_leaf(*part) for part in shown]
    below = [line for part in parts for line in _branch(*part, depth + 1)]
    if not leaves and not below:
        return []
    return [f"{'  ' * depth}{name}{': ' if leaves else ''}{', '.join(leaves)}", *below]


def usage_from(summary: Mapping[str, Any]) -> Usage:
    """Read the data classes out of a summary."""
    run = summary["run"]
    scopes = {name: summary[name] for name in ("main", "descendants", "combined", "system")}
    job = ("main", "descendants", "combined")
    return Usage(
        ram=Ram(**{s: _pick(RamScope, scopes[s]) for s in job}, system=_pick(SystemRam, scopes["system"])),
        gpu_ram=GpuRam(**{s: _pick(GpuRamScope, figures) for s, figures in scopes.items()}),
        cpu=Cpu(
            run["system_cores"],
            run["expected_cores"],
            **{s: _pick(CpuScope, figures) for s, figures in scopes.items()},
        ),
        gpu=Gpu(tuple(_device(entry) for entry in summary.get("gpus", []))),
        io=Io(**{s: _pick(IoScope, scopes[s]) for s in job}, system=_pick(SystemIo, scopes["system"])),
        network=_pick(Network, scopes["system"]),
        time=Time(
            run["started_unix_ns"],
            run.get("wall_ns"),
            run.get("ticks", 0),
            run.get("late_ticks", 0),
            run.get("skipped_ticks", 0),
        ),
        quality={
            f"{scope}.{key}": Figure(**entry) for scope, figures in scopes.items() for key, entry in figures.items()
        },
    )


def _pick(kind: Type[_T], figures: Mapping[str, Any]) -> _T:
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    return kind(**{f.name: figures.get(f.name, {}).get("value") for f in fields})


def _device(entry: Mapping[str, Any]) -> GpuDevice:
    figures = entry["figures"]
    names = [f.name for f in dataclasses.fields(GpuDevice) if f.name.startswith("gpu_")]
    values: Dict[str, Any] = {name: figures.get(name, {}).get("value") for name in names}
    return GpuDevice(uuid=entry["name"], facts=entry.get("facts", {}), **values)
