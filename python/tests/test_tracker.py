"""Trackers on the real engine: figures against independent witnesses, states, errors, marks and phases."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Iterator, List

import pytest
from workloads import burn, hold, pages_kept

import jobmeter


def own_cpu_ns() -> int:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return round((usage.ru_utime + usage.ru_stime) * 1e9)


def test_cpu_and_ram_agree_with_the_kernel() -> None:
    before_ns, before_bytes = own_cpu_ns(), pages_kept()
    threads = len(os.listdir("/proc/self/task"))
    with jobmeter.track(interval=0.02) as run:
        block = hold(100)
        burn(0.3)
        inside = pages_kept()
    witness_ns = own_cpu_ns() - before_ns
    del block
    usage = run.usage
    found = usage.cpu.main.cpu_ns
    assert found is not None
    # The meter's own thread is not the program's: at most what the whole process used, at least the work.
    assert 290_000_000 <= found <= witness_ns + 10_000_000
    peak = usage.ram.main.rss_bytes_max
    assert peak is not None
    assert before_bytes + (95 << 20) <= peak <= inside + (8 << 20)
    assert usage.cpu.main.threads_max == threads
    assert usage.time.wall_ns is not None and usage.time.wall_ns >= 300_000_000


def test_cpu_of_a_program_without_threads_is_exact() -> None:
    # In a process of its own: other tests leave threads behind, and what short threads lose makes it a lower bound.
    code = "import jobmeter\nwith jobmeter.track() as run: sum(range(10**6))\nprint(run.usage.quality['main.cpu_ns'].quality)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "exact", done.stderr


def test_the_dict_is_the_schema_of_the_summary() -> None:
    with jobmeter.track(name="x") as run:
        pass
    summary = run.to_dict()
    assert summary["schema_version"] == 1
    assert summary["run"]["name"] == "x" and summary["run"]["pid"] == os.getpid()
    assert json.loads(run.to_json(indent=1)) == summary
    for scope in ("main", "descendants", "combined", "system"):
        assert isinstance(summary[scope], dict)


def test_values_are_live_while_running() -> None:
    with jobmeter.track(interval=0.02) as run:
        burn(0.1)
        run.mark("now")
        first = run.usage.cpu.main.cpu_ns
        burn(0.1)
        run.mark("later")
        second = run.usage.cpu.main.cpu_ns
        assert run.running
        assert first is not None and second is not None and second - first >= 90_000_000
        assert "still running" in str(run)
        count = len(run.samples())
    assert len(run.samples()) > count
    assert not run.running


def test_start_stop_and_once_more() -> None:
    tracker = jobmeter.Tracker()
    with pytest.raises(RuntimeError, match="never started"):
        tracker.stop()
    with pytest.raises(RuntimeError, match="nothing was measured yet"):
        tracker.usage
    tracker.start()
    with pytest.raises(RuntimeError, match="running already"):
        tracker.start()
    first = tracker.stop().to_dict()["run"]["id"]
    tracker.stop()
    with tracker:
        pass
    assert tracker.to_dict()["run"]["id"] != first


def test_nested_and_simultaneous_trackers() -> None:
    with jobmeter.track("outer") as outer:
        burn(0.05)
        with jobmeter.track("inner") as inner:
            burn(0.05)
            jobmeter.mark("to the innermost")
    assert inner.marks()["name"] == ["to the innermost"]
    assert outer.marks()["name"] == []
    inside, all_of_it = inner.usage.cpu.main.cpu_ns, outer.usage.cpu.main.cpu_ns
    assert inside is not None and all_of_it is not None
    assert 45_000_000 <= inside <= all_of_it - 45_000_000


def test_usage_prints_as_a_short_tree_of_what_is_known() -> None:
    with jobmeter.track(interval=0.05) as run:
        sum(range(200_000))
    lines = str(run.usage).splitlines()
    assert lines[0] == "ram" and any(line.startswith("  combined: rss_bytes_max ") and " MB" in line for line in lines)
    assert "None" not in str(run.usage) and "quality" not in str(run.usage)
    assert len(lines) < 40


def test_the_usage_up_to_a_failure_is_there() -> None:
    with pytest.raises(KeyboardInterrupt):
        with jobmeter.track() as run:
            burn(0.05)
            raise KeyboardInterrupt
    assert not run.running
    assert (run.usage.cpu.main.cpu_ns or 0) >= 45_000_000


def test_phases_nest_and_each_thread_has_its_own() -> None:
    with jobmeter.track(interval=10) as run:
        with run.phase("outer"):
            with run.phase("inner"):
                burn(0.1)
            thread = threading.Thread(target=run.phase_of(lambda: burn(0.05)))
            thread.start()
            thread.join()
    phases = run.phases().to_dict()
    assert phases["name"][:2] == ["outer", "inner"]
    assert phases["depth"] == [0, 1, 0]
    assert phases["tid"][2] != phases["tid"][0] == phases["tid"][1]
    # A tick is taken with every boundary, so counts are exact though no regular tick came.
    outer, inner, threaded = phases["cpu_ns"]
    assert inner >= 95_000_000 and threaded >= 45_000_000
    assert outer >= inner + threaded
    assert all(b < e for b, e in zip(phases["begin_ns"], phases["end_ns"]))


def test_marks_come_from_child_processes() -> None:
    code = "import jobmeter\njobmeter.mark('from the child')\nwith jobmeter.phase('work'): sum(range(10**6))"
    with jobmeter.track() as run:
        child = subprocess.Popen([sys.executable, "-c", code])
        assert child.wait() == 0
    assert run.marks()["name"] == ["from the child"]
    assert run.marks()["pid"] == [child.pid]
    assert run.phases()["name"] == ["work"] and run.phases()["pid"] == [child.pid]


def test_marks_outside_of_any_run_do_nothing() -> None:
    jobmeter.mark("nobody listens")
    with jobmeter.phase("nor here"):
        pass
    with pytest.raises(ValueError):
        jobmeter.mark("")


def test_decorators() -> None:
    runs: List[jobmeter.Tracker] = []

    @jobmeter.tracked
    def plain(x: int) -> int:
        burn(0.02)
        return x + 1

    @jobmeter.tracked(name="named", on_done=runs.append)
    async def waiting(x: int) -> int:
        await asyncio.sleep(0.01)
        return x + 1

    @jobmeter.tracked(on_done=runs.append)
    def failing() -> None:
        raise ValueError("no")

    assert plain(1) == 2
    assert (plain.run.usage.cpu.main.cpu_ns or 0) >= 15_000_000  # type: ignore[attr-defined]
    assert asyncio.run(waiting(1)) == 2
    assert runs[0].to_dict()["run"]["name"] == "named"
    assert (runs[0].usage.time.wall_ns or 0) >= 10_000_000
    with pytest.raises(ValueError, match="no"):
        failing()
    assert len(runs) == 2 and not runs[1].running


def test_async_with() -> None:
    async def work() -> jobmeter.Tracker:
        async with jobmeter.Tracker() as run:
            await asyncio.sleep(0.01)
        return run

    assert (asyncio.run(work()).usage.time.wall_ns or 0) >= 10_000_000


def test_another_process_by_its_pid() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time\nx = bytearray(50 << 20)\nprint(flush=True)\ntime.sleep(60)"],
                          stdout=subprocess.PIPE) as child:  # fmt: skip
        assert child.stdout is not None
        child.stdout.readline()
        with jobmeter.track(pid=child.pid, interval=0.05) as run:
            run.mark("look")
        child.kill()
    assert run.to_dict()["run"]["mode"] == "attach"
    assert (run.usage.ram.main.rss_bytes_max or 0) >= 50 << 20


def test_a_tracker_of_another_process_ends_with_it() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.3)"])
    run = jobmeter.Tracker(pid=child.pid, interval=60).start()
    child.wait()
    end = time.monotonic() + 20
    while run.running:
        assert time.monotonic() < end, "the end of the process was not noticed"
        time.sleep(0.005)
    assert run.to_dict()["verdict"]["kind"] == "unknown"
    run.stop()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"pid": 2**22 + 1}, ProcessLookupError, "there is no process"),
        ({"pid": 0}, ValueError, "pid must be the number of a process"),
        ({"interval": 0}, ValueError, "between 1 ms and 1 day"),
        ({"interval": "soon"}, ValueError, "is not a time"),
        ({"interval": float("nan")}, ValueError, "between 1 ms and 1 day"),
        ({"expected_cores": 0}, ValueError, "more than 0"),
        ({"record": "/nonexistent/folder/run.jobmeter"}, FileNotFoundError, "cannot create"),
    ],
)
def test_errors_are_of_python_s_own_kinds(options: Any, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        jobmeter.track(**options).start()


def test_intervals_with_units() -> None:
    assert jobmeter.track(interval="250ms").interval == 0.25
    assert jobmeter.track(interval="2 s").interval == 2.0
    assert jobmeter.track(interval="1min").interval == 60.0


def test_run_files(tmp_path: Path) -> None:
    path = tmp_path / "run.jobmeter"
    with jobmeter.track("kept", interval=0.02, record=path) as run:
        with run.phase("work"):
            burn(0.1)
    assert path.stat().st_mode & 0o777 == 0o600
    again = jobmeter.load(path)
    assert again.to_dict() == run.to_dict()
    assert again.samples().to_dict() == run.samples().to_dict()
    assert again.phases().to_dict() == run.phases().to_dict()
    assert str(again) == str(run)
    with pytest.raises(FileExistsError, match="exists already"):
        jobmeter.track(record=path).start()
    with pytest.raises(FileNotFoundError):
        jobmeter.load(tmp_path / "missing.jobmeter")
    (tmp_path / "noise").write_bytes(b"not a run")
    with pytest.raises(ValueError, match="not a readable run file"):
        jobmeter.load(tmp_path / "noise")


def test_ticks_keep_their_places_while_the_lock_is_held() -> None:
    """C calls that hold the interpreter lock for 100 ms and more must not delay the native thread."""
    calls = 0
    numbers = [str(number * 7_919 % 1_000_003) for number in range(300_000)]
    with jobmeter.track(interval=0.01) as run:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            # One call that never lets go of the lock.
            sorted(numbers)
            calls += 1
    # A thread that waits for the lock would have one tick for each call, however fast the machine is.
    assert len(run.samples()) > 2 * calls
    ticks = run.to_dict()["run"]
    assert ticks["ticks"] == len(run.samples())


def test_text_and_html() -> None:
    with jobmeter.track("<script>\x1b[2J") as run:
        with run.phase("a<b"):
            pass
    text, page = str(run), run._repr_html_()
    assert "\x1b" not in text and "CPU time" in text and "a<b" in text
    assert "<script>" not in page and "&lt;script&gt;" in page and "a&lt;b" in page


def test_advice_for_the_next_run() -> None:
    with jobmeter.track() as run:
        sum(range(2_000_000))
    wanted = run.recommend_resources()
    assert wanted["cpu"] >= 1 and wanted["gpu"] == 0
    assert wanted["memory"] * 2**20 >= run.usage.ram.combined.rss_bytes_max
    server = run.recommend_server(vendor="aws")
    assert server["vcpus"] >= wanted["cpu"] and server["vendor"] == "aws"


def test_a_tracked_generator_is_measured_to_its_end() -> None:
    @jobmeter.tracked
    def numbers() -> Iterator[int]:
        for number in range(3):
            time.sleep(0.02)
            yield number

    assert list(numbers()) == [0, 1, 2]
    wall_ns = numbers.run.to_dict()["run"]["wall_ns"]  # type: ignore[attr-defined]
    assert wall_ns >= 60_000_000


def test_a_name_that_is_no_text_is_named() -> None:
    with pytest.raises(TypeError, match="is a text, not int: 5"):
        jobmeter.mark(5)  # type: ignore[arg-type]


def test_completion_shows_what_is_public() -> None:
    shown = dir(jobmeter)
    assert "track" in shown and "Tracker" in shown
    assert [name for name in shown if name.startswith("_")] == ["__version__"]
