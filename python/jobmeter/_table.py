"""A table of measurements, for whichever data frame library is at hand."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Optional, Tuple

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from . import _engine

# Spreadsheets run cells that begin like this; names come from the job and are not trusted.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


# Rows that a notebook shows.
_SHOWN_ROWS = 20


class Table:
    """Read it as Arrow (`pyarrow.table(t)`, `polars.from_arrow(t)`, `duckdb` by name), without a copy."""

    def __init__(self, native: _engine.Table) -> None:
        self._native = native

    @property
    def column_names(self) -> List[str]:
        return self._native.column_names

    def __len__(self) -> int:
        return self._native.num_rows

    def column(self, name: str) -> List[Any]:
        """The values of one column as a list; unknown ones are `None`."""
        return self._native.column(name)

    __getitem__ = column

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        """The rows, each as a dictionary."""
        names = self.column_names
        for row in zip(*(self.column(name) for name in names)):
            yield dict(zip(names, row))

    def to_dict(self) -> Dict[str, List[Any]]:
        return {name: self.column(name) for name in self.column_names}

    def to_pyarrow(self) -> pyarrow.Table:
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame; whole numbers stay whole numbers where values are missing."""
        import pandas

        frame = pandas.DataFrame({n: pandas.array(self.column(n)) for n in self.column_names})
        for name in frame.columns:
            if not frame[name].isna().any() and str(frame[name].dtype) in ("Int64", "Float64"):
                frame[name] = frame[name].astype(str(frame[name].dtype).lower())
        return frame

    def to_csv(self, path: Optional[str] = None) -> str:
        """The table as CSV text, also written to `path` when it is given."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_safe(name) for name in self.column_names)
        writer.writerows([_safe(v) for v in row] for row in zip(*(self.column(n) for n in self.column_names)))
        if path is not None:
            from . import _engine

            _engine.write_file(path, text.getvalue().encode("utf-8"))
        return text.getvalue()

    def __reduce__(self) -> Tuple[Any, ...]:
        return _restored, (self._native.packed(),)

    def __repr__(self) -> str:
        return f"<jobmeter.Table: {len(self)} rows, {len(self.column_names)} columns>"

    def _repr_html_(self) -> str:
        """The first rows, for notebooks. Names come from the job: all of it is escaped."""
        import html
        import itertools

        def cells(values: Iterable[Any], tag: str) -> str:
            texts = ("" if value is None else html.escape(str(value)) for value in values)
            return "<tr>" + "".join(f"<{tag}>{text}</{tag}>" for text in texts) + "</tr>"

        rows = "".join(cells(row.values(), "td") for row in itertools.islice(self, _SHOWN_ROWS))
        head = cells(self.column_names, "th")
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table><p>{html.escape(repr(self)[1:-1])}</p>"


def _restored(packed: List[Tuple[str, str, List[Any]]]) -> Table:
    """What a pickled table becomes."""
    from . import _engine

    return Table(_engine.table_of(packed))


def _safe(value: Any) -> Any:
    return "'" + value if isinstance(value, str) and value.startswith(_FORMULA) else value
