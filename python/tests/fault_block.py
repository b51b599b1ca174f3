"""A program with a tracked block, for the fault sweep: it tells the injector when its own thread is inside jobmeter,
so that only jobmeter's system calls fail and never the program's own.

Usage: fault_block.py FOLDER end|raise|exit
"""

from __future__ import annotations

import os
import sys
import time
import warnings

import jobmeter

# All of the package is loaded before: an import that fails is an ImportError, as of any package.
import jobmeter._native
import jobmeter._tracker

ENTER, LEAVE = 1, 2
# A warning is a line of text here, as in most programs, and needs no files of its own.
warnings.simplefilter("always")


def mark(side: int) -> None:
    """A system call without effect that nobody else makes; `testkit fault-marked` looks for it."""
    os.sched_get_priority_max(side)


def main() -> None:
    folder, ending = sys.argv[1:]
    mark(ENTER)
    with jobmeter.track(interval=0.005, record=os.path.join(folder, "run.jobmeter")):
        mark(LEAVE)
        os.mkdir(os.path.join(folder, f"began-{os.getpid()}"))
        time.sleep(0.02)
        os.mkdir(os.path.join(folder, f"ended-{os.getpid()}"))
        mark(ENTER)
        if ending == "raise":
            raise KeyError("the user's own")
        if ending == "exit":
            sys.exit(5)
    mark(LEAVE)
    print("out", flush=True)
    os._exit(3)


try:
    main()
except KeyError as error:
    mark(LEAVE)
    print("out", repr(error), flush=True)
    os._exit(4)
except BaseException:
    # What the interpreter says of it is not jobmeter's to write.
    mark(LEAVE)
    raise
