"""Nothing that goes wrong on our side becomes the program's: a full disk, a fork at a bad moment, few descriptors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_TOO_LONG_S = 60


def _python(code: str, *arguments: str, cwd: Path, flags: Any = ()) -> subprocess.CompletedProcess[str]:
    """Runs code in an interpreter of its own; one that hangs is ended and fails the test."""
    return subprocess.run(
        [sys.executable, *flags, "-c", code, *arguments],
        capture_output=True, text=True, timeout=_TOO_LONG_S, cwd=cwd,
    )  # fmt: skip


# Files of this process may not grow any more: what a full disk does, for any user.
_FULL_DISK = """
import resource, sys, warnings
import jobmeter
def fill_disk():
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
def caught(body):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            body()
            raised = None
        except BaseException as error:
            raised = error
    return raised, [w for w in told if issubclass(w.category, getattr(jobmeter, "JobmeterWarning", ()))]
"""

_BODIES = {
    "block": """
def body():
    with jobmeter.track(record="run.jobmeter"):
        fill_disk()
        if fails: raise KeyError("mine")
""",
    "async block": """
import asyncio
async def work():
    async with jobmeter.track(record="run.jobmeter"):
        fill_disk()
        if fails: raise KeyError("mine")
def body(): asyncio.run(work())
""",
    "decorator": """
@jobmeter.tracked(record="run.jobmeter")
def body():
    fill_disk()
    if fails: raise KeyError("mine")
""",
    "by hand": """
def body():
    tracker = jobmeter.Tracker(record="run.jobmeter").start()
    try:
        fill_disk()
        if fails: raise KeyError("mine")
    finally:
        tracker.stop()
""",
    "gpu_tracker": """
import time
from jobmeter.compat.gpu_tracker import Tracker
def body():
    with Tracker(tracking_file="tracking.csv", sleep_time=0.1):
        fill_disk()
        time.sleep(0.5)  # rows come every tenth of a second; without one there is nothing to write, and to warn of
        if fails: raise KeyError("mine")
""",
    "gpu_tracker's sub-tracker": """
from jobmeter.compat.gpu_tracker import SubTracker
def body():
    with SubTracker("block", sub_tracking_file="sub.csv"):
        fill_disk()
        if fails: raise KeyError("mine")
""",
}


@pytest.mark.parametrize("form", _BODIES)
def test_a_full_disk_is_a_warning_and_never_the_programs_exception(form: str, tmp_path: Path) -> None:
    for fails in (False, True):
        code = f"{_FULL_DISK}\nfails = {fails}\n{_BODIES[form]}\nraised, told = caught(body)\n" + (
            "assert (repr(raised) == \"KeyError('mine')\") if fails else raised is None, repr(raised)\n"
            "assert len(told) == 1, [str(w.message) for w in told]\n"
            "print(told[0].message)\n"
        )
        folder = tmp_path / str(fails)
        folder.mkdir()
        done = _python(code, cwd=folder)
        assert done.returncode == 0, done.stderr


def test_where_warnings_are_errors_the_programs_own_exception_still_wins(tmp_path: Path) -> None:
    code = f"{_FULL_DISK}\nfails = True\n{_BODIES['block']}\nbody()"
    done = _python(code, cwd=tmp_path, flags=["-W", "error"])
    assert done.stderr.rstrip().endswith("KeyError: 'mine'"), done.stderr


def test_a_full_disk_at_exit_is_not_the_programs_failure(tmp_path: Path) -> None:
    code = f"{_FULL_DISK}\njobmeter.track(record='run.jobmeter').start()\nfill_disk()"
    done = _python(code, cwd=tmp_path)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr


_FORKS = """
import os, sys, threading, time
import jobmeter

def first_use():
    with jobmeter.track() as run:
        pass
    run.usage

# The first use in a thread takes some milliseconds; the fork comes at another moment of it each time.
began = time.monotonic()
thread = threading.Thread(target=first_use)
thread.start()
if sys.argv[1] == "measure":
    thread.join()
    print(time.monotonic() - began)
    sys.exit()
time.sleep(float(sys.argv[1]))
child = os.fork()
if child == 0:
    first_use()
    os._exit(7)
