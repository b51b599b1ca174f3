"""Trackers: measure this process (or another by its pid) while the program runs on.

Measuring happens on a native thread that never takes the interpreter lock. A tracker never keeps the
program alive, and in a forked child it is inert: the child's own trackers measure the child.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
import threading
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Type, TypeVar, Union, overload

from . import _engine
from ._forks import importing
from ._run import Run
from ._warnings import finish

if TYPE_CHECKING:
    from ._engine import Session

_F = TypeVar("_F", bound=Callable[..., Any])
_UNITS = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60.0, "s": 1.0, "h": 3600.0}
_MIN_INTERVAL_S = 0.001

# Trackers that run in this process, the innermost last.
_running: List[Tracker] = []
# In a forked child: those that ran in the parent when it forked.
_inherited: List[Tracker] = []
_lock = threading.Lock()


class Tracker(Run):
    """Measures between `start()` and `stop()`, or inside a `with` block; may be started again."""

    def __init__(
        self,
        name: Optional[str] = None,
        interval: Union[float, str, None] = None,
        pid: Optional[int] = None,
        expected_cores: Optional[float] = None,
        gpu_uuids: Optional[Sequence[str]] = None,
        record: Union[str, os.PathLike[str], None] = None,
    ) -> None:
        super().__init__()
        self.name = name
        self.interval = None if interval is None else _seconds(interval)
        if pid is not None and pid <= 0:
            raise ValueError(f"pid must be the number of a process, not {pid}")
        if expected_cores is not None and not expected_cores > 0:
            raise ValueError(f"expected_cores must be more than 0, not {expected_cores}")
        self.pid = pid
        self.expected_cores = expected_cores
        self.gpu_uuids = gpu_uuids
        self.record = None if record is None else os.fspath(record)
        self._session: Optional[Session] = None
        # The process that measures; a forked copy of the tracker passes its marks on to it.
        self._home = 0

    @property
    def running(self) -> bool:
        return self._session is not None and self._session.running

    def start(self) -> Tracker:
        """Begin to measure. A tracker that has stopped begins a new run."""
        if self.running:
            raise RuntimeError("this tracker is running already; stop() it first or use another one")
        session = _engine.start(
            pid=self.pid,
            interval=self.interval,
            name=self.name,
            expected_cores=self.expected_cores,
            gpu_uuids=self.gpu_uuids,
            record=self.record,
        )
        self._session = self._recording = session
        self._home = os.getpid()
        with _lock:
            _running.append(self)
        return self

    def __getstate__(self) -> Dict[str, Any]:
        if self.running:
            with importing:
                import pickle

            raise pickle.PicklingError("this tracker is running; stop() it, or leave its with block, before it is sent")
        # The copy may be looked at and started anew; the thread that measured stays here.
        return {**super().__getstate__(), "_session": None, "_home": 0}

    def stop(self) -> Tracker:
        """End the measurement; once more does no harm. A run file that could not be finished is a warning."""
        if self._session is None and self._recording is not None:
            return self
        if self._session is None:
            raise RuntimeError("this tracker was never started; call start() first")
        self._end()
        return self

    def _end(self, quietly: bool = False) -> None:
        """`quietly` never raises, not even where warnings are errors."""
        if self._session is None:
            return
        try:
            # Three frames up: past this method and the one that called it.
            finish(self._session.stop, "the measurement could not be finished", stacklevel=3, quietly=quietly)
        finally:
            with _lock:
                if self in _running:
                    _running.remove(self)

    def __enter__(self) -> Tracker:
        return self.start()

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._end(quietly=error is not None)

    async def __aenter__(self) -> Tracker:
        return self.start()

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._end(quietly=error is not None)

    def mark(self, name: str) -> None:
        """Name this moment. Ignored when the tracker does not run."""
        self._send(name, "point")

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Name the work of a `with` block; phases nest, and each thread has its own."""
        self._send(name, "begin")
        try:
            yield
        finally:
            self._send(name, "end")

    def phase_of(self, function: _F) -> _F:
        """Decorator: every call of the function is a phase of its name."""
        return _wrapped(function, lambda: self.phase(function.__qualname__))

    def _send(self, name: str, kind: str) -> None:
        _check_name(name)
        if self._session is None:
            return
        if self._session.running:
            self._session.mark(name, kind)
        elif self._home != os.getpid() and self.pid is None and self in _inherited:
            _engine.mark_outer(name, kind)

    def __repr__(self) -> str:
        if self._recording is None:
            return f"<jobmeter.Tracker{'' if self.name is None else f' {self.name!r}'}: not started>"
        # Of a process that was forked while it ran, there is nothing to tell here.
        return super().__repr__() if self._is_ours() else "<jobmeter.Tracker of the parent process>"

    def _is_ours(self) -> bool:
        return self._session is None or self._home == os.getpid()


