"""An engine of known numbers, for tests of layouts: what goes in is known, so what comes out can be told."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Optional

STARTED_UNIX_NS = 1_700_000_000_000_000_000


class FakeTable:
    def __init__(self, columns: Dict[str, List[Any]]) -> None:
        self._columns = columns

    @property
    def column_names(self) -> List[str]:
        return list(self._columns)

    @property
    def num_rows(self) -> int:
        return len(next(iter(self._columns.values()), []))

    def column(self, name: str) -> List[Any]:
        return self._columns[name]


def figures(**values: Optional[float]) -> Dict[str, Any]:
    return {key: {"value": value, "quality": "sampled"} for key, value in values.items()}


def summary(**parts: Any) -> Dict[str, Any]:
    base: Dict[str, Any] = {
        "schema_version": 1,
        "run": {
            "id": "x",
            "jobmeter_version": "0",
            "mode": "self",
            "interval_ns": None,
            "pid": os.getpid(),
            "started_unix_ns": STARTED_UNIX_NS,
            "wall_ns": 3_345_628_023,
            "system_cores": 12,
            "expected_cores": 12.0,
            "ticks": 3,
        },
        "verdict": {"kind": "detached", "text": "stopped looking"},
        "main": {},
        "descendants": {},
        "combined": {},
        "system": {},
        "gpus": [],
        "warnings": [],
        "overhead": {"cpu_ns": 0, "ticks": 3},
    }
    base.update(parts)
    return base


class FakeSession:
    def __init__(self, columns: Dict[str, List[Any]], summary: Dict[str, Any]) -> None:
        self._columns, self._summary = columns, summary
        self._rows = dict(columns)
        self.running = True
        self.marked: List[Any] = []

    def mark(self, name: str, kind: str) -> None:
        self.marked.append((name, kind))

    def stop(self) -> None:
        self.running = False

    def summary_json(self) -> str:
        return json.dumps(self._summary)

    def samples(self) -> FakeTable:
        return FakeTable(self._columns)

    def processes(self) -> FakeTable:
        return FakeTable({"pid": []})

    def phases(self) -> FakeTable:
        return FakeTable({"name": [], "depth": [], "wall_ns": [], "cpu_ns": [], "rss_bytes_max": []})

    def marks(self) -> FakeTable:
        return FakeTable({"name": [], "t_ns": []})

    def text(self) -> str:
        return ""

    def page(self, guidance: str) -> str:
        return ""

    def own_io(self) -> List[Any]:
        return []

    def take_rows(self) -> FakeTable:
        """All rows at the first call, none later: they have been handed out."""
        rows, self._rows = self._rows, {name: [] for name in self._columns}
        return FakeTable(rows)


def install(
    monkeypatch: Any,
    columns: Dict[str, List[Any]],
    summary: Dict[str, Any],
    gpus: Optional[List[Dict[str, Any]]] = None,
    memory_total_bytes: int = 63_088_230_400,
    cores: int = 12,
) -> List[Dict[str, Any]]:
    """Put the fake in place of the native engine; returns the list of options that `start` got."""
    from jobmeter import _engine

    started: List[Dict[str, Any]] = []

    def start(**options: Any) -> FakeSession:
        started.append(options)
        return FakeSession(columns, summary)

    monkeypatch.setattr(_engine, "start", start)
    monkeypatch.setattr(_engine, "gpus", lambda: list(gpus or []))
    reading = {"memory_total_bytes": memory_total_bytes, "forks": 1000}
    monkeypatch.setattr(_engine, "system_reading", lambda: dict(reading))
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    memory_mib = round(memory_total_bytes / 1024**2, 2)
    facts = {
        "os": "Linux", "vcpus": cores, "memory_mb": memory_mib, "memory_mib": memory_mib, "gpu_count": 0,
        "gpu_names": [], "gpu_name": "", "gpu_memory_mb": 0.0, "gpu_memory_mib": 0.0,
    }  # fmt: skip
    monkeypatch.setattr(_engine, "server_info", lambda: dict(facts))
    return started
