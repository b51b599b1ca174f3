"""The seam between Python and the native engine.

Everything in this package measures, advises and reports through the functions below, and reads what was
measured through the protocols. The native extension is imported when the first of them is called: `import jobmeter`
stays cheap, and the data classes of a pickle can be read where there is no built extension.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ._forks import importing as _importing

if TYPE_CHECKING:
    from typing import Protocol

    from . import _native as _native

    class Table(Protocol):
        """Columns of equal length; also an Arrow stream (PyCapsule interface)."""

        @property
        def column_names(self) -> List[str]: ...
        @property
        def num_rows(self) -> int: ...
        def column(self, name: str) -> List[Any]: ...
        def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
        def packed(self) -> List[Tuple[str, str, List[Any]]]: ...

    class Recording(Protocol):
        """What was measured: of a running session, a stopped one or a run file."""

        def summary_json(self) -> str: ...
        def samples(self) -> Table: ...
        def processes(self) -> Table: ...
        def phases(self) -> Table: ...
        def marks(self) -> Table: ...
        def text(self) -> str: ...
        def fragment(self) -> str: ...
        def page(self, guidance: str) -> str: ...
        def packed(self) -> Tuple[bytes, str]: ...

    class Session(Recording, Protocol):
        """A measurement on its own native thread."""

        @property
        def running(self) -> bool: ...
        def mark(self, name: str, kind: str) -> None: ...
        def stop(self) -> None: ...
        def take_rows(self) -> Table: ...
        def own_io(self) -> List[Tuple[int, int, int]]: ...

else:

    class _Late:
        """The native extension, imported on first use; under the lock that a fork waits for."""

        def __getattr__(self, name: str) -> Any:
            with _importing:
                from . import _native
            value = getattr(_native, name)
            setattr(self, name, value)
            return value

    _native = _Late()


def start(
    *,
    pid: Optional[int] = None,
    interval: Optional[float] = None,
    name: Optional[str] = None,
    expected_cores: Optional[float] = None,
    gpu_uuids: Optional[Sequence[str]] = None,
    record: Optional[str] = None,
    followed: bool = False,
    own_io: bool = False,
) -> Session:
    """Begin to measure process `pid` (this one when `None`) and its descendants.

    Without an `interval` (seconds), samples are close together at first and further apart later. A session that
    is `followed` hands out new rows while it goes on. With `own_io` it keeps what its own thread reads and writes.
    """
    return _native.Session(
        pid=pid,
        interval_ns=None if interval is None else round(interval * 1e9),
        name=name,
        expected_cores=expected_cores,
        gpu_uuids=None if gpu_uuids is None else list(gpu_uuids),
        record=record,
        followed=followed,
        own_io=own_io,
    )


def load(path: str) -> Tuple[Recording, Optional[str]]:
    """Open a run file written by `jobmeter run` or by `record=`; says in a sentence where it is damaged."""
    recording = _native.load(path)
    return recording, recording.damage()


def restore(packed: Tuple[bytes, str]) -> Recording:
    """A run that `Recording.packed` gave, perhaps on another machine."""
    return _native.restore(*packed)


def table_of(packed: List[Tuple[str, str, List[Any]]]) -> Table:
    """A table that `Table.packed` gave."""
    return _native.table_of(packed)


def write_file(path: str, data: bytes) -> None:
    """Put a whole file in its place: what exists is replaced and keeps its mode, a link stays a link."""
    _native.write_file(path, data)


def create_file(path: str) -> int:
    """The descriptor of a new, empty file in that place, for what grows; what exists is replaced as by `write_file`."""
    return _native.create_file(path)


def gpus() -> List[Dict[str, Any]]:
    """The devices that a driver shows: `uuid`, `brand`, `name`, `memory_total_bytes`, `mig_parent` of an instance."""
    return _native.gpus()


def process_reading(pid: int, children: bool) -> Dict[str, Any]:
    """One reading of a process (and its descendants): cumulative counters and levels."""
    return _native.process_reading(pid, children)


def system_reading() -> Dict[str, Any]:
    """One reading of the machine: cumulative counters and levels."""
    return _native.system_reading()


def recommend_resources(
    *, cores_mean: float, memory_mib: float, gpus_mean: float, gpus_max: float, vram_mib: float
) -> Dict[str, int]:
    """Cores, MiB, GPUs and MiB of VRAM to ask for, by the simple rule."""
    found = _native.recommend_resources(cores_mean, memory_mib, gpus_mean, gpus_max, vram_mib)
    return dict(zip(("cpu", "memory", "gpu", "vram"), found))


def recommend_server(resources: Mapping[str, Optional[int]], filters: Dict[str, Any]) -> Dict[str, Any]:
    """The cheapest server of the catalogue with at least these cores, MiB, GPUs and MiB of VRAM."""
    offer: Dict[str, Any] = json.loads(_native.recommend_server(json.dumps(dict(resources)), json.dumps(filters)))
    return offer


def recommend_servers(resources: Mapping[str, Optional[int]], limit: int) -> List[Dict[str, Any]]:
    """The cheapest servers of the catalogue that fit, each type once; `LookupError` when none does."""
    offers: List[Dict[str, Any]] = json.loads(_native.recommend_servers(json.dumps(dict(resources)), limit))
    return offers


def server_price(vendor: str, region: str, type_name: str) -> Optional[float]:
    """Per hour in the currency of the vendor: in this region, else in the cheapest; `None` for an unknown type."""
    return _native.server_price(vendor, region, type_name)


def server_info() -> Dict[str, Any]:
    """Cores, memory and GPUs of this machine."""
    info: Dict[str, Any] = json.loads(_native.server_info())
    return info


def cloud_info(root: str, ask: bool) -> Dict[str, Any]:
    """Whose machine this is; a metadata service is asked only with `ask` and when the firmware names one."""
    info: Dict[str, Any] = json.loads(_native.cloud_info(root, ask))
    return info


def host_info() -> Dict[str, Any]:
    """Everything that is known of this machine."""
    info: Dict[str, Any] = json.loads(_native.host_info())
    return info


def cloud_facts(root: str, ask: bool) -> Dict[str, Any]:
    """Vendor, type, region and zone with their source and reason; unknown is `None`."""
    info: Dict[str, Any] = json.loads(_native.cloud_facts(root, ask))
    return info


def search_cloud(root: str = "/") -> Callable[[], Dict[str, Any]]:
    """Begin to find out whose machine this is, in the background; call what is returned once to wait for it."""
    search = _native.CloudSearch(root)

    def found() -> Dict[str, Any]:
        info: Dict[str, Any] = json.loads(search.wait())
        return info

    return found


def page_of_rows(
    *,
    pid: int,
    started_unix_ns: int,
    system_cores: int,
    t_ns: List[int],
    columns: List[Tuple[str, List[Optional[int]]]],
    guidance: str,
) -> str:
    """The report's page of a run of which only its rows were kept."""
    return _native.page_of_rows(
        pid=pid,
        started_unix_ns=started_unix_ns,
        system_cores=system_cores,
        t_ns=t_ns,
        columns=columns,
        guidance=guidance,
    )


def program_ends() -> None:
    """The program is about to end: threads that measure wait outside of the interpreter from now on."""
    native = sys.modules.get(f"{__package__}._native")
    if native is not None:
        native.program_ends()


def mark_outer(name: str, kind: str) -> None:
    """Pass a mark on to the run that wraps this process; without one, nothing happens."""
    _native.mark_outer(name, kind)