def track(
    name: Optional[str] = None,
    interval: Union[float, str, None] = None,
    pid: Optional[int] = None,
    expected_cores: Optional[float] = None,
    gpu_uuids: Optional[Sequence[str]] = None,
    record: Union[str, os.PathLike[str], None] = None,
) -> Tracker:
    """`with jobmeter.track() as run:` measures the block; afterwards `run` holds what it needed.

    `interval` is in seconds, or text with a unit (`"100ms"`); without one, samples are close together at
    first and further apart later. `pid` measures another process. `record` also writes a run file, which
    `jobmeter show` and `jobmeter.load` read.
    """
    return Tracker(name, interval, pid, expected_cores, gpu_uuids, record)


@overload
def tracked(function: _F) -> _F: ...
@overload
def tracked(
    *, on_done: Optional[Callable[[Tracker], object]] = None, **options: Any
) -> Callable[[_F], _F]: ...
def tracked(
    function: Optional[Callable[..., Any]] = None,
    *,
    on_done: Optional[Callable[[Tracker], object]] = None,
    **options: Any,
) -> Any:
    """Decorator: every call is measured. The last run is `function.run`; `on_done` gets each one.

    Works with plain and with `async` functions, and takes the options of `track`.
    """
    if function is None:
        return functools.partial(tracked, on_done=on_done, **options)
    target = function
    options.setdefault("name", target.__qualname__)

    @contextmanager
    def measured() -> Iterator[None]:
        tracker = Tracker(**options)
        try:
            with tracker:
                yield
        finally:
            setattr(wrapper, "run", tracker)
            if on_done is not None:
                on_done(tracker)

    wrapper = _wrapped(target, measured)
    return wrapper


def _wrapped(function: _F, context: Callable[[], Any]) -> _F:
    """The function inside a context; a coroutine function or a generator stays one, and is measured to its end."""
    with importing:
        import inspect

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def waiting(*args: Any, **kwargs: Any) -> Any:
            with context():
                return await function(*args, **kwargs)

        return waiting  # type: ignore[return-value]

    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def yielding(*args: Any, **kwargs: Any) -> Any:
            with context():
                return (yield from function(*args, **kwargs))

        return yielding  # type: ignore[return-value]

    @functools.wraps(function)
    def calling(*args: Any, **kwargs: Any) -> Any:
        with context():
            return function(*args, **kwargs)

    return calling  # type: ignore[return-value]


def mark(name: str) -> None:
    """Name this moment in the innermost tracker of this process, else in the run that wraps it."""
    _send(name, "point")


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Name the work of a `with` block in the innermost tracker, else in the run that wraps this process."""
    _send(name, "begin")
    try:
        yield
    finally:
        _send(name, "end")


def phase_of(function: _F) -> _F:
    """Decorator: every call of the function is a phase of its name."""
    return _wrapped(function, lambda: phase(function.__qualname__))


def _send(name: str, kind: str) -> None:
    _check_name(name)
    with _lock:
        tracker = _running[-1] if _running else None
    if tracker is not None:
        tracker._send(name, kind)
    else:
        _engine.mark_outer(name, kind)


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"the name of a mark or phase is a text, not {type(name).__name__}: {name!r}")
    if not name:
        raise ValueError("a mark or phase needs a name that is not empty")


def _seconds(interval: Union[float, str]) -> float:
    value: float
    if isinstance(interval, str):
        text = interval.strip()
        unit = next((u for u in _UNITS if text.endswith(u)), "")
        try:
            value = float(text[: len(text) - len(unit)]) * _UNITS.get(unit, 1.0)
        except ValueError:
            raise ValueError(f'interval {interval!r} is not a time; write seconds or "100ms"') from None
    else:
        value = float(interval)
    if not _MIN_INTERVAL_S <= value <= 86400.0:
        raise ValueError(f"interval must be between 1 ms and 1 day, not {interval!r}")
    return value


def _after_fork() -> None:
    """In a forked child: the parent's trackers are not ours."""
    global _lock
    _lock = threading.Lock()
    _inherited.extend(_running)
    _running.clear()


def _at_exit() -> None:
    """A run file gets its last words; the threads themselves would not hold the program up."""
    for tracker in list(_running):
        tracker._end(quietly=True)
    _engine.program_ends()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)


atexit.register(_at_exit)
