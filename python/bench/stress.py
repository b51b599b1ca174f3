"""10,000 start/stop cycles, 100 trackers at once, workers by fork and spawn: nothing may be left behind."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from typing import Any, Tuple

from _table import head, held, machine, row

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


def hundred() -> int:
    """How many of 100 trackers at once saw the work that all of them saw."""
    trackers = [jobmeter.Tracker(interval=0.05).start() for _ in range(100)]
    begin = time.thread_time()
    while time.thread_time() - begin < 0.1:
        sum(range(1000))
    for tracker in trackers:
        tracker.stop()
    return sum(1 for tracker in trackers if (tracker.usage.cpu.main.cpu_ns or 0) >= 95_000_000)


def across_forks(count: int) -> int:
    """How many children, forked while a tracker ticks, could use it and one of their own, and ended."""
    whole = 0
    with jobmeter.track(interval=0.001) as run:
        for _ in range(count):
            pid = os.fork()
            if pid == 0:
                run.stop()
                cycles(1)
                os._exit(0)
            whole += os.waitpid(pid, 0)[1] == 0
        whole *= run.running
    return whole


def children() -> int:
    """Children of this process, zombies included."""
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return len(file.read().split())


def main() -> None:
    print(f"{machine()}.\n")
    head("what", "before", "after", "limit", "held")
    cycles(500)
    before = counted()
    begin = time.perf_counter()
    cycles(CYCLES)
    seconds = time.perf_counter() - begin
    after = counted()
    row(f"descriptors, {CYCLES} cycles", before[0], after[0], "equal", held(before[0] == after[0]))
    row(f"threads, {CYCLES} cycles", before[1], after[1], "equal", held(before[1] == after[1]))
    grown = after[2] - before[2]
    row("resident bytes", before[2], after[2], "+ at most 4 MiB", held(grown <= 4 << 20))
    row("ms per cycle", "", f"{seconds / CYCLES * 1e3:.3f}", "", "")
    right = hundred()
    row("100 trackers at once, right figures", 100, right, "all", held(right == 100))
    left = counted()
    row("descriptors and threads after them", before[:2], left[:2], "equal", held(before[:2] == left[:2]))
    whole = across_forks(100)
    row("forks under a ticking tracker", 100, whole, "all", held(whole == 100))
    existing = children()
    row("children and zombies", 0, existing, "none", held(existing == 0))
    for method in ("fork", "spawn"):
        count = workers(method)
        row(f"trackers in 32 workers by {method}", 32, count, "all", held(count == 32))
    left = counted()
    row("threads at the end", before[1], left[1], "equal", held(left[1] == before[1]))


if __name__ == "__main__":
    main()
