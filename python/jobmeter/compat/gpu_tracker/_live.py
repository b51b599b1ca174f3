"""Files that grow while tracking goes on: the tracking file, and the backup of the usage so far.

They are written by a thread of their own that wakes once per interval; measuring does not wait for it. When
the program is killed, what was written until then is there.
"""

from __future__ import annotations

import json
import os
import pickle
import threading
from typing import Any, Dict, List, Optional, Sequence

from ... import _engine
from .._series import Series
from . import _tabular
from ._timepoints import StaticData, series_rows, timepoints, usage


class LiveFiles:
    """Writes new rows to `tracking_file` and the usage so far to `usage_file`, whichever is given."""

    def __init__(
        self,
        session: _engine.Session,
        static: StaticData,
        uuids: Sequence[str],
        sleep_time: float,
        tracking_file: Optional[str],
        usage_file: Optional[str],
    ) -> None:
        self._session, self._static, self._uuids = session, static, uuids
        self._tracking_file, self._usage_file = tracking_file, usage_file
        self._sleep_time = sleep_time
        self._started_unix_ns: int = json.loads(session.summary_json())["run"]["started_unix_ns"]
        self._written_until = 0.0
        self._ended = threading.Event()
        self._error: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._run, name="gpu-tracker-files", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Write the last rows, once the session has stopped; the backup is of no use any more."""
        self._ended.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        self._write_rows()
        if self._usage_file is not None and os.path.exists(self._usage_file):
            os.unlink(self._usage_file)

    def _run(self) -> None:
        while not self._ended.wait(self._sleep_time):
            try:
                self._write_rows()
                self._write_usage()
            except Exception as error:
                # A full disk must not break the program under way; `stop()` says it.
                self._error = error
                return

    def _write_rows(self) -> None:
        if self._tracking_file is None:
            return
        table = self._session.take_rows()
        if table.num_rows:
            rows = series_rows(Series(table, self._started_unix_ns), self._static, self._uuids)
            # The first rows were handed out before: rates are taken from them.
            new: List[Dict[str, Any]] = [row for row in rows if row["timestamp"] > self._written_until]
            _tabular.append_tracking(self._tracking_file, new)
            self._written_until = max((row["timestamp"] for row in new), default=self._written_until)

    def _write_usage(self) -> None:
        if self._usage_file is None:
            return
        summary = json.loads(self._session.summary_json())
        found = usage(self._static, summary, timepoints(self._session, self._static, self._uuids))
        _engine.write_file(self._usage_file, pickle.dumps(found))
