# A parent rewrites its memory while a forked copy of it lives, as a database does that writes a snapshot: the copy keeps
# the pages as they were, without a fault of its own.
import os
import time

SIZE = 120_000_000
block = bytearray(b"x") * SIZE
child = os.fork()
if child == 0:
    time.sleep(1.5)
    os._exit(0)
time.sleep(0.1)
for at in range(0, SIZE, 4096):
    block[at] = 1
time.sleep(0.5)
os.waitpid(child, 0)
with open(os.environ["TRUTH_FILE"], "a") as file:
    file.write(f"combined.rss_bytes_max {2 * SIZE} -\n")
