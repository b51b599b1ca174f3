"""Comparison of several tracking sessions by one statistic."""

from __future__ import annotations

import logging
from typing import Dict, Mapping

from ... import _gpu_tracker
from ._results import ComparisonResults, SubTrackingResults, load_results


class TrackingComparison:
    """Loads the results of several sessions and puts them side by side.

    Code blocks are matched by name, or by order where names differ in the line number only.
    """

    def __init__(self, file_path_map: Mapping[str, str]) -> None:
        self.results_map: Dict[str, SubTrackingResults] = {
            name: load_results(path) for name, path in file_path_map.items()
        }
        self._sessions = [(name, results.to_json()) for name, results in self.results_map.items()]
        _, warnings = _gpu_tracker.compare(self._sessions, "mean")
        for text in warnings:
            logging.warning(text)

    def compare(self, statistic: str = "mean") -> ComparisonResults:
        """Compare by `min`, `max`, `mean` or `std`."""
        found, _ = _gpu_tracker.compare(self._sessions, statistic)
        return ComparisonResults(**found)
