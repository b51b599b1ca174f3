"""Statistics under the name of the procfs implementation; the engine reads procfs itself."""

from ._readings import get_process_stats, get_system_stats

__all__ = ["get_process_stats", "get_system_stats"]
