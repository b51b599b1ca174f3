"""Many trackers, forks, spawned workers, exits: nothing leaks, nothing hangs, counts are right."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from typing import Any, List

import pytest
from workloads import burn, hold, pages_kept

import jobmeter


def counted() -> "tuple[int, int]":
    """Open descriptors and threads of this process."""
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


def counted_down_to(before: "tuple[int, int]") -> "tuple[int, int]":
    """As `counted`, once it is no more than before: a thread of an earlier test may have files open for a moment."""
    deadline = time.monotonic() + 10
    while True:
        after = counted()
        if (after[0] <= before[0] and after[1] <= before[1]) or time.monotonic() > deadline:
            return after
        time.sleep(0.01)


def test_a_hundred_trackers_at_once() -> None:
    before = counted()
    trackers = [jobmeter.Tracker(interval=0.5).start() for _ in range(100)]
    burn(0.1)
    for tracker in trackers:
        tracker.stop()
    # Libraries of other tests may end threads of their own meanwhile: nothing more may be left than before.
    after = counted_down_to(before)
    assert after[0] <= before[0] and after[1] <= before[1]
    for tracker in trackers:
        usage = tracker.usage
        assert (usage.cpu.main.cpu_ns or 0) >= 90_000_000
        # The threads of the trackers themselves are not the program's.
        assert after[1] <= (usage.cpu.main.threads_max or 0) <= before[1]


def test_cycles_leave_nothing_behind() -> None:
    def cycle(count: int) -> None:
        for _ in range(count):
            with jobmeter.track():
                pass

    cycle(200)
    before, bytes_before = counted(), pages_kept()
    cycle(1000)
    after = counted_down_to(before)
    assert after[0] <= before[0] and after[1] <= before[1]
    assert pages_kept() - bytes_before < 4 << 20


def test_a_tracker_that_nobody_asked_holds_numbers_only() -> None:
    """Figures are made when they are asked for: until then no descriptor stays, and later work is not in them."""
    before = counted()
    trackers = []
    for _ in range(50):
        with jobmeter.track() as run:
            burn(0.01)
        trackers.append(run)
    after = counted_down_to(before)
    assert after[0] <= before[0] and after[1] <= before[1]
    witness_ns = time.process_time_ns()
    with jobmeter.track():
        burn(0.3)
    assert time.process_time_ns() - witness_ns >= 300_000_000
    for run in trackers:
        assert 9_000_000 <= (run.usage.cpu.main.cpu_ns or 0) <= 200_000_000
        assert run.to_dict() == run.to_dict() and run.to_dict()["run"]["ticks"] == len(run.samples())


def worker(index: int, results: Any) -> None:
    with jobmeter.track(interval=0.02) as run:
        burn(0.05)
    usage = run.usage
    results.put((index, os.getpid(), run.to_dict()["run"]["pid"], usage.cpu.main.cpu_ns, usage.cpu.main.threads_max))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_tracker_in_each_of_32_workers(method: str) -> None:
    context = multiprocessing.get_context(method)
    results = context.Queue()
    with jobmeter.track(interval=0.05) as run:
        workers = [context.Process(target=worker, args=(i, results)) for i in range(32)]
        for process in workers:
            process.start()
        found = [results.get(timeout=120) for _ in workers]
        for process in workers:
            process.join(timeout=120)
            assert process.exitcode == 0
    assert sorted(index for index, *_ in found) == list(range(32))
    for _, pid, measured, cpu_ns, threads in found:
        assert pid == measured
        # The worker's own work, and not the parent's: a queue feeder thread may have joined in.
        assert 45_000_000 <= cpu_ns <= 1_000_000_000
        assert 1 <= threads <= 2
    assert (run.usage.cpu.descendants.cpu_ns or 0) >= 32 * 45_000_000


def test_a_tracker_alive_across_fork_is_inert_in_the_child() -> None:
    with jobmeter.track(interval=0.01) as run:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                assert not run.running
                # Marks and phases go to the process that measures.
                run.mark("of the child")
                with run.phase("work of the child"):
                    burn(0.02)
                run.stop()
                try:
                    run.usage
                except RuntimeError as error:
                    assert "belongs to the parent" in str(error)
                with jobmeter.track() as own:
                    burn(0.02)
                assert own.to_dict()["run"]["pid"] == os.getpid()
                assert own.usage.cpu.main.threads_max == 1
                del run, own
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(pid, 0)
        assert status == 0
        assert run.running
        run.mark("mine")
    assert run.marks()["name"] == ["of the child", "mine"]
    assert run.marks()["pid"] == [pid, os.getpid()]
    assert run.phases()["name"] == ["work of the child"] and run.phases()["pid"] == [pid]


def test_forking_while_ticks_and_marks_fly() -> None:
    """A fork may come while the native thread holds its locks; the child must not wait for them."""
    trackers: List[jobmeter.Tracker] = [jobmeter.Tracker(interval=0.001).start() for _ in range(4)]
    for _ in range(50):
        pid = os.fork()
        if pid == 0:
            for tracker in trackers:
                tracker.mark("x")
                tracker.stop()
            with jobmeter.track():
                pass
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    for tracker in trackers:
        tracker.stop()


def run_python(code: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, **options)


@pytest.mark.parametrize(
    ("ending", "status"),
    [("", 0), ("import os; os._exit(7)", 7), ("import sys; sys.exit(3)", 3), ("raise ValueError", 1),
     ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
     ("import os; os.execv('/bin/true', ['true'])", 0)],
)  # fmt: skip
def test_a_running_tracker_never_holds_up_the_end(ending: str, status: int) -> None:
    done = run_python(f"import jobmeter\nrun = jobmeter.Tracker(interval=60).start()\n{ending}\n")
    assert done.returncode == status, done.stderr


def test_the_run_file_of_a_program_that_just_ends_is_whole(tmp_path: Any) -> None:
    path = tmp_path / "run.jobmeter"
    assert run_python(f"import jobmeter\njobmeter.Tracker(record={str(path)!r}).start()\n").returncode == 0
    assert jobmeter.load(path).to_dict()["verdict"]["kind"] == "detached"


def test_signals_still_interrupt_the_program() -> None:
    code = """
