"""Notebook magics: `%load_ext jobmeter`, then `%jobmeter statement` or `%%jobmeter [name]`.

The code stays in its cell: the line of the magic is replaced by a call that begins to measure. So IPython itself runs it,
`await` works, a result is shown once, and a traceback points at the right line.
"""

from __future__ import annotations

import re
from typing import Any, List, Optional

from ._tracker import Tracker

_CELL = re.compile(r"%%jobmeter(?:[ \t]+(?P<name>.*))?\s*\Z")
_LINE = re.compile(r"(?P<indent>[ \t]*)%jobmeter[ \t]+(?P<code>.*\S)\s*\Z")


class Magics:
    """What the rewritten cells call, as `get_ipython().jobmeter_magics`."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._open: Optional[Tracker] = None

    def begin(self, name: Optional[str] = None) -> Magics:
        """Measure from here to `end`, at the latest to the end of the cell."""
        self.end()
        self._open = Tracker(name=name, interval=0.05).start()
        return self

    def end(self, value: Any = None) -> Any:
        """Stop, leave the run in `_jobmeter` and show it; hands the value through, to be shown as that of any line."""
        tracker, self._open = self._open, None
        if tracker is not None:
            tracker.stop()
            self._shell.user_ns["_jobmeter"] = tracker
            _show(tracker)
        return value

    def __enter__(self) -> Magics:
        return self

    def __exit__(self, *_error: Any) -> None:
        self.end()

    def after_cell(self, _result: Any = None) -> None:
        """A cell ends, by an error or not: what was begun in it ends."""
        self.end()

    def rewrite(self, lines: List[str]) -> List[str]:
        """Called with the lines of each cell before it is compiled. Their number stays the same."""
        cell = _CELL.match(lines[0]) if lines else None
        if cell is not None:
            name = (cell["name"] or "").strip() or None
            return [f"get_ipython().jobmeter_magics.begin({name!r})\n", *lines[1:]]
        # The text of another magic is that magic's own.
        is_foreign = bool(lines) and lines[0].startswith("%%")
        return lines if is_foreign else [self._line(line) for line in lines]

    def _line(self, line: str) -> str:
        found = _LINE.match(line)
        if found is None:
            return line
        indent, code = found["indent"], found["code"]
        if _is_expression(code):
            return f"{indent}get_ipython().jobmeter_magics.begin().end(({code}))\n"
        return f"{indent}with get_ipython().jobmeter_magics.begin(): {code}\n"


def _is_expression(code: str) -> bool:
    import ast

    try:
        # Inside of a coroutine `await` is an expression too.
        return len(ast.parse(f"async def _():\n ({code})").body) == 1
    except SyntaxError:
        return False


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext jobmeter`; twice does no harm."""
    if not isinstance(getattr(shell, "jobmeter_magics", None), Magics):
        shell.jobmeter_magics = magics = Magics(shell)
        shell.input_transformers_cleanup.append(magics.rewrite)
        shell.events.register("post_run_cell", magics.after_cell)

    def jobmeter(line: str, cell: Optional[str] = None) -> None:
        """Measure a statement, or a cell, and show what it needed. The run is left in `_jobmeter`."""
        # Cells were rewritten before; here comes who calls the magic by a program.
        name, code = (None, line) if cell is None else (line.strip() or None, cell)
        with Tracker(name=name, interval=0.05) as tracker:
            shell.run_cell(code)
        shell.user_ns["_jobmeter"] = tracker
        _show(tracker)

    shell.register_magic_function(jobmeter, magic_kind="line_cell", magic_name="jobmeter")


def _show(tracker: Tracker) -> None:
    from IPython.display import display

    display(tracker)
