# Memory that the job holds but does not map: 100 MB written to a memfd.
import os
import time

SIZE = 100_000_000
fd = os.memfd_create("held")
chunk = b"x" * 1_000_000
for _ in range(SIZE // len(chunk)):
    os.write(fd, chunk)
time.sleep(0.4)
with open(os.environ["TRUTH_FILE"], "a") as out:
    out.write(f"combined.unmapped_memory_peak_bytes {SIZE} {SIZE + 4_000_000}\n")
    out.write("combined.rss_bytes_max - 60000000\n")
