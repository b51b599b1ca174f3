"""A job that is on imaginary AMD or Intel GPUs: main and two children, whose descriptors stand in the kernel's formats
below a root of their own. script.json says what they hold and how busy they are, frame by frame."""

import json
import os
import shutil
import time

ROOT = os.environ["JOBMETER_GPU_ROOT"]
STEP_S = 0.003


def put(path, text):
    """In one step, as a reader may look at any time."""
    path = os.path.join(ROOT, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".next", "w") as file:
        file.write(text)
    os.rename(path + ".next", path)


def child():
    """Lives until its pipe is closed."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(write)
        for other in ENDS.values():
            os.close(other)
        os.read(read, 1)
        os._exit(0)
    os.close(read)
    return pid, write


def settle(pid, descriptors, late=0):
    """`proc/PID` of a process with these descriptors; `late` makes it another process with the same number."""
    with open(f"/proc/{pid}/stat") as file:
        head, tail = file.read().rsplit(")", 1)
    fields = tail.split()
    fields[19] = str(int(fields[19]) + late)
    for descriptor, text in descriptors.items():
        put(f"proc/{pid}/fdinfo/{descriptor}", text)
        os.makedirs(f"{ROOT}/proc/{pid}/fd", exist_ok=True)
        os.symlink("/dev/dri/renderD128", f"{ROOT}/proc/{pid}/fd/{descriptor}")
    put(f"proc/{pid}/stat", f"{head}) {' '.join(fields)}\n")


class Client:
    """One client of a card. Its engine is busy a fixed share of the time."""

    def __init__(self, told):
        self.told = told
        self.memory_kib = 0
        self.busy = 0
        self.total = 0

    def go_on(self, elapsed_ns):
        # Whole microseconds, so that the share of the cycles is exact.
        self.total += elapsed_ns // 1000
        self.busy = self.total * self.told["permille"] * self.told["capacity"]

    def text(self):
        told, engine = self.told, self.told["engine"]
        lines = [
            f"drm-driver:\t{told['driver']}",
            f"drm-client-id:\t{told['id']}",
            f"drm-pdev:\t{told['pdev']}",
            f"drm-total-{told['region']}:\t{self.memory_kib + 64} KiB",
            f"drm-resident-{told['region']}:\t{self.memory_kib} KiB",
            f"drm-engine-capacity-{engine}:\t{told['capacity']}",
        ]
        if told["driver"] == "xe":
            lines += [f"drm-cycles-{engine}:\t{self.busy}", f"drm-total-cycles-{engine}:\t{self.total * 1000}"]
        else:
            lines += [f"drm-engine-{engine}:\t{self.busy} ns"]
        return "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t1088\n" + "\n".join(lines) + "\n"


ENDS = {}
with open("script.json") as script_file:
    SCRIPT = json.load(script_file)
PIDS = {"main": os.getpid()}
for name in ("one", "two"):
    PIDS[name], ENDS[name] = child()

clients = [Client(told) for told in SCRIPT["clients"]]
# The meter has to know the children before they hold anything.
time.sleep(0.3)
for name, pid in PIDS.items():
    held = {d: c.text() for c in clients for d in c.told["owners"].get(name, [])}
    settle(pid, held)

before_ns = time.monotonic_ns()
for number in range(len(SCRIPT["frames"])):
    for path, text in SCRIPT["frames"][number].items():
        put(path, text)
    for client in clients:
        client.memory_kib = client.told["memory_kib"][number]
    end_ns = time.monotonic_ns() + int(SCRIPT["frame_s"] * 1e9)
    while before_ns < end_ns:
        now_ns = time.monotonic_ns()
        for client in clients:
            client.go_on(now_ns - before_ns)
            for name, descriptors in client.told["owners"].items():
                for descriptor in descriptors:
                    put(f"proc/{PIDS[name]}/fdinfo/{descriptor}", client.text())
        before_ns = now_ns
        time.sleep(STEP_S)

# One child ends, and a stranger with much more memory gets its number at once.
stranger = Client(dict(SCRIPT["clients"][0], id=99))
stranger.memory_kib = 64 << 20
gone = PIDS["two"]
with open("/proc/self/stat") as own:
    tail = own.read()
os.close(ENDS["two"])
os.waitpid(gone, 0)
shutil.rmtree(f"{ROOT}/proc/{gone}")
put(f"proc/{gone}/fdinfo/5", stranger.text())
os.makedirs(f"{ROOT}/proc/{gone}/fd")
os.symlink("/dev/dri/renderD128", f"{ROOT}/proc/{gone}/fd/5")
put(f"proc/{gone}/stat", tail.replace(str(os.getpid()), str(gone), 1))
time.sleep(SCRIPT["frame_s"])
