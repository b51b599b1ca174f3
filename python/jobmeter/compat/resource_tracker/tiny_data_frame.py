"""A dictionary of lists with a few manners of a data frame, and no dependency."""

from __future__ import annotations

import csv
import io
import logging
from collections import defaultdict
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Union, overload

from ... import _engine
from ._csv import read_csv
from .column_maps import resolve_alias
from .helpers import AliasDict

_logger = logging.getLogger(__name__)
_SHOWN_ROWS = 10
Row = Dict[str, Any]


class StatSpec(NamedTuple):
    """A statistic to collect: `agg` over `column`, named `agg_name`, rounded to `round` places."""

    column: str
    agg: Callable[[List[Any]], Any]
    agg_name: Optional[str] = None
    round: Optional[int] = None


class TinyDataFrame:
    """Made from a dictionary of lists, a list of dictionaries, or a CSV file with quoted strings (a path, or an address)."""

    def __init__(
        self,
        data: Union[Dict[str, List[Any]], List[Row], None] = None,
        csv_file_path: Optional[str] = None,
        retries: int = 0,
        retry_delay: float = 0.1,
    ) -> None:
        if data is None and csv_file_path is None:
            raise AssertionError("either data or csv_file_path must be provided")
        if data is not None and csv_file_path is not None:
            raise AssertionError("only one of data or csv_file_path must be provided")
        if not isinstance(data, (dict, list, type(None))):
            raise AssertionError("data must be a dictionary or a list")
        if csv_file_path is not None:
            if not isinstance(csv_file_path, str):
                raise AssertionError("csv_file_path must be a string")
            data = read_csv(csv_file_path, retries, retry_delay)
        if isinstance(data, dict):
            self.columns: List[str] = list(data)
            self._data: List[List[Any]] = [list(values) for values in data.values()]
        else:
            rows = [row for row in data or [] if isinstance(row, dict)]
            # In the order in which the rows name them.
            self.columns = list(dict.fromkeys(name for row in rows for name in row))
            self._data = [[row.get(column) for row in rows] for column in self.columns]

    def __len__(self) -> int:
        return len(self._data[0]) if self._data else 0

    def __iter__(self) -> Iterator[Row]:
        return (self._row(index) for index in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TinyDataFrame) and (self.columns, self._data) == (other.columns, other._data)

    __hash__ = None  # type: ignore[assignment]

    def _row(self, index: int) -> Row:
        return AliasDict((column, values[index]) for column, values in zip(self.columns, self._data))

    def _column(self, name: str) -> List[Any]:
        if name in self.columns:
            return self._data[self.columns.index(name)]
        found = resolve_alias(name, self.columns)
        if found is None:
            raise KeyError(f"Column '{name}' not found")
        column, convert = found
        return [None if v is None else convert(v) for v in self._column(column)]

    @overload
    def __getitem__(self, key: str) -> List[Any]: ...
    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: Union[slice, List[str]]) -> TinyDataFrame: ...
    def __getitem__(self, key: Union[str, int, slice, List[str]]) -> Union[List[Any], Row, TinyDataFrame]:
        if isinstance(key, str):
            return self._column(key)
        if isinstance(key, int):
            return self._row(key)
        if isinstance(key, slice):
            return TinyDataFrame({c: values[key] for c, values in zip(self.columns, self._data)})
        if isinstance(key, list) and all(isinstance(name, str) for name in key):
            return TinyDataFrame({name: self._column(name) for name in key})
        raise TypeError(f"Invalid key type: {type(key)}")

    def __setitem__(self, key: str, value: List[Any]) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Column name must be a string, got {type(key)}")
        if len(self) and len(value) != len(self):
            raise ValueError(f"Length of values ({len(value)}) must match dataframe length ({len(self)})")
        if key in self.columns:
            self._data[self.columns.index(key)] = list(value)
        else:
            self.columns.append(key)
            self._data.append(list(value))

    def head(self, n: int = 5) -> TinyDataFrame:
        """The first n rows."""
        return self[:n]

    def tail(self, n: int = 5) -> TinyDataFrame:
        """The last n rows."""
        return self[-n:] if n > 0 else self[:0]

    def rename(self, columns: Dict[str, str]) -> TinyDataFrame:
        """Rename columns in place; returns itself for chaining."""
        for old in columns:
            if old not in self.columns:
                raise KeyError(f"Column '{old}' not found in dataframe")
        self.columns = [columns.get(name, name) for name in self.columns]
        return self

    def to_csv(self, csv_file_path: Optional[str] = None, quote_strings: bool = True) -> Optional[str]:
        """Write to a file, or return the text when no path is given."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC if quote_strings else csv.QUOTE_MINIMAL)
        writer.writerow(self.columns)
        writer.writerows(zip(*self._data))
        if csv_file_path is not None:
            _engine.write_file(csv_file_path, text.getvalue().encode("utf-8"))
            return None
        return text.getvalue()

    def to_dict(self) -> List[Row]:
        """One dictionary per row."""
        return list(self)

    def stats(self, specs: Sequence[StatSpec]) -> Dict[str, Dict[str, Any]]:
        """Collect statistics by column and name; one that fails is logged and left out."""
        found: Dict[str, Dict[str, Any]] = defaultdict(dict)
        for spec in specs:
            name = spec.agg_name or str(getattr(spec.agg, "__name__", "value"))
            try:
                value = spec.agg(self._column(spec.column))
                found[spec.column][name] = value if spec.round is None else round(value, spec.round)
            except Exception as error:
                _logger.error(f"Error collecting statistic on {spec.column} with {name}: {error}")
        return AliasDict(found)

    def __repr__(self) -> str:
        first = self._row(0) if len(self) else {}
        return f"{self._title()}. First row as a dict: {first}"

    def __str__(self) -> str:
        if len(self) == 0:
            return f"{self._title()}:\nEmpty dataframe"
        shown = [[_cell(v) for v in values[:_SHOWN_ROWS]] for values in self._data]
        widths = [max([len(c)] + [len(t) for t in cells]) for c, cells in zip(self.columns, shown)]
        header = " | ".join(c.ljust(w) for c, w in zip(self.columns, widths))
        lines = [f"{self._title()}:", header, "-+-".join("-" * w for w in widths)]
        for index in range(min(len(self), _SHOWN_ROWS)):
            texts = [cells[index] for cells in shown]
            lines.append(" | ".join(t.rjust(w) if _is_number(t) else t.ljust(w) for t, w in zip(texts, widths)))
        if len(self) > _SHOWN_ROWS:
            lines.append("...".ljust(len(header)))
        return "\n".join(lines)

    def _title(self) -> str:
        return f"TinyDataFrame with {len(self)} rows and {len(self.columns)} columns"


def _cell(value: Any) -> str:
    """Text of a value on a terminal; control characters could rewrite the screen."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(value))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
