# Forked copies whose first thread ends at once: another one takes memory, and nothing is shown of it but by that thread.
import ctypes
import os
import threading
import time

EXIT = 60 if os.uname().machine == "x86_64" else 93


def take() -> None:
    time.sleep(0.01)
    block = bytearray(40_000_000)
    time.sleep(0.15)
    os._exit(0 if block else 1)


for _ in range(3):
    if os.fork() == 0:
        threading.Thread(target=take).start()
        ctypes.CDLL(None).syscall(EXIT, 0)
for _ in range(3):
    os.wait()
