"""Results of sub-tracking and of comparisons: plain values inside, data frames on request.

Pickles of these classes hold nothing but dictionaries, lists, strings and numbers and one reference to
`restore`; they are read back through an allow-list that knows that one name only.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Tuple

from ... import _gpu_tracker

if TYPE_CHECKING:
    import pandas as pd

Statistics = Dict[str, Dict[str, float]]
STATISTICS = ("min", "max", "mean", "std")


class CodeBlockResults:
    """Resource usage and compute time of one code block over all its calls."""

    def __init__(
        self,
        name: str,
        num_timepoints: int,
        num_calls: int,
        num_non_empty_calls: int,
        compute_time: Dict[str, float],
        resource_usage: Statistics,
    ) -> None:
        self.name = name
        self.num_timepoints = num_timepoints
        self.num_calls = num_calls
        self.num_non_empty_calls = num_non_empty_calls
        self._compute_time = compute_time
        self._resource_usage = resource_usage

    @property
    def compute_time(self) -> pd.Series:
        import pandas as pd

        return pd.Series(self._compute_time)

    @property
    def resource_usage(self) -> pd.DataFrame:
        return frame(self._resource_usage)

    def to_json(self) -> Dict[str, Any]:
        return {
            "name": self.name,
            "num_timepoints": self.num_timepoints,
            "num_calls": self.num_calls,
            "num_non_empty_calls": self.num_non_empty_calls,
            "compute_time": dict(self._compute_time),
            "resource_usage": self._resource_usage,
        }


class _Plain:
    """Shared by the two kinds of results: pickled as their JSON form."""

    def to_json(self) -> Dict[str, Any]:
        raise NotImplementedError

    def __reduce__(self) -> Tuple[Callable[[str, Dict[str, Any]], object], Tuple[str, Dict[str, Any]]]:
        return restore, (type(self).__name__, self.to_json())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Plain) and type(other) is type(self) and other.to_json() == self.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return _gpu_tracker.text(type(self).__name__, self.to_json())


class SubTrackingResults(_Plain):
    """Statistics over all timepoints and per code block."""

    def __init__(
        self, overall: Statistics, static_data: Dict[str, Any], code_block_results: List[CodeBlockResults]
    ) -> None:
        self._overall = overall
        self._static_data = static_data
        self.code_block_results = code_block_results

    @property
    def overall(self) -> pd.DataFrame:
        return frame(self._overall)

    @property
    def static_data(self) -> pd.Series:
        import pandas as pd

        return pd.Series(self._static_data, dtype=object)

    def to_json(self) -> Dict[str, Any]:
        return {
            "overall": self._overall,
            "static_data": self._static_data,
            "code_block_results": [block.to_json() for block in self.code_block_results],
        }


class ComparisonResults(_Plain):
    """One statistic of several tracking sessions side by side, smallest first."""

    def __init__(
        self,
        overall_resource_usage: Statistics,
        code_block_resource_usage: Dict[str, Statistics],
        code_block_compute_time: Statistics,
    ) -> None:
        self._overall = overall_resource_usage
        self._blocks = code_block_resource_usage
        self._times = code_block_compute_time

    @property
    def overall_resource_usage(self) -> Dict[str, pd.Series]:
        return {name: _series(values) for name, values in self._overall.items()}

    @property
    def code_block_resource_usage(self) -> Dict[str, Dict[str, pd.Series]]:
        return {m: {n: _series(v) for n, v in blocks.items()} for m, blocks in self._blocks.items()}

    @property
    def code_block_compute_time(self) -> Dict[str, pd.Series]:
        return {name: _series(values) for name, values in self._times.items()}

    def to_json(self) -> Dict[str, Any]:
        return {
            "overall_resource_usage": self._overall,
            "code_block_resource_usage": self._blocks,
            "code_block_compute_time": self._times,
        }


def frame(rows: Statistics) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame.from_dict(rows, orient="index", columns=list(STATISTICS))


def _series(values: Dict[str, float]) -> pd.Series:
    import pandas as pd

    return pd.Series(values)


def results_of(data: Dict[str, Any]) -> SubTrackingResults:
    """An analysis from its JSON form."""
    blocks = [CodeBlockResults(**block) for block in data["code_block_results"]]
    return SubTrackingResults(data["overall"], data["static_data"], blocks)


def restore(kind: str, data: Dict[str, Any]) -> object:
    """Rebuild a result from its JSON form; the only callable that a pickle may name."""
    if kind == "SubTrackingResults":
        return results_of(data)
    if kind == "ComparisonResults":
        return ComparisonResults(**data)
    raise pickle.UnpicklingError(f"{kind!r} is not a result of this package.")


def load_results(path: str) -> SubTrackingResults:
    """Read a results file without ever calling what it names."""
    try:
        return results_of(_gpu_tracker.load_results(path))
    except ValueError as problem:
        raise pickle.UnpicklingError(str(problem)) from None
