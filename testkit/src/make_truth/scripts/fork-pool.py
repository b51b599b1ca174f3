# A pool of forked workers over a large array: all read it, each changes its own tenth of a quarter.
import multiprocessing as mp
import os
import time

SIZE = 300_000_000
EACH = 10_000_000
block = bytearray(SIZE)
for at in range(0, SIZE, 4096):
    block[at] = 1


def work(number):
    total = 0
    for at in range(0, SIZE, 4096):
        total += block[at]
    start = number * EACH
    for at in range(start, start + EACH, 4096):
        block[at] = 2
    time.sleep(0.3)
    return total


if __name__ == "__main__":
    mp.set_start_method("fork")
    with mp.Pool(4) as pool:
        pool.map(work, range(4), chunksize=1)
    # What a worker changed is a copy; a slow worker may have been given two turns.
    with open(os.environ["TRUTH_FILE"], "a") as out:
        out.write(f"combined.rss_bytes_max {SIZE} {SIZE + 4 * EACH + 80_000_000}\n")