import jobmeter, os, signal, threading, time
with jobmeter.track(interval=0.01) as run:
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        time.sleep(50)
    except KeyboardInterrupt:
        print("interrupted")
print(run.usage.time.wall_ns < 40e9)
"""
    done = run_python(code)
    assert done.stdout == "interrupted\nTrue\n", done.stderr


def test_no_process_and_no_zombie_is_left() -> None:
    code = """
import jobmeter, os
with jobmeter.track(interval=0.01):
    pass
print(open(f"/proc/self/task/{os.getpid()}/children").read().split())
"""
    assert run_python(code).stdout == "[]\n"


def child_work(event: Any) -> None:
    block = hold(40)
    burn(0.2)
    event.wait(60)
    del block


def test_descendants_share_memory_that_is_counted_once() -> None:
    block = hold(50)
    context = multiprocessing.get_context("fork")
    event = context.Event()
    child = context.Process(target=child_work, args=(event,))
    # Helpers that multiprocessing keeps for later tests are our descendants too.
    with jobmeter.track() as before:
        pass
    living = before.usage.cpu.combined.processes_max or 0
    with jobmeter.track(interval=0.02) as run:
        child.start()
        burn(0.6)
        run.mark("both are there")
        event.set()
        child.join()
    ram, cpu = run.usage.ram, run.usage.cpu
    main, descendants, combined = (s.rss_bytes_max or 0 for s in (ram.main, ram.descendants, ram.combined))
    assert descendants >= 40 << 20
    # The forked child shares the parent's 50 MB until it writes to them.
    assert combined < main + descendants - (20 << 20)
    assert combined >= max(main, descendants)
    assert (cpu.descendants.cpu_ns or 0) >= 150_000_000
    assert cpu.combined.processes_max == living + 1
    del block
