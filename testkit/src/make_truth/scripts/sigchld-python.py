# As a Python server does it: SIGCHLD ignored, children forked and forgotten.
import os
import signal
import time

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for number in range(8):
    if os.fork() == 0:
        block = bytearray(30_000_000)
        for at in range(0, len(block), 4096):
            block[at] = 1
        with open(f"out{number}", "wb") as out:
            out.write(block[:2_000_000])
        os._exit(number)
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
time.sleep(0.05)
