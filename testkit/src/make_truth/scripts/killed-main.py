# The main process is large and is killed; its child is small and ends a little earlier.
import os
import signal
import time

block = bytearray(90_000_000)
for at in range(0, len(block), 4096):
    block[at] = 1
pid = os.posix_spawn("/bin/sleep", ["sleep", "0.3"], dict(os.environ))
os.waitpid(pid, 0)
with open(os.environ["TRUTH_FILE"], "a") as out:
    out.write("combined.rss_bytes_max 90000000 115000000\n")
    out.write("main.rss_bytes_max 90000000 115000000\n")
    # posix_spawn shares the memory of its parent until the new program runs.
    out.write("descendants.rss_bytes_max - 115000000\n")
os.kill(os.getpid(), signal.SIGKILL)
