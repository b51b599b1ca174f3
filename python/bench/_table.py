"""Markdown rows for the benches, and medians of repeated runs."""

from __future__ import annotations

import os
import statistics
import time
from typing import Callable, List


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(*titles: str) -> None:
    row(*titles)
    row(*("---" for _ in titles))


def median_s(work: Callable[[], object], repeats: int) -> float:
    times: List[float] = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def cpu_s(work: Callable[[], object], repeats: int) -> float:
    """Mean CPU time of one call, children that were waited for included: what a busy machine does not change."""
    begin = sum(os.times()[:4])
    for _ in range(repeats):
        work()
    return (sum(os.times()[:4]) - begin) / repeats


def verdict(holds: bool) -> str:
    return "holds" if holds else "FAILS"
