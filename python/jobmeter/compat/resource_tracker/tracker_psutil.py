"""Statistics under the name of the psutil implementation; psutil itself is not needed."""

from ._readings import get_process_stats, get_system_stats

__all__ = ["get_process_stats", "get_system_stats"]
