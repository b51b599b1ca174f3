"""The run as a picture: one panel per resource over time, phases shaded, marks named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

from ._format import format_value
from ._present import printable
from ._rates import rates

if TYPE_CHECKING:
    from ._run import Run
    from ._table import Table

_SCOPES = ("main", "descendants", "combined")
# The engine's own window for rates, so that the peak of the picture is about the peak of the summary.
_RATE_WINDOW_S = 0.1


def plot(run: Run) -> Any:
    import matplotlib.pyplot as plt

    samples = run.samples()
    seconds = [t / 1e9 for t in samples.column("t_ns")]
    panels = _panels(samples, seconds)
    figure, grid = plt.subplots(len(panels), 1, sharex=True, squeeze=False, figsize=(10, 2.4 * len(panels)))
    axes = [row[0] for row in grid]
    for axis, (title, lines, in_bytes) in zip(axes, panels):
        for label, values in lines.items():
            axis.plot(seconds, [float("nan") if v is None else v for v in values], label=label)
        axis.set_title(title, loc="left", fontsize=10)
        axis.set_ylim(bottom=0)
        axis.legend(loc="upper right", fontsize=8)
        if in_bytes:
            axis.yaxis.set_major_formatter(lambda value, _position: format_value(value, "bytes", "short"))
        _annotate(axis, run)
    axes[-1].set_xlabel("seconds")
    figure.tight_layout()
    return figure


_Lines = Dict[str, List[Optional[float]]]


def _panels(samples: Table, seconds: Sequence[float]) -> List[Tuple[str, _Lines, bool]]:
    known = set(samples.column_names)

    def lines(metric: str, scopes: Sequence[str] = _SCOPES) -> _Lines:
        found = {s: samples.column(f"{s}_{metric}") for s in scopes if f"{s}_{metric}" in known}
        return {s: v for s, v in found.items() if any(x is not None for x in v)}

    def rate(metric: str, scale: float, scopes: Sequence[str] = _SCOPES) -> _Lines:
        found = {s: rates(seconds, v, _RATE_WINDOW_S) for s, v in lines(metric, scopes).items()}
        return {s: [None if r is None else r * scale for r in v] for s, v in found.items()}

    storage = {f"read, {s}": v for s, v in rate("read_storage_bytes", 1, ("combined",)).items()}
    storage.update({f"written, {s}": v for s, v in rate("write_storage_bytes", 1, ("combined",)).items()})
    panels = [
        ("Cores used", rate("cpu_ns", 1e-9), False),
        ("RAM", lines("rss_bytes"), True),
        ("Storage, bytes per second", storage, True),
        ("GPU RAM", lines("gpu_memory_bytes"), True),
    ]
    return [panel for panel in panels if panel[1]]


def _annotate(axis: Any, run: Run) -> None:
    phases = run.phases().to_dict()
    for name, begin, end in zip(phases["name"], phases["begin_ns"], phases["end_ns"]):
        axis.axvspan(begin / 1e9, end / 1e9, alpha=0.08)
        axis.text(begin / 1e9, 0, printable(name), fontsize=7, rotation="vertical", parse_math=False)
    marks = run.marks().to_dict()
    for name, moment in zip(marks["name"], marks["t_ns"]):
        axis.axvline(moment / 1e9, linewidth=0.8, linestyle=":", color="grey")
        axis.text(moment / 1e9, 0, printable(name), fontsize=7, rotation="vertical", parse_math=False)
