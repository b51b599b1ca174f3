"""The hardware at hand: cores, memory, GPUs."""

from __future__ import annotations

from typing import Any, Dict

from ... import _engine
from . import _layout

_KEYS = {
    _layout.REFERENCE: ("vcpus", "memory_mb", "gpu_count", "gpu_names", "gpu_memory_mb"),
    _layout.NEWER: ("os", "vcpus", "memory_mib", "gpu_count", "gpu_names", "gpu_name", "gpu_memory_mib"),
}


class ServerInfo(Dict[str, Any]):
    """Server facts that also answer to the keys of other releases."""

    def __init__(self, facts: Dict[str, Any]) -> None:
        keys = _KEYS[_layout.current()]
        super().__init__({key: facts[key] for key in keys})
        self._others = {key: value for key, value in facts.items() if key not in keys}

    def __missing__(self, key: str) -> Any:
        return self._others[key]

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._others

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default


def get_total_memory_mib() -> float:
    """Total memory in MiB."""
    return float(_engine.server_info()["memory_mib"])


# Its name in release 0.4, which meant MiB too.
get_total_memory_mb = get_total_memory_mib


def get_gpu_info() -> Dict[str, Any]:
    """Number, names and memory in MiB of the GPUs that a driver shows."""
    facts = _engine.server_info()
    memory = "memory_mib" if _layout.current() == _layout.NEWER else "memory_mb"
    return {"count": facts["gpu_count"], memory: facts["gpu_memory_mib"], "gpu_names": facts["gpu_names"]}


def get_server_info() -> ServerInfo:
    """What this machine has, with `memory_mb` and `gpu_memory_mb` in MiB."""
    return ServerInfo(_engine.server_info())
