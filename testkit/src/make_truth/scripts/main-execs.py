# The main process is large first and small later: its mark is that of the last program only.
import os

block = bytearray(90_000_000)
for at in range(0, len(block), 4096):
    block[at] = 1
with open(os.environ["TRUTH_FILE"], "a") as out:
    out.write("combined.rss_bytes_max 90000000 115000000\n")
    out.write("main.rss_bytes_max 90000000 115000000\n")
os.execv("/bin/sleep", ["sleep", "0.3"])
