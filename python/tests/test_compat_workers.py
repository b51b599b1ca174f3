"""`install(workers=True)` reaches processes that start anew: spawn, forkserver, joblib; and `python -m`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jobmeter.compat

# The guard keeps workers from calling install themselves: what they find comes from the environment.
PROGRAM = """
import multiprocessing, os, sys

def work(n):
    import gpu_tracker, reseng.monitor, resource_tracker.tiny_data_frame
    from gpu_tracker.tracker import Tracker
    assert gpu_tracker.Tracker is Tracker and reseng.monitor.ResourceMonitor
    frame = resource_tracker.tiny_data_frame.TinyDataFrame({"n": [n]})
    stats = resource_tracker.tracker_procfs.get_process_stats(os.getpid())
    return gpu_tracker.__name__, type(frame).__module__, list(stats)[5]

if __name__ == "__main__":
    import jobmeter.compat
    jobmeter.compat.install(force=True, workers=True, resource_tracker="0.5")
    if sys.argv[1] == "joblib":
        from joblib import Parallel, delayed
        answers = Parallel(n_jobs=2)(delayed(work)(n) for n in range(2))
    else:
        with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
            answers = pool.map(work, range(2))
    assert set(answers) == {
        ("jobmeter.compat.gpu_tracker", "jobmeter.compat.resource_tracker.tiny_data_frame", "memory_mib")
    }, answers
    jobmeter.compat.uninstall()
    assert jobmeter.compat.NAMES_FOLDER not in os.environ.get("PYTHONPATH", "")
    print("ok")
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver", "joblib"])
def test_workers_find_the_modules(tmp_path: Path, method: str) -> None:
    if method == "joblib":
        pytest.importorskip("joblib", reason="joblib is not installed")
    program = tmp_path / "program.py"
    text = PROGRAM.replace("resource_tracker.tiny_data_frame\n", "resource_tracker.tiny_data_frame, resource_tracker.tracker_procfs\n", 1)
    program.write_text(text)
    done = subprocess.run([sys.executable, program, method], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


@pytest.mark.parametrize("module", ["gpu_tracker", "jobmeter.compat.gpu_tracker"])
def test_python_m_is_the_native_command(module: str) -> None:
    folder = subprocess.run([sys.executable, "-m", "jobmeter.compat"], capture_output=True, text=True).stdout.strip()
    assert folder == jobmeter.compat.NAMES_FOLDER
    path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    for words, status in ((["--version"], 0), (["--st=x", "-e", "true"], 1)):
        ours = subprocess.run(
            [sys.executable, "-m", module, *words], capture_output=True, text=True, env=environment
        )
        native = subprocess.run(
            [os.environ.get("JOBMETER_BIN", "jobmeter"), "gpu-tracker", *words], capture_output=True, text=True
        )
        assert (ours.returncode, ours.stdout, ours.stderr) == (status, native.stdout, native.stderr)


# The sub-tracking chapter, line by line as at the prompt.
_SESSION = """
import jobmeter.compat
jobmeter.compat.install(force=True)
import gpu_tracker as gput, time
tracker = gput.Tracker(sleep_time=0.1, tracking_file="t.csv", overwrite=True, disable_logs=True)
tracker.start()
@gput.sub_track(sub_tracking_file="s.csv", overwrite=True)
def work():
    time.sleep(0.15)

for _ in range(3):
    work()

with gput.SubTracker(sub_tracking_file="s.csv", overwrite=True):
    time.sleep(0.15)

tracker.stop()
results = gput.SubTrackingAnalyzer("t.csv", "s.csv").sub_tracking_results()
[(b.name.rpartition("/")[2], b.num_calls) for b in results.code_block_results]
import pickle
pickle.dump(results, open("a.pkl", "wb"))
print("Code Block Compute Time" in str(gput.TrackingComparison({"A": "a.pkl", "B": "a.pkl"}).compare()))
from resource_tracker import ResourceTracker
with ResourceTracker(interval=0.1) as tracker:
    tracker.wait_for_samples(2)

tracker.process_metrics[0]["memory_mib"] > 1
"""


def test_the_tutorials_can_be_typed_at_the_prompt(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-i", "-q"], input=_SESSION, capture_output=True, text=True, cwd=tmp_path, timeout=120
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    lines = done.stdout.splitlines()
    blocks = [line for line in lines if line.startswith("[(")]
    assert len(blocks) == 1 and ":work', 3)" in blocks[0] and ", 1)" in blocks[0], lines
    assert lines[-2:] == ["True", "True"], lines
