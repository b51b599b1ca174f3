"""Notebook magics: `%load_ext jobmeter`, then `%jobmeter statement` or `%%jobmeter [name]`."""

from __future__ import annotations

from typing import Any, Optional

from ._tracker import Tracker


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext jobmeter`."""

    def jobmeter(line: str, cell: Optional[str] = None) -> Any:
        """Measure a statement, or a cell, and show what it needed. The run is left in `_jobmeter`."""
        name, code = (None, line) if cell is None else (line.strip() or None, cell)
        tracker = Tracker(name=name, interval=0.05)
        with tracker:
            result = shell.run_cell(code)
        shell.user_ns["_jobmeter"] = tracker
        _show(tracker)
        # A failed cell was shown by run_cell; the usage up to the failure is shown as well.
        return None if result.success is False or cell is not None else result.result

    shell.register_magic_function(jobmeter, magic_kind="line_cell", magic_name="jobmeter")


def _show(tracker: Tracker) -> None:
    from IPython.display import display

    display(tracker)
