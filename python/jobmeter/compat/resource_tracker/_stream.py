"""A stream of samples to a file, a pipe, an open file or an HTTP(S) address, only when one is named.

A thread of its own takes new rows and hands them on as CSV; measuring does not wait for it. Rows that could not be
handed on are kept and tried again with the next ones. What is still wrong at the end becomes a warning.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from typing import TYPE_CHECKING, Callable, Dict, List, Optional, TextIO, Union
from urllib.request import Request, urlopen

if TYPE_CHECKING:
    from .tiny_data_frame import TinyDataFrame

Target = Union[str, TextIO]
_HTTP_TIMEOUT_S = 10
# At the end: how long a reader of a pipe, or a server, may take for the last rows.
_PATIENCE_S = 15
# A server may be down for a moment: pauses before each of the last tries.
_LAST_TRIES_S = (0.0, 0.3, 0.7)
# The header, empty after the first time, and the lines of some rows.
_Send = Callable[[str, str], None]


class Stream:
    """Hands on the rows that `rows(offset)` has beyond those already handed on."""

    def __init__(
        self,
        rows: Callable[[int], TinyDataFrame],
        target: Target,
        pause_s: float,
        headers: Optional[Dict[str, str]],
    ) -> None:
        self._rows, self._pause_s = rows, pause_s
        self._sent = 0
        self._problem: Optional[Exception] = None
        self._ended = threading.Event()
        # Files that were opened here, and are closed here.
        self._opened: List[TextIO] = []
        self._send = _sender(target, headers or {}, self._opened)
        self._thread = threading.Thread(target=self._run, name="resource-tracker-stream", daemon=True)
        self._thread.start()

    def finish(self) -> Optional[str]:
        """Hand on the last rows, after the measurement has stopped. Returns what is wrong, if anything is."""
        self._ended.set()
        self._thread.join(_PATIENCE_S)
        if self._thread.is_alive():
            return f"nobody took the samples for {_PATIENCE_S} s"
        return None if self._problem is None else str(self._problem) or type(self._problem).__name__

    def _run(self) -> None:
        while not self._ended.wait(self._pause_s):
            self._hand_on()
        for pause_s in _LAST_TRIES_S:
            time.sleep(pause_s)
            self._hand_on()
            if self._problem is None:
                break
        self._close()

    def _close(self) -> None:
        try:
            for file in self._opened:
                file.close()
        except OSError as error:
            self._problem = error

    def _hand_on(self) -> None:
        try:
            new = self._rows(self._sent)
            if len(new):
                header, _, lines = (new.to_csv() or "").partition("\r\n")
                self._send(header if self._sent == 0 else "", lines)
                self._sent += len(new)
            self._problem = None
        except Exception as error:
            # A full disk, a reader that went away or a server that is down is no problem of the program.
            self._problem = error


def _sender(target: Target, headers: Dict[str, str], opened: List[TextIO]) -> _Send:
    if not isinstance(target, str):
        return _to_open_file(target)
    if target.lower().startswith(("http://", "https://")):
        return _to_address(target, headers)
    return _to_path(target, opened)


def _to_open_file(file: TextIO) -> _Send:
    def send(header: str, lines: str) -> None:
        file.write((header + "\r\n" if header else "") + lines)
        file.flush()

    return send


def _to_path(path: str, opened: List[TextIO]) -> _Send:
    """A new file of the owner's, or a pipe that exists; opened by the thread, since a pipe waits for its reader."""
    is_there = os.path.lexists(path)
    is_pipe = is_there and stat.S_ISFIFO(os.lstat(path).st_mode)
    if is_there and not is_pipe:
        raise FileExistsError(f"File {path} already exists; stream to a new file or to a pipe.")

    def send(header: str, lines: str) -> None:
        if not opened:
            # What came there meanwhile is neither replaced nor followed.
            flags = os.O_WRONLY | os.O_NOFOLLOW | (0 if is_pipe else os.O_CREAT | os.O_EXCL)
            descriptor = os.open(path, flags, 0o600)
            opened.append(open(descriptor, "w", newline="", encoding="utf-8"))
        _to_open_file(opened[0])(header, lines)

    return send


def _to_address(address: str, headers: Dict[str, str]) -> _Send:
    """One POST for each batch of rows; each is a CSV by itself, with the header of the first."""
    names: Dict[str, str] = {}

    def send(header: str, lines: str) -> None:
        names["header"] = header or names["header"]
        body = f"{names['header']}\r\n{lines}".encode()
        request = Request(address, data=body, method="POST", headers={"Content-Type": "text/csv", **headers})
        with urlopen(request, timeout=_HTTP_TIMEOUT_S) as response:
            response.read(1)

    return send
