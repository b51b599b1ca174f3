"""The data classes of a tracker's result, and how they print."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List


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


# Keys whose label is not simply the key with spaces and a capital letter.
_LABELS = {
    "max_ram": "Max RAM",
    "max_gpu_ram": "Max GPU RAM",
    "cpu_utilization": "CPU utilization",
    "gpu_utilization": "GPU utilization",
    "gpu_percentages": "GPU percentages",
    "system_gpu_count": "System GPU count",
    "n_expected_cores": "Number of expected cores",
    "n_expected_gpus": "Number of expected GPUs",
    "main_n_threads": "Main number of threads",
    "descendants_n_threads": "Descendants number of threads",
    "descendents_n_threads": "Descendents number of threads",
    "combined_n_threads": "Combined number of threads",
    "total_rss": "Total RSS",
    "private_rss": "Private RSS",
    "shared_rss": "Shared RSS",
}


def label(key: str) -> str:
    return _LABELS.get(key) or key.replace("_", " ").capitalize()


def render(tree: Dict[str, Any], depth: int = 0) -> List[str]:
    """Lines of the text report: three spaces a level, floats to three places."""
    lines: List[str] = []
    for key, value in tree.items():
        lead = "   " * depth + label(key) + ":"
        if isinstance(value, dict):
            lines.append(lead)
            lines.extend(render(value, depth + 1))
        else:
            lines.append(f"{lead} {round(value, 3) if isinstance(value, float) else value}")
    return lines


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
