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
        axis.set_xlim(0, max(seconds[-1] if seconds else 0, 1e-9))
        # Beside the lines, so that it covers none of them.
        axis.legend(loc="upper left", bbox_to_anchor=(1.005, 1.02), fontsize=8, frameon=False)
        if in_bytes:
            axis.yaxis.set_major_formatter(lambda value, _position: format_value(value, "bytes", "short"))
        _shade(axis, run)
    if axes:
        _name(axes[0], run)
        axes[-1].set_xlabel("seconds")
    figure.tight_layout()
    _draw_once(figure)
    return figure


def _draw_once(figure: Any) -> None:
    """A notebook draws the value of a cell, and at its end every open figure: whichever comes first is enough."""
    import matplotlib
    import matplotlib.pyplot as plt

    if "inline" not in str(matplotlib.get_backend()).lower():
        return

    def show() -> None:
        from IPython.display import display

        del figure._ipython_display_
        plt.close(figure)
        display(figure)

    figure._ipython_display_ = show


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


# Names nearer than this share of the width would stand over each other.
_LEAST_DISTANCE = 0.015


def _shade(axis: Any, run: Run) -> None:
    """Where the outermost phases and the marks are."""
    phases = run.phases().to_dict()
    for depth, begin, end in zip(phases["depth"], phases["begin_ns"], phases["end_ns"]):
        if depth == 0:
            axis.axvspan(begin / 1e9, end / 1e9, alpha=0.08)
    for moment in run.marks().column("t_ns"):
        axis.axvline(moment / 1e9, linewidth=0.8, linestyle=":", color="grey")


def _name(axis: Any, run: Run) -> None:
    """Names stand in the first panel only, from its upper edge down; one that would cover another is left out."""
    phases, marks = run.phases().to_dict(), run.marks().to_dict()
    begun = zip(phases["depth"], phases["begin_ns"], phases["name"])
    names = [(begin, name) for depth, begin, name in begun if depth == 0] + list(zip(marks["t_ns"], marks["name"]))
    width = axis.get_xlim()[1]
    free = 0.0
    for moment, name in sorted(names):
        x = moment / 1e9 / width
        if x >= free:
            axis.text(x + 0.002, 0.97, printable(name), fontsize=7, rotation="vertical", va="top", parse_math=False,
                      transform=axis.transAxes)  # fmt: skip
            free = x + _LEAST_DISTANCE
