"""Column names: of the CSV files, for people, in bytes, and the newer spellings."""

from __future__ import annotations

from typing import Callable, Collection, Dict, List, Optional, Tuple

SYSTEM_COLUMNS = [
    "timestamp", "processes", "utime", "stime", "cpu_usage",
    "memory_free", "memory_used", "memory_buffers", "memory_cached", "memory_active", "memory_inactive",
    "disk_read_bytes", "disk_write_bytes",
    "disk_space_total_gb", "disk_space_used_gb", "disk_space_free_gb",
    "net_recv_bytes", "net_sent_bytes", "gpu_usage", "gpu_vram", "gpu_utilized",
]  # fmt: skip
PROCESS_COLUMNS = [
    "timestamp", "pid", "children", "utime", "stime", "cpu_usage", "memory",
    "disk_read_bytes", "disk_write_bytes", "gpu_usage", "gpu_vram", "gpu_utilized",
]  # fmt: skip

HUMAN_NAMES_MAPPING: Dict[str, str] = {
    "timestamp": "Timestamp",
    "processes": "processes",
    "utime": "CPU time (user)",
    "stime": "CPU time (system)",
    "cpu_usage": "CPU usage",
    "memory_free": "free memory",
    "memory_used": "used memory",
    "memory_buffers": "memory buffers",
    "memory_cached": "memory page/file cached",
    "memory_active": "active memory",
    "memory_inactive": "inactive memory",
    "disk_read_bytes": "disk read",
    "disk_write_bytes": "disk write",
    "disk_space_total_gb": "disk space total",
    "disk_space_used_gb": "disk space used",
    "disk_space_free_gb": "disk space free",
    "net_recv_bytes": "inbound network traffic",
    "net_sent_bytes": "outbound network traffic",
    "gpu_usage": "GPU usage",
    "gpu_vram": "VRAM used",
    "gpu_utilized": "GPUs in use",
    "pid": "PID",
    "children": "children",
    "memory": "memory usage",
}

for _name in [n for n in HUMAN_NAMES_MAPPING if n.startswith("memory")] + ["gpu_vram"]:
    HUMAN_NAMES_MAPPING[f"{_name}_mib"] = HUMAN_NAMES_MAPPING[_name]
HUMAN_NAMES_MAPPING["read_bytes"] = HUMAN_NAMES_MAPPING["disk_read_bytes"]
HUMAN_NAMES_MAPPING["write_bytes"] = HUMAN_NAMES_MAPPING["disk_write_bytes"]

_KIB, _MIB, _GB = 1024, 1024**2, 1000**3
BYTE_MAPPING: Dict[str, int] = {
    "memory": _KIB,
    "memory_free": _KIB,
    "memory_used": _KIB,
    "memory_buffers": _KIB,
    "memory_cached": _KIB,
    "memory_active": _KIB,
    "memory_inactive": _KIB,
    "gpu_vram": _MIB,
    "disk_space_total_gb": _GB,
    "disk_space_used_gb": _GB,
    "disk_space_free_gb": _GB,
}

for _name in [n for n in BYTE_MAPPING if n.startswith("memory")] + ["gpu_vram"]:
    BYTE_MAPPING[f"{_name}_mib"] = _MIB

# Columns of the charts of the report, by people's names.
REPORT_CSV_MAPPING: Dict[str, List[str]] = {
    "cpu": ["Timestamp", "Process CPU usage", "System CPU usage"],
    "mem": ["Timestamp", "Process memory usage", "System used memory"],
    "disk": [
        "Timestamp", "Process disk read", "System disk read", "Process disk write", "System disk write",
    ],
    "disk_space": ["Timestamp", "System disk space used"],
    "net": ["Timestamp", "System inbound network traffic", "System outbound network traffic"],
    "gpu_usage": ["Timestamp", "Process GPU usage", "System GPU usage"],
    "gpu_utilized": ["Timestamp", "Process GPUs in use", "System GPUs in use"],
    "gpu_vram": ["Timestamp", "Process VRAM used", "System VRAM used"],
    "gpu_vram_mib": ["Timestamp", "Process VRAM used", "System VRAM used"],
}  # fmt: skip

Convert = Callable[[float], float]


def _same(value: float) -> float:
    return value


def _kib_to_mib(value: float) -> float:
    return round(value / 1024, 4)


def _mib_to_kib(value: float) -> float:
    return round(value * 1024)


# Spellings of other releases: the columns that may hold the value, and how to convert it.
ALIASES: Dict[str, List[Tuple[str, Convert]]] = {
    "pss": [("memory", _same), ("memory_mib", _mib_to_kib)],
    "pss_rollup": [("memory", _same), ("memory_mib", _mib_to_kib)],
    "gpu_vram_mib": [("gpu_vram", _same)],
    "gpu_vram": [("gpu_vram_mib", _same)],
    "read_bytes": [("disk_read_bytes", _same)],
    "write_bytes": [("disk_write_bytes", _same)],
    "disk_read_bytes": [("read_bytes", _same)],
    "disk_write_bytes": [("write_bytes", _same)],
}
for _name in ("memory", *(f"memory_{n}" for n in ("free", "used", "buffers", "cached", "active", "inactive"))):
    ALIASES[f"{_name}_mib"] = [(_name, _kib_to_mib)]
    ALIASES[_name] = [(f"{_name}_mib", _mib_to_kib)]


def resolve_alias(name: str, known: Collection[str]) -> Optional[Tuple[str, Convert]]:
    """The known column behind a newer or older name, with or without its prefix."""
    for prefix in ("", "system_", "process_"):
        if name.startswith(prefix):
            for column, convert in ALIASES.get(name[len(prefix) :], ()):
                if prefix + column in known:
                    return prefix + column, convert
    return None


# A server counts as dedicated while the machine uses no more than this beyond the tracked processes.
SERVER_ALLOCATION_CHECKS: List[Dict[str, object]] = [
    {"process_column": "cpu_usage", "system_column": "cpu_usage", "percent": 1.25, "absolute": 0.25},
    {"process_column": "memory", "system_column": "memory_used", "percent": 1.5, "absolute": 524288},
    {"process_column": "gpu_usage", "system_column": "gpu_usage", "percent": 1.25, "absolute": 0.2},
    {"process_column": "gpu_vram", "system_column": "gpu_vram", "percent": 1.25, "absolute": 512},
]
