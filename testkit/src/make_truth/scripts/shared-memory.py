# Four processes map one block of shared memory and touch all of it.
import multiprocessing as mp
import os
import time
from multiprocessing import shared_memory

SIZE = 200_000_000


def work(name, ready):
    block = shared_memory.SharedMemory(name=name)
    total = sum(block.buf[at] for at in range(0, SIZE, 4096))
    ready.wait()
    time.sleep(0.3)
    block.close()
    return total


if __name__ == "__main__":
    mp.set_start_method("fork")
    block = shared_memory.SharedMemory(create=True, size=SIZE)
    for at in range(0, SIZE, 4096):
        block.buf[at] = 1
    ready = mp.Barrier(4)
    workers = [mp.Process(target=work, args=(block.name, ready)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    block.close()
    block.unlink()
    with open(os.environ["TRUTH_FILE"], "a") as out:
        out.write(f"combined.rss_bytes_max {SIZE} {SIZE + 90_000_000}\n")
