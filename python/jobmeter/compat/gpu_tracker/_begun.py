"""Which sub-tracking files this program has begun to write.

The first block that writes to a file decides about one that exists already: it is replaced with `overwrite`, refused
without. All later blocks of the program add to it. A forked child knows the files of its parent and adds to them.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Dict

from ... import _gpu_tracker

if TYPE_CHECKING:
    from ..._native import GpuSubFile

_begun: Dict[str, GpuSubFile] = {}
_lock = threading.Lock()

if hasattr(os, "register_at_fork"):
    # Another thread may have been inside; it does not exist in the child, which finds the lock free.
    os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]


def add_row(path: str, row: _gpu_tracker.Stamp, overwrite: bool) -> None:
    """Add a row to a file of this program; raise `FileExistsError` where it was there before."""
    place = os.path.abspath(path)
    with _lock:
        file = _begun.get(place)
        if file is None:
            if os.path.lexists(place) and not overwrite:
                raise FileExistsError(
                    f"File {path} already exists. Set overwrite to True to overwrite the existing file."
                )
            _begun[place] = _gpu_tracker.sub_file(place, [row], overwrite)
            return
        if not file.is_there():
            raise FileNotFoundError(f"The file {path} was removed in the middle of writing data to it.")
        file.append(row)
