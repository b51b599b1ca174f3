"""What goes wrong on our side while a program runs is a warning, never an exception of the program."""

from __future__ import annotations

import warnings
from typing import Callable


class JobmeterWarning(UserWarning):
    """Something of a measurement was lost, such as a run file on a full disk; the program itself goes on."""


def warn(text: str, *, stacklevel: int, quietly: bool = False) -> None:
    """Warn. Where the program turns warnings into errors this raises, unless it must happen `quietly`."""
    try:
        warnings.warn(text, JobmeterWarning, stacklevel=stacklevel + 1)
    except JobmeterWarning:
        if not quietly:
            raise


def finish(work: Callable[[], object], what: str, *, stacklevel: int, quietly: bool) -> None:
    """Do the work at the end of a measurement; what goes wrong is a warning that begins with `what`.

    A full disk is no reason to replace the program's own exception, or to end a program that has done its work.
    """
    try:
        work()
    except Exception as problem:
        warn(f"{what}: {problem}", stacklevel=stacklevel + 1, quietly=quietly)
