"""One process with descriptors and other files of the kernel, as job.json says: a list of steps, each a map of files below
the root (PID stands for its number) and the seconds that it lasts."""

import json
import os
import time

ROOT = os.environ["JOBMETER_GPU_ROOT"]
PID = str(os.getpid())


def put(path, text):
    path = os.path.join(ROOT, path.replace("PID", PID))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if path.split("/")[-2] == "fd":
        os.symlink(text, path)
        return
    with open(path + ".next", "w") as file:
        file.write(text.replace("PID", PID))
    os.rename(path + ".next", path)


with open("job.json") as job:
    STEPS = json.load(job)
# The process is there for the meter from the moment on that it has its descriptors.
time.sleep(0.2)
os.makedirs(f"{ROOT}/proc/{PID}/fd", exist_ok=True)
for number, (files, seconds) in enumerate(STEPS):
    for path, text in files.items():
        put(path, text)
    if number == 0:
        with open("/proc/self/stat") as own:
            put("proc/PID/stat", own.read())
    time.sleep(seconds)
