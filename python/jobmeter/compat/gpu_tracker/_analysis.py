"""Statistics of a tracking file, overall and inside the code blocks of a sub-tracking file."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

from . import _tabular
from ._results import CodeBlockResults, Statistics, SubTrackingResults, frame

if TYPE_CHECKING:
    import pandas as pd

Pair = Tuple[float, float]
_MEASUREMENTS = [c for c in _tabular.DATA_COLUMNS if c != "timestamp"]


class SubTrackingAnalyzer:
    """Joins a tracking file with a sub-tracking file."""

    def __init__(self, tracking_file: Optional[str], sub_tracking_file: str) -> None:
        for path in (tracking_file, sub_tracking_file):
            if path is not None:
                _tabular.check_extension(path)
        self._tracking_file = tracking_file
        self._sub_tracking_file = sub_tracking_file

    def _tracked(self) -> str:
        if self._tracking_file is None:
            raise ValueError("A tracking file is needed for this; pass tracking_file to the analyzer.")
        return self._tracking_file

    def read_static_data(self) -> pd.Series:
        """Units and capacities of the tracking session."""
        import pandas as pd

        return pd.Series(_tabular.read_static(self._tracked()), dtype=object)

    def load_code_block_names(self) -> List[str]:
        return sorted({row["code_block_name"] for row in self._blocks()})

    def combine_sub_tracking_files(self, files: Sequence[str]) -> None:
        """Join files written by several processes into the sub-tracking file of this analyzer."""
        target = self._sub_tracking_file
        wanted = _tabular.extension(target)
        for path in files:
            if _tabular.extension(path) != wanted:
                raise ValueError(
                    f'File {path} does not end with the same extension as {target}. Must end in "{wanted}".'
                )
        if os.path.exists(target):
            raise ValueError(f"Cannot create sub-tracking file {target}. File already exists.")
        rows = [row for path in files for row in _tabular.read_sub_tracking(path)]
        _tabular.write_sub_tracking(target, rows)

    def load_timestamp_pairs(self, code_block_name: str) -> List[Pair]:
        """Start and stop of each call, by process and in order of time."""
        rows = [r for r in self._blocks() if r["code_block_name"] == code_block_name]
        return _pairs(rows, code_block_name)

    def load_timepoints(self, timestamp_pairs: Sequence[Pair]) -> pd.DataFrame:
        """The measurements that were taken inside the given spans."""
        import pandas as pd

        rows = _inside(_tabular.read_data(self._tracked()), timestamp_pairs)
        return pd.DataFrame(rows, columns=_tabular.DATA_COLUMNS)

    def overall_timepoint_results(self) -> pd.DataFrame:
        """Minimum, maximum, mean and standard deviation over all timepoints."""
        return frame(_statistics(_tabular.read_data(self._tracked())))

    def sub_tracking_results(self) -> SubTrackingResults:
        """The whole analysis: overall, static data and each code block."""
        rows = _tabular.read_data(self._tracked())
        blocks = self._blocks()
        results = []
        for name in sorted({row["code_block_name"] for row in blocks}):
            pairs = _pairs([r for r in blocks if r["code_block_name"] == name], name)
            results.append(_block(name, pairs, rows))
        return SubTrackingResults(_statistics(rows), _tabular.read_static(self._tracked()), results)

    def _blocks(self) -> List[Dict[str, Any]]:
        return _tabular.read_sub_tracking(self._sub_tracking_file)


def _pairs(rows: Sequence[Dict[str, Any]], name: str) -> List[Pair]:
    open_since: Dict[int, List[float]] = {}
    pairs: List[Tuple[int, Pair]] = []
    for row in sorted(rows, key=lambda r: (r["process_id"], r["timestamp"])):
        stack = open_since.setdefault(row["process_id"], [])
        if row["position"] == 0:
            stack.append(row["timestamp"])
        elif stack:
            pairs.append((row["process_id"], (stack.pop(), row["timestamp"])))
        else:
            raise ValueError(
                f'Sub-tracking file is invalid. Code block "{name}" stops in process {row["process_id"]} without a start.'
            )
    return [pair for _, pair in sorted(pairs)]


def _inside(rows: Sequence[Dict[str, Any]], pairs: Sequence[Pair]) -> List[Dict[str, Any]]:
    return [r for r in rows if any(begin <= r["timestamp"] <= end for begin, end in pairs)]


def _block(name: str, pairs: Sequence[Pair], rows: Sequence[Dict[str, Any]]) -> CodeBlockResults:
    inside = _inside(rows, pairs)
    stamps = [row["timestamp"] for row in inside]
    filled = sum(1 for begin, end in pairs if any(begin <= t <= end for t in stamps))
    seconds = [end - begin for begin, end in pairs]
    times = _describe(seconds)
    times["total"] = math.fsum(seconds)
    return CodeBlockResults(name, len(inside), len(pairs), filled, times, _statistics(inside))


def _statistics(rows: Sequence[Dict[str, Any]]) -> Statistics:
    return {c: _describe([float(r[c]) for r in rows if r.get(c) is not None]) for c in _MEASUREMENTS}


def _describe(values: Sequence[float]) -> Dict[str, float]:
    if not values:
        return dict.fromkeys(("min", "max", "mean", "std"), math.nan)
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
    return {"min": min(values), "max": max(values), "mean": mean, "std": spread}
