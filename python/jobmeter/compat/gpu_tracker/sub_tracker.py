"""Sub-tracking: time stamps of code blocks in a file of their own, and their analysis."""

from __future__ import annotations

import functools
import os
import sys
import time
from types import TracebackType
from typing import Any, Callable, Optional, Type, TypeVar

from ..._warnings import finish
from . import _begun
from ._analysis import SubTrackingAnalyzer
from ._comparison import TrackingComparison
from ._files import check_extension
from ._results import CodeBlockResults, ComparisonResults, SubTrackingResults

__all__ = [
    "CodeBlockResults", "ComparisonResults", "SubTracker", "SubTrackingAnalyzer", "SubTrackingResults",
    "TrackingComparison", "sub_track",
]  # fmt: skip

_Function = TypeVar("_Function", bound=Callable[..., Any])
_START, _STOP = 0, 1


class SubTracker:
    """Context manager that notes when a code block begins and ends.

    The name of the block defaults to the file and line where the `SubTracker` was made, the file to the
    process id with `.csv`, so that processes never write to one file together. The first block of a program that
    writes to a file refuses one that exists (`FileExistsError`), or replaces it with `overwrite`; later blocks add to it.
    """

    def __init__(
        self,
        code_block_name: Optional[str] = None,
        code_block_attribute: Optional[str] = None,
        sub_tracking_file: Optional[str] = None,
        overwrite: bool = False,
    ) -> None:
        if code_block_name is None:
            caller = sys._getframe(1)
            attribute = caller.f_lineno if code_block_attribute is None else code_block_attribute
            code_block_name = f"{os.path.relpath(caller.f_code.co_filename)}:{attribute}"
        self.code_block_name = code_block_name
        self.process_id = os.getpid()
        self.sub_tracking_file = f"{self.process_id}.csv" if sub_tracking_file is None else sub_tracking_file
        check_extension(self.sub_tracking_file)
        self._overwrite = overwrite

    def _log(self, position: int) -> None:
        row = (self.process_id, self.code_block_name, position, time.time())
        _begun.add_row(self.sub_tracking_file, row, self._overwrite)

    def __enter__(self) -> SubTracker:
        self._log(_START)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        what = "the sub-tracking file could not be written"
        finish(lambda: self._log(_STOP), what, stacklevel=2, quietly=error is not None)


def sub_track(
    code_block_name: Optional[str] = None,
    code_block_attribute: Optional[str] = None,
    sub_tracking_file: Optional[str] = None,
    overwrite: bool = False,
) -> Callable[[_Function], _Function]:
    """Decorator that sub-tracks every call of a function."""

    def decorate(function: _Function) -> _Function:
        name = code_block_name
        if name is None:
            attribute = function.__name__ if code_block_attribute is None else code_block_attribute
            name = f"{os.path.abspath(sys._getframe(1).f_code.co_filename)}:{attribute}"

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with SubTracker(name, None, sub_tracking_file, overwrite):
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]

    return decorate
