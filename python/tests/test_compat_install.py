"""`jobmeter.compat.install()` answers the imports of the other trackers, and refuses in front of real ones."""

from __future__ import annotations

import subprocess
import sys

BLOCK = """
import importlib.abc, sys
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        return None
# As if none of them were installed: only the paths of jobmeter and of the standard library remain.
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name in ("gpu_tracker", "resource_tracker", "reseng") else real(name, *a)
"""


def run(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_imports_resolve_to_ours() -> None:
    done = run(
        BLOCK
        + """
import jobmeter.compat
jobmeter.compat.install()
import gpu_tracker as gput
from gpu_tracker.tracker import Tracker
import resource_tracker
from resource_tracker import ResourceTracker, SystemTracker
from resource_tracker.tiny_data_frame import TinyDataFrame
from resource_tracker.dummy_workloads import cpu_single
import reseng.monitor
from reseng.monitor import ResourceMonitor
import jobmeter.compat.gpu_tracker
assert gput is jobmeter.compat.gpu_tracker and gput.Tracker is Tracker
assert ResourceTracker is jobmeter.compat.resource_tracker.ResourceTracker
assert ResourceMonitor.__module__ == "jobmeter.compat.reseng_monitor"
jobmeter.compat.uninstall()
assert "gpu_tracker" not in sys.modules
print("ok")
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ok\n"


def test_a_real_package_is_not_shadowed_unless_forced(tmp_path_factory: object) -> None:
    code = """
import os, sys, tempfile
folder = tempfile.mkdtemp()
open(os.path.join(folder, "reseng.py"), "w").write("real = True")
sys.path.insert(0, folder)
import jobmeter.compat
try:
    jobmeter.compat.install()
except ImportError as error:
    assert "is installed itself" in str(error), error
else:
    raise SystemExit("not refused")
import reseng
assert reseng.real
jobmeter.compat.install(force=True)
import reseng.monitor
assert reseng.monitor.ResourceMonitor
print("ok")
"""
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ok\n"


def test_other_modules_of_a_real_package_stay() -> None:
    code = """
import os, sys, tempfile
folder = tempfile.mkdtemp()
os.mkdir(os.path.join(folder, "reseng"))
for name in ("__init__", "nbd", "monitor"):
    open(os.path.join(folder, "reseng", name + ".py"), "w").write("real = True")
sys.path.insert(0, folder)
import jobmeter.compat
jobmeter.compat.install(force=True)
import reseng.monitor, reseng.nbd
assert reseng.nbd.real and reseng.monitor.ResourceMonitor and not hasattr(reseng.monitor, "real")
jobmeter.compat.uninstall()
import reseng.monitor
assert reseng.monitor.real
print("ok")
"""
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ok\n"
