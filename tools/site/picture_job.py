"""The job in the pictures: loads data, works on it in two processes, writes the result."""

import multiprocessing
import os
import subprocess
import time


def mark(*words: str) -> None:
    subprocess.run(["jobmeter", "mark", *words], check=True)


def work(seconds: float) -> None:
    block = bytearray(os.urandom(1 << 20)) * 60
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        block[:] = block[::-1]


mark("--begin", "load")
data = []
for _ in range(30):
    data.append(bytearray(8 << 20))
    time.sleep(0.05)
mark("--end", "load")
mark("--begin", "train")
workers = [multiprocessing.Process(target=work, args=(seconds,)) for seconds in (2.0, 3.0)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
mark("--end", "train")
mark("--begin", "save")
del data[5:]
with open("model.bin", "wb") as file:
    for _ in range(20):
        file.write(os.urandom(4 << 20))
        time.sleep(0.03)
mark("--end", "save")
