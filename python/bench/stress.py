"""10,000 start/stop cycles, 100 trackers at once, workers by fork and spawn: nothing may be left behind."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from typing import Any, Tuple

from _table import head, row, verdict

import jobmeter

CYCLES = 10_000


def counted() -> Tuple[int, int, int]:
    """Descriptors, threads, resident bytes."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    descriptors = len(os.listdir("/proc/self/fd"))
    return descriptors, len(os.listdir("/proc/self/task")), pages * resource.getpagesize()


def cycles(count: int) -> None:
    for _ in range(count):
        with jobmeter.track():
            pass


def worker(results: Any) -> None:
    with jobmeter.track(interval=0.02) as run:
        begin = time.thread_time()
        while time.thread_time() - begin < 0.02:
            sum(range(1000))
    results.put(run.usage.cpu.main.cpu_ns)


def workers(method: str) -> int:
    """How many of 32 workers came back with a figure of their own."""
    context = multiprocessing.get_context(method)
    results = context.Queue()
    processes = [context.Process(target=worker, args=(results,)) for _ in range(32)]
    for process in processes:
        process.start()
    found = [results.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(timeout=120)
    whole = all(process.exitcode == 0 for process in processes)
    return sum(1 for ns in found if ns >= 18_000_000) if whole else 0


def main() -> None:
    head("what", "before", "after", "must hold", "")
    cycles(500)
    before = counted()
    begin = time.perf_counter()
    cycles(CYCLES)
    seconds = time.perf_counter() - begin
    after = counted()
    row(f"descriptors, {CYCLES} cycles", before[0], after[0], "equal", verdict(before[0] == after[0]))
    row(f"threads, {CYCLES} cycles", before[1], after[1], "equal", verdict(before[1] == after[1]))
    grown = after[2] - before[2]
    row("resident bytes", before[2], after[2], "+ at most 4 MiB", verdict(grown <= 4 << 20))
    row("ms per cycle", "", f"{seconds / CYCLES * 1e3:.3f}", "", "")
    trackers = [jobmeter.Tracker(interval=0.05).start() for _ in range(100)]
    time.sleep(0.3)
    for tracker in trackers:
        tracker.stop()
    row("descriptors, 100 trackers", before[0], counted()[0], "equal", verdict(counted()[0] == before[0]))
    for method in ("fork", "spawn"):
        count = workers(method)
        row(f"trackers in 32 workers by {method}", 32, count, "all", verdict(count == 32))


if __name__ == "__main__":
    main()
