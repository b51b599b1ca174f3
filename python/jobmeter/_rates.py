"""Rates from counters, over windows that are long enough to tell one.

The last row of a run is taken when it stops, and may follow the tick before by a few milliseconds; so may a
row after a late tick. The kernel counts CPU time in steps of 10 ms and settles it at the end: over such a
sliver of time one step alone looks like many cores. Such a row reaches back to earlier ones.
"""

from __future__ import annotations

from typing import List, Optional, Sequence

Value = Optional[float]

# How many rows tell what the usual interval is: few, since the interval of a run may change on its way.
NEIGHBOURS = 5


def rates(times: Sequence[float], values: Sequence[Value], least_window: float = 0) -> List[Value]:
    """Growth of a counter per unit of time, row by row.

    Each is taken over at least half the usual interval, and `least_window` where there is that much before.
    `None` in the first row, after a gap, and where a gap leaves too little time to tell.
    """
    found: List[Value] = [None] * len(values)
    for row in range(1, len(values)):
        first = max(0, row - NEIGHBOURS)
        spans = sorted(after - before for before, after in zip(times[first:row], times[first + 1 : row + 1]))
        found[row] = _rate(times, values, row, spans[len(spans) // 2] / 2, least_window)
    return found


def _rate(times: Sequence[float], values: Sequence[Value], row: int, window: float, wished: float) -> Value:
    """The rate at a row over `wished`, or over what there is of it if that is at least `window`."""
    later, begin = values[row], row
    while begin > 0 and times[row] - times[begin] < max(window, wished):
        before = values[begin - 1]
        if later is None or before is None or before > later:
            break
        later, begin = before, begin - 1
    span = times[row] - times[begin]
    if span <= 0 or span < window:
        return None
    return (values[row] - values[begin]) / span  # type: ignore[operator]
