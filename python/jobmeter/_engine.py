"""The seam between Python and the native engine.

Everything in this package measures through `start`, `load`, `gpus`, `process_reading` and
`system_reading` below, and reads what was measured through the two protocols. The native extension
is imported on first use, so that `import jobmeter` stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

if TYPE_CHECKING:
    from typing import Protocol

    class Table(Protocol):
        """Columns of equal length; also an Arrow stream (PyCapsule interface)."""

        @property
        def column_names(self) -> List[str]: ...
        @property
        def num_rows(self) -> int: ...
        def column(self, name: str) -> List[Any]: ...
        def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

    class Recording(Protocol):
        """What was measured: of a running session, a stopped one or a run file."""

        def summary_json(self) -> str: ...
        def samples(self) -> Table: ...
        def processes(self) -> Table: ...
        def phases(self) -> Table: ...
        def marks(self) -> Table: ...

    class Session(Recording, Protocol):
        """A measurement on its own native thread."""

        @property
        def running(self) -> bool: ...
        def mark(self, name: str, kind: str) -> None: ...
        def stop(self) -> None: ...


def start(
    *,
    pid: Optional[int] = None,
    interval: Optional[float] = None,
    name: Optional[str] = None,
    expected_cores: Optional[float] = None,
    gpu_uuids: Optional[Sequence[str]] = None,
    record: Optional[str] = None,
) -> Session:
    """Begin to measure process `pid` (this one when `None`) and its descendants.

    Without an `interval` (seconds), samples are close together at first and further apart later.
    """
    from . import _native

    return _native.Session(
        pid=pid,
        interval_ns=None if interval is None else round(interval * 1e9),
        name=name,
        expected_cores=expected_cores,
        gpu_uuids=None if gpu_uuids is None else list(gpu_uuids),
        record=record,
    )


def load(path: str) -> Recording:
    """Open a run file written by `jobmeter run` or by `record=`."""
    from . import _native

    return _native.load(path)


def gpus() -> List[Dict[str, Any]]:
    """The devices that a driver shows: `uuid`, `brand`, `name`, `memory_total_bytes`."""
    from . import _native

    return _native.gpus()


def process_reading(pid: int, children: bool) -> Dict[str, Any]:
    """One reading of a process (and its descendants): cumulative counters and levels."""
    from . import _native

    return _native.process_reading(pid, children)


def system_reading() -> Dict[str, Any]:
    """One reading of the machine: cumulative counters and levels."""
    from . import _native

    return _native.system_reading()


def recommend_server(resources: Dict[str, int], filters: Dict[str, Any]) -> Dict[str, Any]:
    """The cheapest server of the catalogue with at least these cores, MiB, GPUs and MiB of VRAM."""
    from . import _native

    return _native.recommend_server(resources, filters)


def mark_outer(name: str, kind: str) -> None:
    """Pass a mark on to the run that wraps this process; without one, nothing happens."""
    from . import _native

    _native.mark_outer(name, kind)
