"""Use of GPUs under the names of the `nvidia-smi` helpers. The driver's library is asked; no process is started."""

from __future__ import annotations

from subprocess import Popen
from typing import Any, Dict, Iterable, Optional, Set

from ... import _engine
from . import _layout
from .helpers import known


def start_nvidia_smi_pmon() -> Optional[Popen[bytes]]:
    """There is nothing to start; hand the `None` on to `process_nvidia_smi_pmon`."""
    return None


def start_nvidia_smi() -> Optional[Popen[bytes]]:
    """There is nothing to start; hand the `None` on to `process_nvidia_smi`."""
    return None


def process_nvidia_smi_pmon(
    nvidia_process: Optional[Popen[bytes]], pids: Optional[Set[int]] = None
) -> Dict[str, Any]:
    """Use of the GPUs by these processes, or by all: `gpu_usage` in GPUs, VRAM in MiB, `gpu_utilized` a count."""
    if pids is None:
        return process_nvidia_smi(nvidia_process)
    readings = list(_readings(pids))
    indexes = {index for reading in readings for index in reading["gpu_indexes"]}
    busy = sum(known(reading["gpu_busy_ppm"]) for reading in readings)
    memory = sum(known(reading["gpu_memory_bytes"]) for reading in readings)
    return {**_stats(busy, memory, len(indexes)), "gpu_utilized_indexes": indexes}


def process_nvidia_smi(nvidia_process: Optional[Popen[bytes]]) -> Dict[str, Any]:
    """Use of all GPUs of the machine."""
    reading = _engine.system_reading()
    return _stats(
        known(reading["gpu_busy_ppm"]), known(reading["gpu_memory_bytes"]), int(known(reading["gpu_utilized"]))
    )


def _readings(pids: Iterable[int]) -> Iterable[Dict[str, Any]]:
    for pid in pids:
        try:
            yield _engine.process_reading(pid, False)
        except ProcessLookupError:
            continue


def _stats(busy_ppm: float, memory_bytes: float, utilized: int) -> Dict[str, Any]:
    vram = _layout.column("gpu_vram", _layout.current())
    return {"gpu_usage": busy_ppm / 1e6, vram: memory_bytes / 1024**2, "gpu_utilized": utilized}
