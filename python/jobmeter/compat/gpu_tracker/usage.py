"""The data classes of a tracker's result."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict


@dataclasses.dataclass
class RSSValues:
    """Resident memory in the unit of its owner."""

    total_rss: float = 0.0
    private_rss: float = 0.0
    shared_rss: float = 0.0


@dataclasses.dataclass
class MaxRAM:
    unit: str
    system_capacity: float
    system: float = 0.0
    main: RSSValues = dataclasses.field(default_factory=RSSValues)
    descendants: RSSValues = dataclasses.field(default_factory=RSSValues)
    combined: RSSValues = dataclasses.field(default_factory=RSSValues)

    @property
    def descendents(self) -> RSSValues:
        """Older spelling of `descendants`."""
        return self.descendants


@dataclasses.dataclass
class MaxGPURAM:
    unit: str
    system_capacity: float = 0.0
    system: float = 0.0
    main: float = 0.0
    descendants: float = 0.0
    combined: float = 0.0

    @property
    def descendents(self) -> float:
        """Older spelling of `descendants`."""
        return self.descendants


@dataclasses.dataclass
class ProcessingUnitPercentages:
    """`sum` adds the units up; `hardware` divides that by the number of expected units."""

    max_sum_percent: float = 0.0
    max_hardware_percent: float = 0.0
    mean_sum_percent: float = 0.0
    mean_hardware_percent: float = 0.0


@dataclasses.dataclass
class CPUUtilization:
    system_core_count: int
    n_expected_cores: int
    system: ProcessingUnitPercentages = dataclasses.field(default_factory=ProcessingUnitPercentages)
    main: ProcessingUnitPercentages = dataclasses.field(default_factory=ProcessingUnitPercentages)
    descendants: ProcessingUnitPercentages = dataclasses.field(default_factory=ProcessingUnitPercentages)
    combined: ProcessingUnitPercentages = dataclasses.field(default_factory=ProcessingUnitPercentages)
    main_n_threads: int = 0
    descendants_n_threads: int = 0
    combined_n_threads: int = 0

    @property
    def descendents(self) -> ProcessingUnitPercentages:
        """Older spelling of `descendants`."""
        return self.descendants

    @property
    def descendents_n_threads(self) -> int:
        """Older spelling of `descendants_n_threads`."""
        return self.descendants_n_threads


@dataclasses.dataclass
class GPUUtilization:
    system_gpu_count: int
    n_expected_gpus: int
    gpu_percentages: ProcessingUnitPercentages = dataclasses.field(default_factory=ProcessingUnitPercentages)


@dataclasses.dataclass
class ComputeTime:
    unit: str
    time: float = 0.0


@dataclasses.dataclass
class ResourceUsage:
    max_ram: MaxRAM
    max_gpu_ram: MaxGPURAM
    cpu_utilization: CPUUtilization
    gpu_utilization: GPUUtilization
    compute_time: ComputeTime


_PARTS: Dict[str, type] = {
    "max_ram": MaxRAM,
    "max_gpu_ram": MaxGPURAM,
    "cpu_utilization": CPUUtilization,
    "gpu_utilization": GPUUtilization,
    "compute_time": ComputeTime,
}


def usage_of(tree: Dict[str, Dict[str, Any]]) -> ResourceUsage:
    """The data classes of a usage in its JSON form."""
    return ResourceUsage(**{key: _PARTS[key](**{k: _part(v) for k, v in part.items()}) for key, part in tree.items()})


def _part(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return RSSValues(**value) if "total_rss" in value else ProcessingUnitPercentages(**value)


SPELLINGS = ("descendants", "descendents")


def check_spelling(spelling: str) -> None:
    if spelling not in SPELLINGS:
        raise ValueError(f'"{spelling}" is not a valid spelling. Valid values are {", ".join(SPELLINGS)}')


def spelled(tree: Dict[str, Any], spelling: str) -> Dict[str, Any]:
    """The same tree with the keys of the first releases, or of the later ones."""
    check_spelling(spelling)
    return {
        key.replace(SPELLINGS[0], spelling): spelled(value, spelling) if isinstance(value, dict) else value
        for key, value in tree.items()
    }
