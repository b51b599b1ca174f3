"""Comparison of several tracking sessions by one statistic."""

from __future__ import annotations

import logging
from typing import Dict, List, Mapping, Optional, Tuple

from ._results import (
    STATISTICS,
    CodeBlockResults,
    ComparisonResults,
    Statistics,
    SubTrackingResults,
    load_results,
)


class TrackingComparison:
    """Loads the results of several sessions and puts them side by side.

    Code blocks are matched by name, or by order where names differ in the line number only.
    """

    def __init__(self, file_path_map: Mapping[str, str]) -> None:
        self.results_map: Dict[str, SubTrackingResults] = {
            name: load_results(path) for name, path in file_path_map.items()
        }
        self._blocks = {name: _ordered(results) for name, results in self.results_map.items()}
        self._check()

    def _check(self) -> None:
        sessions = list(self._blocks.items())
        if not sessions:
            return
        first_name, first = sessions[0]
        for name, blocks in sessions[1:]:
            if len(blocks) != len(first):
                raise ValueError(
                    "All sub-tracking results must have the same number of code blocks. The first has "
                    f'{len(first)} code blocks but tracking session "{name}" has {len(blocks)} code blocks.'
                )
            for ours, theirs in zip(first, blocks):
                _match(first_name, ours.name, name, theirs.name)

    def compare(self, statistic: str = "mean") -> ComparisonResults:
        """Compare by `min`, `max`, `mean` or `std`."""
        if statistic not in STATISTICS:
            raise ValueError(f"Invalid summary statistic '{statistic}'. Valid values are {' '.join(STATISTICS)}.")
        overall: Statistics = {}
        data = {name: results.to_json()["overall"] for name, results in self.results_map.items()}
        measurements = list(next(iter(data.values()), {}))
        for measurement in measurements:
            overall[measurement] = _sorted({n: rows[measurement][statistic] for n, rows in data.items()})
        usage: Dict[str, Statistics] = {m: {} for m in measurements}
        times: Statistics = {}
        for group in zip(*self._blocks.values()):
            label = _label([block.name for block in group])
            found = {n: block.to_json() for n, block in zip(self._blocks, group)}
            for measurement in measurements:
                usage[measurement][label] = _sorted(
                    {n: block["resource_usage"][measurement][statistic] for n, block in found.items()}
                )
            times[label] = _sorted({n: block["compute_time"][statistic] for n, block in found.items()})
        return ComparisonResults(overall, usage, times)


def _sorted(values: Dict[str, float]) -> Dict[str, float]:
    return dict(sorted(values.items(), key=lambda item: item[1]))


def _split(name: str) -> Tuple[str, Optional[int]]:
    """File and line of a default block name, or the name itself and no line."""
    path, colon, line = name.rpartition(":")
    return (path, int(line)) if colon and line.isdigit() else (name, None)


def _ordered(results: SubTrackingResults) -> List[CodeBlockResults]:
    def key(block: CodeBlockResults) -> Tuple[str, int]:
        path, line = _split(block.name)
        return path, -1 if line is None else line

    return sorted(results.code_block_results, key=key)


def _match(first: str, ours: str, other: str, theirs: str) -> None:
    if ours == theirs:
        return
    (our_path, our_line), (their_path, their_line) = _split(ours), _split(theirs)
    if our_path != their_path or our_line is None or their_line is None:
        raise ValueError(
            f'Code block name "{ours}" of tracking session "{first}" does not match code block name '
            f'"{theirs}" of tracking session "{other}"'
        )
    logging.warning(
        f'Code block name "{ours}" of tracking session "{first}" matched with code block name "{theirs}" of '
        f'tracking session "{other}" but they differ by line number. If these code blocks were not meant to '
        "match, their comparison will not be valid and their names must be disambiguated."
    )


def _label(names: List[str]) -> str:
    return names[0] if len(set(names)) == 1 else " -> ".join(sorted(set(names)))
