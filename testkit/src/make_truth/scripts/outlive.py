# A forked copy has memory that its parent no longer has: the parent has become another program (and ends while the copy lives, or
# lives on), or has given it back. It counts although the parent is small, at a moment when another process has most.
import mmap
import os
import subprocess
import sys
import time

SIZE = 200_000_000
how = os.environ["TRUTH_JOB"].removeprefix("outlive-")


def until(when):
    return max(0.01, when - time.time())


def parent(when):
    block = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, SIZE, 4096):
        block[at] = 1
    if os.fork() == 0:
        time.sleep(until(when + 0.5 if how == "end" else when))
        os._exit(0)
    if how == "free":
        block.close()
        time.sleep(until(when + 0.3))
        return
    os.execv("/bin/sleep", ["sleep", "%.3f" % until(when if how == "end" else when + 0.3)])


if len(sys.argv) > 1:
    parent(float(sys.argv[1]))
else:
    at = time.time() + 0.8
    child = subprocess.Popen([sys.executable, sys.argv[0], str(at)])
    time.sleep(until(at - 0.045))
    subprocess.run([os.environ["TESTKIT"], "grab", "touch", "100M", "30", "/dev/null"], check=True)
    child.wait()
    time.sleep(0.6)
