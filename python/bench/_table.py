"""Markdown rows for the benches, and figures of repeated runs that a busy machine does not decide."""

from __future__ import annotations

import os
import platform
import time
from typing import Callable, List


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(*titles: str) -> None:
    row(*titles)
    row(*("---" for _ in titles))


def held(holds: bool) -> str:
    return "yes" if holds else "NO"


def machine() -> str:
    """What the figures were taken on, the load of the moment included."""
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{os.cpu_count()} cores, Linux {platform.release()}, Python {platform.python_version()}, load {load}"
    )


def wall_s(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def cpu_s(work: Callable[[], object], repeats: int) -> float:
    """Mean CPU time of one call, children that were waited for included: what a busy machine hardly changes."""
    begin = sum(os.times()[:4])
    for _ in range(repeats):
        work()
    return (sum(os.times()[:4]) - begin) / repeats


def percentile(values: List[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
