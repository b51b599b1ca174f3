"""gpu-tracker 5.0.1, unchanged, on the stand-in for nvidia-smi, and ours on the fake driver, in the same scene."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest
from fake_driver import as_system_library, library
from nvml_scenes import MIB, gpu, process

# Memory of the job in MiB, used memory of the device in MiB, use of the device in per cent, second by second.
COURSE = [(100, 500, 20), (300, 900, 80), (200, 700, 50)]


def scene() -> Dict[str, Any]:
    def busy(job: int, used: int, util: int) -> Dict[str, Any]:
        return gpu(0, compute=[process("main", job * MIB)], memory_used=used * MIB, gpu_util=util)

    frames = [{"devices": [busy(*second), gpu(1, gpu_util=0)]} for second in COURSE]
    return {"driver_version": "550.54.15", "frames": frames, "frame_ms": 1000, "start_with": "main"}


def start(folder: Path, words: List[str]) -> "subprocess.Popen[str]":
    """The scene begins with the job, so it is the same course for both, whoever takes longer to start."""
    (folder / "root").mkdir(parents=True)
    (folder / "root" / "proc").symlink_to("/proc")
    (folder / "state.json").write_text(json.dumps(scene()))
    # The number appears as a whole: it is the beginning of the scene.
    (folder / "job.sh").write_text("echo $$ > new.pid; mv new.pid main.pid; exec sleep 3\n")
    environment = {
        **as_system_library(folder), "FAKE_NVML_STATE": str(folder / "state.json"),
        "JOBMETER_GPU_ROOT": str(folder / "root"),
        "PATH": f"{os.path.dirname(os.path.abspath(library()))}:{os.environ['PATH']}",
    }  # fmt: skip
    options = ["--execute=sh job.sh", "--st=0.1", "--gru=megabytes", "--format=json", "--output=usage.json"]
    return subprocess.Popen(
        [*words, *options], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_the_same_course_through_both(tmp_path: Path) -> None:
    ours = start(tmp_path / "ours", [os.environ.get("JOBMETER_BIN", "jobmeter"), "gpu-tracker"])
    theirs = start(tmp_path / "theirs", [sys.executable, "-m", "gpu_tracker"])
    found = {}
    for name, run in (("ours", ours), ("theirs", theirs)):
        _, errors = run.communicate(timeout=120)
        assert run.returncode == 0, f"{name}: {errors}"
        assert "cannot connect" not in errors, f"{name}: {errors}"
        found[name] = json.loads((tmp_path / name / "usage.json").read_text())
    # gpu-tracker calls nvidia-smi's MiB megabytes; ours are of 10^6 bytes.
    for key, true in (("system_capacity", 2 * 81920), ("system", 900 + 1001), ("main", 300), ("combined", 300)):
        assert found["theirs"]["max_gpu_ram"][key] == true, key
        assert found["ours"]["max_gpu_ram"][key] == pytest.approx(true * MIB / 1e6), key
    counts = {name: usage["gpu_utilization"] for name, usage in found.items()}
    for name, usage in counts.items():
        assert (usage["system_gpu_count"], usage["n_expected_gpus"]) == (2, 2), name
        percent = usage["gpu_percentages"]
        assert (percent["max_sum_percent"], percent["max_hardware_percent"]) == (80.0, 40.0), name
        # The mean over three seconds of 20, 80 and 50 per cent. gpu-tracker asks about twice a second on a busy
        # machine, so that one look more or less in a second moves its mean by up to 10.
        assert percent["mean_sum_percent"] == pytest.approx(50.0, abs=15.0), name
