"""The hardware at hand: cores, memory, GPUs."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import Any, Dict

from ... import _engine

# Names of newer releases for the same figures.
_NEWER = {"memory_mib": "memory_mb", "gpu_memory_mib": "gpu_memory_mb"}


class ServerInfo(Dict[str, Any]):
    """Server facts that also answer to the keys of newer releases."""

    def __missing__(self, key: str) -> Any:
        if key in _NEWER:
            return self[_NEWER[key]]
        if key == "gpu_name":
            names = Counter(self["gpu_names"]).most_common(1)
            return names[0][0] if names else ""
        if key == "os":
            return {"linux": "Linux"}.get(sys.platform, sys.platform)
        raise KeyError(key)


def get_total_memory_mb() -> float:
    """Total memory in MiB."""
    return round(float(_engine.system_reading()["memory_total_bytes"]) / 1024**2, 2)


def get_gpu_info() -> Dict[str, Any]:
    """Number, names and memory in MiB of the GPUs that a driver shows."""
    devices = _engine.gpus()
    memory = sum(d["memory_total_bytes"] or 0 for d in devices)
    return {
        "count": len(devices),
        "memory_mb": round(memory / 1024**2, 2) if devices else 0.0,
        "gpu_names": [d["name"] for d in devices],
    }


def get_server_info() -> ServerInfo:
    """What this machine has, with `memory_mb` and `gpu_memory_mb` in MiB."""
    gpu = get_gpu_info()
    return ServerInfo(
        vcpus=os.cpu_count(),
        memory_mb=get_total_memory_mb(),
        gpu_count=gpu["count"],
        gpu_names=gpu["gpu_names"],
        gpu_memory_mb=gpu["memory_mb"],
    )