deadline = time.monotonic() + 20
while True:
    pid, status = os.waitpid(child, os.WNOHANG)
    if pid or time.monotonic() > deadline:
        break
    time.sleep(0.005)
if not pid:
    os.kill(child, 9)
    os.waitpid(child, 0)
    sys.exit("the child hangs")
assert os.waitstatus_to_exitcode(status) == 7, status
thread.join()
"""


def test_a_fork_during_the_first_use_in_another_thread_leaves_a_child_that_works(tmp_path: Path) -> None:
    measured = _python(_FORKS, "measure", cwd=tmp_path)
    assert measured.returncode == 0, measured.stderr
    takes_s = float(measured.stdout)
    for step in range(60):
        delay_s = takes_s * step / 60
        done = _python(_FORKS, str(delay_s), cwd=tmp_path)
        assert done.returncode == 0, f"forked after {delay_s * 1e3:.1f} of {takes_s * 1e3:.1f} ms: {done.stderr}"


_LIMITS = """
import json, os, resource, subprocess, sys
import jobmeter
children = [subprocess.Popen(["sleep", "60"]) for _ in range(80)]
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), 4096))
before = resource.getrlimit(resource.RLIMIT_NOFILE)
try:
    open_before = len(os.listdir("/proc/self/fd"))
    with jobmeter.track(interval=0.02) as run:
        run.mark("look")
        open_during = len(os.listdir("/proc/self/fd"))
        if sys.argv[2] == "exhaust":
            taken = []
            try:
                while True: taken.append(os.open("/dev/null", os.O_RDONLY))
            except OSError: pass
            run.mark("nothing left")
            mine = len(taken)
            for descriptor in taken: os.close(descriptor)
        else:
            mine = None
    after = resource.getrlimit(resource.RLIMIT_NOFILE)
finally:
    for child in children: child.kill()
    for child in children: child.wait()
told = run.to_dict()
print(json.dumps({
    "limits": [before, after], "kept": open_during - open_before, "mine": mine,
    "processes": told["combined"]["processes_total"], "warnings": [w["kind"] for w in told["warnings"]],
}))
"""


def _limited(limit: int, how: str, cwd: Path) -> Any:
    import json

    done = _python(_LIMITS, str(limit), how, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("limit", [40, 64, 256, 1024])
def test_a_tracker_leaves_the_programs_limit_alone_and_takes_a_small_share(limit: int, tmp_path: Path) -> None:
    told = _limited(limit, "look", tmp_path)
    assert told["limits"][0] == told["limits"][1], "the limit is the program's"
    # An eighth of what is free, and what the meter needs for itself and the machine.
    assert told["kept"] <= limit / 8 + 20, told
    assert told["processes"]["value"] >= 81 or "descriptors" in told["warnings"], told


def test_a_program_that_uses_up_its_descriptors_is_told_what_is_missing(tmp_path: Path) -> None:
    told = _limited(128, "exhaust", tmp_path)
    assert told["mine"] >= 64, told
    if "descriptors" in told["warnings"]:
        assert told["processes"]["quality"] == "lower_bound", told
    else:
        assert told["processes"]["value"] >= 81, told


def test_a_subinterpreter_is_refused_with_an_error(tmp_path: Path) -> None:
    code = (
        "try:\n    import _interpreters as interpreters\n"
        "except ImportError:\n    import _xxsubinterpreters as interpreters\n"
        "other = interpreters.create()\n"
        "script = 'import jobmeter\\ntry:\\n    jobmeter.track\\nexcept ImportError as error:\\n"
        "    print(type(error).__name__, flush=True)\\nelse:\\n    print(\"works\", flush=True)'\n"
        "interpreters.run_string(other, script)"
    )
    done = _python(code, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.strip() in ("ImportError", "works"), done.stdout + done.stderr


def test_a_daemon_thread_that_still_measures_does_not_spoil_the_end(tmp_path: Path) -> None:
    code = (
        "import threading, time, jobmeter\n"
        "def for_ever():\n    while True:\n        with jobmeter.track(): pass\n"
        "threading.Thread(target=for_ever, daemon=True).start()\n"
        "time.sleep(0.2)"
    )
    for _ in range(3):
        done = _python(code, cwd=tmp_path)
        assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr)
