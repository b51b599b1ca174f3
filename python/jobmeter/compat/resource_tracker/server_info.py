"""The hardware at hand: cores, memory, GPUs."""

from __future__ import annotations

from typing import Any, Dict

from ... import _engine

_KEYS = ("vcpus", "memory_mb", "gpu_count", "gpu_names", "gpu_memory_mb")


class ServerInfo(Dict[str, Any]):
    """Server facts that also answer to the keys of newer releases."""

    def __init__(self, facts: Dict[str, Any]) -> None:
        super().__init__({key: facts[key] for key in _KEYS})
        self._newer = {key: value for key, value in facts.items() if key not in _KEYS}

    def __missing__(self, key: str) -> Any:
        return self._newer[key]


def get_total_memory_mb() -> float:
    """Total memory in MiB."""
    return float(_engine.server_info()["memory_mb"])


def get_gpu_info() -> Dict[str, Any]:
    """Number, names and memory in MiB of the GPUs that a driver shows."""
    facts = _engine.server_info()
    return {"count": facts["gpu_count"], "memory_mb": facts["gpu_memory_mb"], "gpu_names": facts["gpu_names"]}


def get_server_info() -> ServerInfo:
    """What this machine has, with `memory_mb` and `gpu_memory_mb` in MiB."""
    return ServerInfo(_engine.server_info())
