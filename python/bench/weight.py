"""What the Python package weighs: import, start and stop, a loop under tracking, lateness of ticks.

Everything is a ratio within one run, so that a busy machine cannot decide the outcome. The witnesses are
psutil, gpu-tracker and resource-tracker; rows of one that is not installed are left out.
"""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import time
from typing import Callable, List, Optional

from _table import cpu_s, head, median_s, row, verdict

import jobmeter


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def import_cost_ms(statement: str, repeats: int = 15) -> float:
    """Median time of an import in a fresh interpreter, by its own clock."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(repeats)
    ]
    return statistics.median(times) * 1e3


def start_stop() -> None:
    with jobmeter.track():
        pass


def gpu_tracker_cycle() -> None:
    import gpu_tracker

    with gpu_tracker.Tracker(disable_logs=True, sleep_time=0.1):
        pass


def resource_tracker_cycle() -> None:
    from resource_tracker import ResourceTracker

    # Discovery stays off: it would ask addresses outside of this machine.
    tracker = ResourceTracker(autostart=False, discover_cloud=False, discover_server=False)
    tracker.start()
    tracker.stop()


def spin(count: int) -> int:
    total = 0
    for i in range(count):
        total += i & 7
    return total


def loop_speed_ratio(rounds: int = 15, count: int = 3_000_000) -> float:
    """CPU time of a loop without over with tracking, in turns: other programs hit both alike."""
    ratios: List[float] = []
    for _ in range(rounds):
        begin = time.thread_time()
        spin(count)
        bare = time.thread_time() - begin
        with jobmeter.track(interval=0.1):
            begin = time.thread_time()
            spin(count)
            tracked = time.thread_time() - begin
        ratios.append(bare / tracked)
    return statistics.median(ratios)


def lateness_ms(hold: Callable[[], object], seconds: float = 4.0, interval: float = 0.01) -> List[float]:
    """How far behind their places the ticks came while `hold` ran over and over."""
    with jobmeter.track(interval=interval) as run:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            hold()
    interval_ns = round(interval * 1e9)
    stamps = run.samples().column("t_ns")[1:-1]
    base = min(t % interval_ns for t in stamps)
    return sorted(((t - base) % interval_ns) / 1e6 for t in stamps)


def p99(values: List[float]) -> float:
    return values[min(len(values) - 1, int(len(values) * 0.99))]


def main() -> None:
    head("what", "ours", "witness", "ratio", "must hold", "")
    ours = import_cost_ms("import jobmeter")
    if installed("psutil"):
        theirs = import_cost_ms("import psutil")
        ratio = ours / theirs
        row("import, ms", f"{ours:.2f}", f"psutil {theirs:.2f}", f"{ratio:.2f}", "at most 1.3", verdict(ratio <= 1.3))
    start_stop()
    cycle = median_s(start_stop, 200) * 1e3
    row("start() + stop(), ms", f"{cycle:.2f}", "", "", "at most 3", verdict(cycle <= 3.0))
    cycle_cpu = cpu_s(start_stop, 500) * 1e3
    row("start() + stop(), ms of CPU", f"{cycle_cpu:.2f}", "", "", "", "")
    witnesses = (("gpu_tracker", gpu_tracker_cycle, 3), ("resource_tracker", resource_tracker_cycle, 3))
    for name, witness, repeats in witnesses:
        if installed(name):
            theirs = median_s(witness, repeats) * 1e3
            ratio = theirs / cycle
            row("start() + stop(), ms", f"{cycle:.2f}", f"{name} {theirs:.0f}", f"{ratio:.0f}", "at least 50",
                verdict(ratio >= 50))  # fmt: skip
            theirs = cpu_s(witness, 1) * 1e3
            row("start() + stop(), ms of CPU", f"{cycle_cpu:.2f}", f"{name} {theirs:.0f}", f"{theirs / cycle_cpu:.0f}",
                "", "")  # fmt: skip
    speed = loop_speed_ratio()
    row("loop under tracking at 100 ms", f"{speed:.4f}", "1", f"{speed:.4f}", "at least 0.995", verdict(speed >= 0.995))
    numbers = list(range(2_000_000))
    # sum() of a list of small integers is one call into C that never lets go of the interpreter lock.
    held = p99(lateness_ms(lambda: sum(numbers)))
    idle = p99(lateness_ms(lambda: time.sleep(0.05)))
    row("tick lateness p99, lock held, ms", f"{held:.3f}", f"idle {idle:.3f}", "", "under 2", verdict(held < 2.0))


if __name__ == "__main__":
    main()
