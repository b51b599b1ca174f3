"""Turns the raw samples of a session into the per-interval rows that the older trackers print.

Samples hold cumulative integers and levels; the compatible modules show differences and rates. This is
the one place where they are taken, so the three modules cannot disagree.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

from .._rates import Value, rates

if TYPE_CHECKING:
    from .. import _engine


class Series:
    """Read-only view of a session's samples; asks for each column once."""

    def __init__(self, table: _engine.Table, started_unix_ns: int) -> None:
        self._table = table
        self._names = set(table.column_names)
        self._cache: Dict[str, List[Any]] = {}
        self.t_ns: List[int] = self.column("t_ns")
        self.unix_s: List[float] = [(started_unix_ns + t) / 1e9 for t in self.t_ns]

    @classmethod
    def of(cls, recording: _engine.Recording) -> Series:
        run: Dict[str, Any] = json.loads(recording.summary_json())["run"]
        return cls(recording.samples(), run["started_unix_ns"])

    def __len__(self) -> int:
        return len(self.t_ns)

    def has(self, name: str) -> bool:
        return name in self._names

    def column(self, name: str) -> List[Any]:
        """The values of a column; all `None` where it was never measured."""
        if name not in self._cache:
            known = name in self._names
            self._cache[name] = self._table.column(name) if known else [None] * self._table.num_rows
        return self._cache[name]

    def entities(self, prefix: str, keep: Optional[Sequence[str]] = None) -> List[str]:
        """Column names `prefix[NAME]`, of the named entities only where `keep` is given."""
        found = [n for n in self._table.column_names if n.startswith(prefix + "[") and n.endswith("]")]
        if keep is None:
            return found
        wanted = {f"{prefix}[{name}]" for name in keep}
        return [n for n in found if n in wanted]

    def total(self, names: Sequence[str]) -> List[Value]:
        """Row-wise sum of several columns; `None` where none of them has a value."""
        columns = [self.column(n) for n in names]
        rows: List[Value] = []
        for index in range(len(self)):
            values = [c[index] for c in columns if c[index] is not None]
            rows.append(sum(values) if values else None)
        return rows

    def deltas(self, name: str) -> List[Value]:
        """Growth since the previous row; `None` in the first row and across gaps."""
        return differences(self.column(name))

    def rates(self, name: str) -> List[Value]:
        """Growth per nanosecond: cores used, for a CPU time in nanoseconds. See `_rates` for the window."""
        return rates(self.t_ns, self.column(name))


def differences(values: Sequence[Value]) -> List[Value]:
    result: List[Value] = [None]
    for before, after in zip(values, values[1:]):
        gap = before is None or after is None or after < before
        result.append(None if gap else after - before)  # type: ignore[operator]
    return result[: len(values)]


def figure(figures: Dict[str, Any], key: str) -> Value:
    """Value of a summary figure, `None` where it is missing or unavailable."""
    entry = figures.get(key)
    return None if entry is None else entry.get("value")


def or_zero(value: Value) -> float:
    """The older trackers print 0.0 for what does not exist or is unknown; only they do."""
    return 0.0 if value is None else float(value)
