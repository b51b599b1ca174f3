"""The seam between Python and gpu_tracker's formats, percentages and analyses, which the native extension has once for
the command line and for Python. Results cross it as plain dictionaries and lists, their JSON form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple

from ._engine import _native

if TYPE_CHECKING:
    from ._native import GpuSubFile, GpuTracking

Tree = Dict[str, Any]
Stamp = Tuple[int, str, int, float]
Span = Tuple[float, float]


def tracking(
    *,
    ram_unit: str,
    gpu_ram_unit: str,
    time_unit: str,
    ram_bytes: int,
    gpu_ram_bytes: int,
    core_count: int,
    n_expected_cores: int,
    gpu_count: int,
    uuids: Sequence[str],
) -> GpuTracking:
    """Turns the samples of a session into figures and rows of these units; `ValueError` for an unknown unit.

    `uuids` are the GPUs whose utilization counts.
    """
    return _native.GpuTracking(
        ram_unit=ram_unit,
        gpu_ram_unit=gpu_ram_unit,
        time_unit=time_unit,
        ram_bytes=ram_bytes,
        gpu_ram_bytes=gpu_ram_bytes,
        core_count=core_count,
        n_expected_cores=n_expected_cores,
        gpu_count=gpu_count,
        uuids=list(uuids),
    )


def sub_file(path: str, rows: List[Stamp], overwrite: bool) -> GpuSubFile:
    """Put a sub-tracking file with these rows in its place, to add rows to."""
    return _native.GpuSubFile(path, rows, overwrite)


def columns() -> List[str]:
    """The columns of a tracking file."""
    return _native.gpu_tracker_columns()


def static_data(tracking_file: str) -> Tree:
    """Units, capacities and counts of a tracking file."""
    return _native.gpu_tracker_static_data(tracking_file)


def data(tracking_file: str) -> List[Tree]:
    """The rows of a tracking file."""
    return _native.gpu_tracker_data(tracking_file)


def sub_data(sub_tracking_file: str) -> List[Tree]:
    """The rows of a sub-tracking file."""
    return _native.gpu_tracker_sub_data(sub_tracking_file)


def code_blocks(sub_tracking_file: str) -> List[str]:
    """Names of the code blocks, sorted."""
    return _native.gpu_tracker_code_blocks(sub_tracking_file)


def spans(sub_tracking_file: str, name: str) -> List[Span]:
    """Start and stop of each call of a code block, by process and in order of time."""
    return _native.gpu_tracker_spans(sub_tracking_file, name)


def timepoints(tracking_file: str, inside: List[Span]) -> List[Tree]:
    """The rows of a tracking file that were taken inside the spans."""
    return _native.gpu_tracker_timepoints(tracking_file, inside)


def overall(tracking_file: str) -> Dict[str, Dict[str, float]]:
    """Minimum, maximum, mean and standard deviation of each column."""
    return _native.gpu_tracker_overall(tracking_file)


def analyze(tracking_file: str, sub_tracking_file: str) -> Tree:
    """The whole analysis: overall, static data and each code block."""
    return _native.gpu_tracker_analyze(tracking_file, sub_tracking_file)


def combine(target: str, files: List[str]) -> None:
    """Join sub-tracking files into one that must not exist."""
    _native.gpu_tracker_combine(target, files)


def load_results(path: str) -> Tree:
    """An analysis that was pickled; nothing that the file names is called."""
    return _native.gpu_tracker_load_results(path)


def compare(sessions: List[Tuple[str, Tree]], statistic: str) -> Tuple[Tree, List[str]]:
    """Analyses side by side, and warnings about code blocks that were matched by their order."""
    return _native.gpu_tracker_compare(sessions, statistic)


def text(kind: str, tree: Tree) -> str:
    """The text of an analysis (`SubTrackingResults`) or of a comparison (`ComparisonResults`)."""
    return _native.gpu_tracker_text(kind, tree)


def report(usage: Tree) -> str:
    """The text of a usage."""
    return _native.gpu_tracker_report(usage)
