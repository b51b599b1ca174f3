"""Every example of the reference pages, typed line by line at the prompt of an interpreter that has a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from pathlib import Path
from typing import List

import pytest

INSTALL = "import jobmeter.compat\njobmeter.compat.install(force=True)\n"
MODULE = """
def example_function():
    import time
    block = bytearray(60_000_000)
    end = time.monotonic() + 0.3
    while time.monotonic() < end: sum(range(1000))
"""

GPU_TRACKER_1 = """
import gpu_tracker as gput
tracker = gput.Tracker()
tracker.start()
# Perform expensive operations
tracker.stop()
print(tracker)
with gput.Tracker() as tracker:
    # Perform expensive operations
    pass

print(tracker)
with gput.Tracker(ram_unit='megabytes', gpu_ram_unit='kilobytes', time_unit='seconds') as tracker:
    # Perform expensive operations
    pass

print(tracker)
import json
print(json.dumps(tracker.to_json(), indent=1))
tracker.max_ram
tracker.max_gpu_ram
tracker.compute_time
"""
GPU_TRACKER_2 = """
import gpu_tracker as gput
from example_module import example_function
tracker = gput.Tracker(n_expected_cores=1, sleep_time=0.1)
tracker.start()
example_function()
tracker.stop()
print(tracker)
with gput.Tracker() as tracker:
    example_function()

with gput.Tracker(ram_unit='megabytes', gpu_ram_unit='megabytes', time_unit='seconds', sleep_time=0.1) as tracker:
    example_function()

print(tracker)
import json
print(json.dumps(tracker.to_json(), indent=1))
tracker.resource_usage.max_ram
tracker.resource_usage.max_ram.unit
tracker.resource_usage.max_ram.main
tracker.resource_usage.max_ram.main.total_rss
tracker.resource_usage.max_gpu_ram
tracker.resource_usage.compute_time
try:
    with gput.Tracker() as tracker:
        example_function()
        raise RuntimeError('AN ERROR')
except Exception as error:
    print(f'The following error occured while tracking: {error}')
finally:
    print(tracker.resource_usage.max_gpu_ram.main)

import multiprocessing as mp
ctx = mp.get_context(method='spawn')
child_process = ctx.Process(target=example_function)
with gput.Tracker(n_expected_cores=2, sleep_time=0.2) as tracker:
    child_process.start()
    example_function()
    child_process.join()

child_process.close()
print(tracker)
tracker.resource_usage.max_ram.descendants.total_rss > 0
"""
RESOURCE_TRACKER = """
from resource_tracker import ResourceTracker
tracker = ResourceTracker(interval=0.1)
total = sum(i**3 for i in range(int(1e6)))
tracker.stop()
tracker.process_metrics
tracker.system_metrics
tracker.get_combined_metrics()
tracker.stats()
tracker.recommend_resources()
tracker.recommend_server()
report = tracker.report()
len(report.save("report.html")) > 1000
from resource_tracker import get_cloud_info, get_server_info
get_cloud_info()
get_server_info()
from resource_tracker import SystemTracker
import threading
tracker = SystemTracker(interval=0.1, autostart=False)
threading.Thread(target=tracker.start_tracking, args=("system.csv",), daemon=True).start()
tracker.diff_stats()["cpu_usage"] >= 0
"""
RESENG = """
import time
from reseng.monitor import *
from reseng.monitor import _use_cpu, _use_mem
import matplotlib
matplotlib.use("Agg")
mon = ResourceMonitor(interval=0.1)
mon.start()
mon.tag('cpu v')
_use_cpu(0.3)
mon.tag('cpu ^')
_use_mem(3, 1)
mon.tag('mem1 ^')
mon.stop()
mon.plot()
@log_start_finish
def func(x, d):
    time.sleep(0.05)
    return x + 1

import pandas as pd
func(1, d=pd.DataFrame(index=range(1000), columns=range(5)))
import multiprocessing
@log_start_finish
def func(x):
    time.sleep(0.05)
    return x + 1

with multiprocessing.Pool(2) as pool:
    result = pool.map(func, range(4))

result
"""


class Prompt:
    """An interpreter at the other end of a terminal."""

    def __init__(self, folder: Path) -> None:
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(folder)
            # The plain prompt, without colours and cursor movements, whatever the version.
            os.environ.update(TERM="dumb", PYTHON_BASIC_REPL="1", PYTHONPATH=str(folder), COLUMNS="500")
            os.execv(sys.executable, [sys.executable, "-q"])
        self.text = ""
        self._read_until_prompt()

    def type(self, line: str) -> None:
        os.write(self._terminal, line.encode() + b"\n")
        self._read_until_prompt()

    def end(self) -> int:
        """Control-D; returns the status."""
        os.write(self._terminal, b"\x04")
        while self._read(60):
            pass
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def _read_until_prompt(self) -> None:
        seen = len(self.text)
        while not re.search(r"(>>>|\.\.\.) $", self.text[seen:]):
            assert self._read(60), f"the interpreter ended or says nothing more: {self.text}"

    def _read(self, patience_s: float) -> bool:
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            if select.select([self._terminal], [], [], 0.5)[0]:
                try:
                    data = os.read(self._terminal, 65536)
                except OSError:
                    return False
                self.text += data.decode(errors="replace")
                return bool(data)
        os.kill(self._pid, signal.SIGKILL)
        return False


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        (GPU_TRACKER_1, ["Max RAM:", '"max_gpu_ram": {', "MaxRAM(unit='megabytes'", "ComputeTime(unit='seconds'"]),
        (GPU_TRACKER_2, ["RSSValues(total_rss=", "The following error occured while tracking: AN ERROR", "\nTrue\n"]),
        (RESOURCE_TRACKER, ["TinyDataFrame with", "'process_cpu_usage': {'mean':", "{'vcpus': ", "\nTrue\n>>> from", "\nTrue\n"]),
        (RESENG, ["func(1, d=dataframe(1000, 5)) finished in 0.", "[1, 2, 3, 4]"]),
    ],
    ids=["gpu_tracker 1", "gpu_tracker 2 and 3", "resource_tracker", "reseng.monitor"],
)  # fmt: skip
def test_examples_can_be_typed(tmp_path: Path, session: str, expected: List[str]) -> None:
    for name in ("pandas", "matplotlib"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    (tmp_path / "example_module.py").write_text(MODULE)
    prompt = Prompt(tmp_path)
    for line in (INSTALL + session.strip("\n")).split("\n"):
        prompt.type(line)
    status = prompt.end()
    text = prompt.text.replace("\r\n", "\n")
    assert "Traceback" not in text and status == 0, text
    for words in expected:
        assert words in text, f"{words!r} is not in {text}"
