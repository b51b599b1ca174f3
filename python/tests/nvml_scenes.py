"""Scenes of the fake driver with what a true meter says in them."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Optional

MIB = 1 << 20


def process(name: str, memory: Optional[int], **more: Any) -> Dict[str, Any]:
    return {"pid": name, "memory": memory, **more} if memory is not None else {"pid": name, **more}


def gpu(index: int, **more: Any) -> Dict[str, Any]:
    device = {
        "name": "Imaginary A100", "uuid": f"GPU-{index}", "pci": f"0000:0{index + 1}:00.0",
        "memory_total": 81920 * MIB, "memory_used": (1000 + index) * MIB, "gpu_util": 50 + index, "memory_util": 20,
        "power_mw": 250_000, "power_limit_mw": 400_000, "energy_mj": 1000, "temperature_c": 61, "sm_mhz": 1410,
        "memory_mhz": 1215, "throttle": 0, "pcie_rx_kb": 10, "pcie_tx_kb": 20, "capability": [8, 0], "samples": [],
    }  # fmt: skip
    return {**device, **more}


def recent(name: str, sm: int, ago_ms: int) -> Dict[str, Any]:
    return {"pid": name, "sm": sm, "memory": 5, "ago_ms": ago_ms}


BOTH = [process("main", 300 * MIB), process("one", 70 * MIB + 4096)]
USED = [{"pid": "main", "sm": 30, "memory": 10}, {"pid": "one", "sm": 7, "memory": 1}]


def scenes() -> Dict[str, List[Dict[str, Any]]]:
    """The devices of each scene; the driver is one without PID namespaces."""
    far = time.time_ns() // 1000 + 10**13
    return {
        "one-process": [gpu(0, compute=[process("main", 100 * MIB)], samples=USED[:1])],
        "nobody": [gpu(0, memory_used=0, gpu_util=0)],
        "two-processes": [gpu(0, compute=BOTH, samples=USED)],
        "two-devices": [gpu(0, compute=BOTH, samples=USED),
                        gpu(1, compute=BOTH[:1], samples=[{"pid": "main", "sm": 99}])],
        "reserve": [gpu(0, memory_reserved=600 * MIB, compute=BOTH, samples=USED)],
        "odd-bytes": [gpu(0, memory_used=123_456_789, memory_total=16_000_000_001, compute=[process("main", 4097)],
                          samples=USED[:1])],
        "no-utilisation": [{k: v for k, v in gpu(0, compute=BOTH).items() if k not in ("gpu_util", "samples")}],
        "no-memory-of-processes": [gpu(0, compute=[process("main", None), process("one", None)], samples=USED)],
        "some-memory-of-processes": [gpu(0, compute=[process("main", 5 * MIB), process("one", None)], samples=USED)],
        "graphics": [gpu(0, compute=BOTH[:1], graphics=[process("one", 9 * MIB)], samples=USED)],
        "both-lists": [gpu(0, compute=BOTH[:1], graphics=BOTH[:1], samples=USED[:1])],
        "idle": [gpu(0, gpu_util=0, compute=BOTH, samples=[])],
        "one-idle": [gpu(0, compute=BOTH, samples=USED[:1])],
        "averaged": [gpu(0, compute=BOTH, samples=[
            recent("main", 20, 600), recent("one", 9, 500), recent("main", 41, 300)])],
        "strangers-garbage": [gpu(0, compute=BOTH, samples=[
            *USED, {"pid": 4_190_000, "sm": 2_147_483_632, "garbage": True, "at_us": far},
            {"pid": 4_190_001, "sm": 100, "garbage": True, "at_us": 5}])],
        "eight-devices": [gpu(i, compute=[process("main", (i + 1) * MIB), process("two", i * MIB + 1)],
                              samples=[{"pid": "main", "sm": 10 * i + 1}]) for i in range(8)],
        "full": [gpu(0, memory_used=81920 * MIB, gpu_util=100, compute=[process("main", 81000 * MIB)],
                     samples=[{"pid": "main", "sm": 100, "memory": 100}])],
        "old-style-figures-only": [{"name": "Old", "uuid": "GPU-0", "memory_total": 4096 * MIB, "memory_used": 17 * MIB,
                                    "compute": BOTH}],
    }  # fmt: skip


def truth(device: Dict[str, Any], pids: Dict[str, int]) -> Dict[str, Any]:
    """What the scene says, in bytes and per cent; None is unknown."""
    listed = [*device.get("compute", []), *device.get("graphics", [])]
    sampled: Dict[int, List[int]] = {}
    for sample in device.get("samples", []):
        if not sample.get("garbage"):
            sampled.setdefault(pids[sample["pid"]], []).append(sample["sm"])
    return {
        "uuid": device["uuid"], "memory_used": device["memory_used"], "memory_total": device["memory_total"],
        "gpu_util": device.get("gpu_util"), "memory": {pids[p["pid"]]: p.get("memory") for p in listed},
        "sm": {pid: sum(values) // len(values) for pid, values in sampled.items()} if "samples" in device else None,
    }  # fmt: skip
