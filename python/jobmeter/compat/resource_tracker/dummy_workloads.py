"""Work that does nothing but burn CPU, to try a tracker on."""

from __future__ import annotations

import random
import time


def cpu_single(duration: float = 1) -> None:
    """Multiply random numbers for `duration` seconds."""
    end = time.monotonic() + duration
    product = 1.0
    while time.monotonic() < end:
        product = product * random.random() or 1.0


def cpu_multi(duration: float = 1, ncores: int = 2) -> float:
    """Multiply random numbers in `ncores` processes at once; returns the seconds it took."""
    import multiprocessing

    begin = time.monotonic()
    workers = [multiprocessing.Process(target=cpu_single, args=(duration,)) for _ in range(ncores)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.monotonic() - begin
