"""Work with a known minimum of CPU and memory."""

from __future__ import annotations

import resource
import time


def burn(seconds: float) -> None:
    """Use this much CPU time of this thread, however busy the machine and other threads are."""
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        sum(range(1000))


def hold(megabytes: int) -> bytearray:
    """Memory that is really there: every page is written."""
    block = bytearray(megabytes << 20)
    block[:: resource.getpagesize()] = b"x" * len(range(0, len(block), resource.getpagesize()))
    return block


def example_function() -> None:
    """The work of the tutorial's example, without its GPU."""
    block = hold(60)
    burn(0.3)
    del block


def pages_kept() -> int:
    """Resident memory now, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
