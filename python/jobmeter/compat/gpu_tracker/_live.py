"""Files that grow while tracking goes on: the tracking file, and the backup of the usage so far.

They are written by a thread of their own that wakes once per interval; measuring does not wait for it. When
the program is killed, what was written until then is there.
"""

from __future__ import annotations

import os
import pickle
import threading
from typing import TYPE_CHECKING, Callable, Optional

from ... import _engine
from .usage import ResourceUsage

if TYPE_CHECKING:
    from ..._native import GpuTracking


class LiveFiles:
    """Hands new samples to `tracking`, which writes its file, and keeps the usage so far in `usage_file`."""

    def __init__(
        self,
        session: _engine.Session,
        tracking: GpuTracking,
        sleep_time: float,
        usage: Callable[[], ResourceUsage],
        usage_file: Optional[str],
    ) -> None:
        self._session, self._tracking = session, tracking
        self._sleep_time, self._usage, self._usage_file = sleep_time, usage, usage_file
        self._ended = threading.Event()
        self._error: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._run, name="gpu-tracker-files", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Hand on the last rows, once the session has stopped."""
        self._ended.set()
        self._thread.join()
        if self._error is None:
            self._tracking.feed(self._session.take_rows())

    def finish(self) -> None:
        """Raise what went wrong with the files; the backup is of no use any more."""
        if self._error is not None:
            raise self._error
        self._tracking.finish()
        if self._usage_file is not None and os.path.exists(self._usage_file):
            os.unlink(self._usage_file)

    def _run(self) -> None:
        while not self._ended.wait(self._sleep_time):
            try:
                self._tracking.feed(self._session.take_rows())
                self._tracking.check()
                if self._usage_file is not None:
                    _engine.write_file(self._usage_file, pickle.dumps(self._usage()))
            except Exception as error:
                # A full disk must not break the program under way; `stop()` says it.
                self._error = error
                return
