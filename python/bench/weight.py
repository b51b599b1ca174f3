"""What the Python package weighs: import, start and stop, a loop under tracking, lateness of ticks.

Everything is compared within one run and in turns, and medians decide, so that a busy machine hits both sides
alike. The witnesses are psutil, gpu-tracker and resource-tracker; rows of one that is not installed are left out.
"""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import time
from typing import Callable, List, Tuple

from _table import cpu_s, head, held, machine, percentile, row, wall_s

import jobmeter


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def import_s(name: str) -> float:
    """Time of an import in a fresh interpreter, by its own clock."""
    code = f"import time; t = time.perf_counter(); import {name}; print(time.perf_counter() - t)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def imports(rounds: int = 25) -> None:
    pairs = [(import_s("jobmeter"), import_s("psutil")) for _ in range(rounds)]
    ours, theirs = (statistics.median(side) * 1e3 for side in zip(*pairs))
    ratio = ours / theirs
    row("import, ms", f"{ours:.2f}", f"psutil {theirs:.2f}", f"{ratio:.2f}", "at most 1.3", held(ratio <= 1.3))


def cycle() -> None:
    with jobmeter.track():
        pass


def gpu_tracker_cycle() -> None:
    import gpu_tracker

    # With its defaults, as ours; it would only say that there is no GPU.
    with gpu_tracker.Tracker(disable_logs=True):
        pass


def resource_tracker_cycle() -> None:
    from resource_tracker import ResourceTracker

    # Discovery stays off: it would ask addresses outside of this machine.
    tracker = ResourceTracker(autostart=False, discover_cloud=False, discover_server=False)
    tracker.start()
    tracker.stop()


def in_turns(witness: Callable[[], object], rounds: int) -> Tuple[List[float], List[float]]:
    """Wall times of our cycles and of the witness's, fifty of ours between two of the witness."""
    ours: List[float] = []
    theirs: List[float] = []
    for _ in range(rounds):
        ours += [wall_s(cycle) for _ in range(50)]
        theirs.append(wall_s(witness))
    return ours, theirs


def cycles(rounds: int = 9) -> None:
    for _ in range(20):
        cycle()
    alone = [wall_s(cycle) * 1e3 for _ in range(500)]
    median = statistics.median(alone)
    figures = f"{median:.3f} (best {min(alone):.3f})"
    row("start() + stop(), ms", figures, "", "", "at most 3", held(median <= 3.0))
    own_cpu_ms = cpu_s(cycle, 1000) * 1e3
    witnesses = (("gpu_tracker", gpu_tracker_cycle), ("resource_tracker", resource_tracker_cycle))
    for name, witness in witnesses:
        if not installed(name):
            continue
        witness()
        ours, theirs = (statistics.median(times) * 1e3 for times in in_turns(witness, rounds))
        ratio = theirs / ours
        row("start() + stop() in turns, ms", f"{ours:.3f}", f"{name} {theirs:.0f}", f"{ratio:.0f}", "at least 50",
            held(ratio >= 50))  # fmt: skip
        cpu_ms = cpu_s(witness, 3) * 1e3
        row("the same, ms of CPU time", f"{own_cpu_ms:.3f}", f"{name} {cpu_ms:.0f}", f"{cpu_ms / own_cpu_ms:.0f}", "", "")


def spin(count: int) -> int:
    total = 0
    for i in range(count):
        total += i & 7
    return total


def slices_s(count: int = 40) -> List[float]:
    """CPU times of a short loop's own thread, over and over."""
    times: List[float] = []
    for _ in range(count):
        begin = time.thread_time()
        spin(100_000)
        times.append(time.thread_time() - begin)
    return times


def usual_s(times: List[float]) -> float:
    """Mean without the slowest fifth, which other programs made slow."""
    return statistics.fmean(sorted(times)[: len(times) * 4 // 5])


def loop_speed(rounds: int = 41) -> None:
    """What a loop keeps of its speed: the time of its own thread without over with tracking, less the share of the
    time that the meter took on its own thread, as if there were only one core. Each round compares with its own
    moment, since other programs slow a machine down for seconds."""
    kept: List[float] = []
    for number in range(rounds):
        # Now the one first, now the other: a machine that gets faster or slower favours neither.
        bare = slices_s() if number % 2 else []
        with jobmeter.track(interval=0.1):
            begin = time.thread_time(), time.process_time(), time.perf_counter()
            tracked = slices_s()
            ends = time.thread_time(), time.process_time(), time.perf_counter()
        bare = bare or slices_s()
        own, whole, wall = (end - start for start, end in zip(begin, ends))
        kept.append(usual_s(bare) / usual_s(tracked) * (1 - max(0.0, whole - own) / wall))
    speed = statistics.median(kept)
    row("loop under tracking at 100 ms", f"{speed:.4f}", "bare loop 1", f"{speed:.4f}", "at least 0.995",
        held(speed >= 0.995))  # fmt: skip


INTERVAL = 0.01
# A process of its own that wants to wake up every 10 ms and tells how late it did: the machine's own lateness.
TIMER = f"""
import time
begin, late = time.monotonic(), []
for turn in range(1, 151):
    due = begin + turn * {INTERVAL}
    time.sleep(max(0.0, due - time.monotonic()))
    late.append(max(0.0, time.monotonic() - due))
print(*late)
"""


def late_ms(hold: Callable[[], object]) -> Tuple[float, float]:
    """p99 of how far behind their places the ticks came while `hold` ran over and over, and that of a bare timer."""
    timer = subprocess.Popen([sys.executable, "-c", TIMER], stdout=subprocess.PIPE, text=True)
    with jobmeter.track(interval=INTERVAL) as run:
        while timer.poll() is None:
            hold()
    bare = [float(word) * 1e3 for word in timer.communicate()[0].split()]
    interval_ns = round(INTERVAL * 1e9)
    stamps = run.samples().column("t_ns")[1:-1]
    base = min(t % interval_ns for t in stamps)
    ours = [((t - base) % interval_ns) / 1e6 for t in stamps]
    return percentile(ours, 0.99), percentile(bare, 0.99)


def lateness(rounds: int = 7) -> None:
    """The best round counts: other programs only ever add to it."""
    numbers = list(range(2_000_000))
    # sum() of a list of small integers is one call into C that never lets go of the interpreter lock.
    ours, bare = (min(side) for side in zip(*(late_ms(lambda: sum(numbers)) for _ in range(rounds))))
    verdict = held(ours < 2.0)
    if bare >= 2.0 and ours >= 2.0:
        verdict = "NO: this machine is too busy to tell"
    row("tick lateness p99, interpreter lock held, ms", f"{ours:.3f}", f"a bare timer beside it {bare:.3f}", "", "under 2",
        verdict)  # fmt: skip


def main() -> None:
    print(f"Before: {machine()}.\n")
    head("what", "ours", "witness", "ratio", "limit", "held")
    if installed("psutil"):
        imports()
    cycles()
    loop_speed()
    lateness()
    print(f"\nAfter: {machine()}.\n")


if __name__ == "__main__":
    main()
