"""Fixed-width tables: right-aligned numbers to eight places, one space between columns."""

from __future__ import annotations

import math
from typing import Any, List, Mapping, Sequence


def number(value: Any) -> str:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(round(value, 8))
    return str(value)


def statistics_table(rows: Mapping[str, Mapping[str, float]], columns: Sequence[str]) -> List[str]:
    """A table with row labels: one line per measurement, one column per statistic."""
    label_width = max((len(name) for name in rows), default=0)
    cells = {c: [number(float(rows[name][c])) for name in rows] for c in columns}
    # A column keeps the place of a sign before its name.
    widths = {c: max([len(c) + 1] + [len(text) for text in cells[c]]) for c in columns}
    lines = [" " * label_width + "".join(" " + c.rjust(widths[c]) for c in columns)]
    for index, name in enumerate(rows):
        lines.append(name.ljust(label_width) + "".join(" " + cells[c][index].rjust(widths[c]) for c in columns))
    return lines


def value_row(values: Mapping[str, Any], *, mixed: bool = False) -> List[str]:
    """A header line and one line of values, without labels. `mixed` rows hold text beside numbers."""
    head, body = "", ""
    for name, value in values.items():
        text = number(value)
        width = max(len(name), len(text) + 1) if mixed else max(len(name) + 1, len(text))
        head += " " + name.rjust(width)
        body += " " + text.rjust(width)
    return [head, body]


def indented(lines: Sequence[str], depth: int) -> List[str]:
    return ["\t" * depth + line for line in lines]
