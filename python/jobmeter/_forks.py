"""A fork waits for imports that are under way in this package.

A child of `fork` has only the thread that forked. If another thread was inside an import at that moment, the lock of
that module stays taken in the child for ever, and the child hangs as soon as it needs the module. Everything that this
package imports on first use is therefore imported under `importing`, which a fork takes first.
"""

import os
from _thread import RLock, get_ident

importing = RLock()

# A fork inside somebody's import may hold a lock that our import waits for: then it goes ahead.
_PATIENCE_S = 5.0
_forking = set()  # type: ignore[var-annotated]


def _before() -> None:
    if importing.acquire(timeout=_PATIENCE_S):
        _forking.add(get_ident())


def _after_in_parent() -> None:
    if get_ident() in _forking:
        _forking.discard(get_ident())
        importing.release()


def _after_in_child() -> None:
    if get_ident() in _forking:
        importing.release()
    else:
        importing._at_fork_reinit()  # type: ignore[attr-defined]
    _forking.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
