"""Statistics of a tracking file, overall and inside the code blocks of a sub-tracking file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, List, Optional, Sequence, Tuple

from ... import _gpu_tracker
from ._files import check_extension
from ._results import SubTrackingResults, frame, results_of

if TYPE_CHECKING:
    import pandas as pd

Pair = Tuple[float, float]


class SubTrackingAnalyzer:
    """Joins a tracking file with a sub-tracking file."""

    def __init__(self, tracking_file: Optional[str], sub_tracking_file: str) -> None:
        for path in (tracking_file, sub_tracking_file):
            if path is not None:
                check_extension(path)
        self._tracking_file = tracking_file
        self._sub_tracking_file = sub_tracking_file

    def _tracked(self) -> str:
        if self._tracking_file is None:
            raise ValueError("A tracking file is needed for this; pass tracking_file to the analyzer.")
        return self._tracking_file

    def read_static_data(self) -> pd.Series:
        """Units and capacities of the tracking session."""
        import pandas as pd

        return pd.Series(_gpu_tracker.static_data(self._tracked()), dtype=object)

    def load_code_block_names(self) -> List[str]:
        return _gpu_tracker.code_blocks(self._sub_tracking_file)

    def combine_sub_tracking_files(self, files: Sequence[str]) -> None:
        """Join files written by several processes into the sub-tracking file of this analyzer."""
        _gpu_tracker.combine(self._sub_tracking_file, [os.fspath(path) for path in files])

    def load_timestamp_pairs(self, code_block_name: str) -> List[Pair]:
        """Start and stop of each call, by process and in order of time."""
        return _gpu_tracker.spans(self._sub_tracking_file, code_block_name)

    def load_timepoints(self, timestamp_pairs: Sequence[Pair]) -> pd.DataFrame:
        """The measurements that were taken inside the given spans."""
        import pandas as pd

        rows = _gpu_tracker.timepoints(self._tracked(), list(timestamp_pairs))
        return pd.DataFrame(rows, columns=_gpu_tracker.columns())

    def overall_timepoint_results(self) -> pd.DataFrame:
        """Minimum, maximum, mean and standard deviation over all timepoints."""
        return frame(_gpu_tracker.overall(self._tracked()))

    def sub_tracking_results(self) -> SubTrackingResults:
        """The whole analysis: overall, static data and each code block."""
        return results_of(_gpu_tracker.analyze(self._tracked(), self._sub_tracking_file))
