"""`--policy simple` against the reference tracker's own rounding, memory in its right unit.

The binary is named by JOBMETER_BIN; without the reference package the test skips and says so.
"""

import json
import os
import random
import shutil
import subprocess

import pytest
from test_advice_formats import figure, summary

BINARY = os.environ.get("JOBMETER_BIN") or shutil.which("jobmeter")
MIB = 1 << 20

pytestmark = pytest.mark.skipif(
    BINARY is None, reason="no jobmeter binary: set JOBMETER_BIN or put jobmeter on the PATH"
)


def test_simple_policy_gives_the_reference_results(tmp_path):
    report = pytest.importorskip("resource_tracker.report", reason="resource-tracker is not installed")
    draw = random.Random(20251115)
    for index in range(60):
        cores, memory_mib = draw.choice([0.5, 1.5, 2.5, draw.uniform(0, 64)]), draw.lognormvariate(7, 2)
        mean, most, vram_mib = draw.uniform(0, 3), draw.uniform(0, 4), draw.lognormvariate(8, 2)
        if index % 3 == 0:
            mean = most = vram_mib = 0.0
        run = summary(memory=int(memory_mib * MIB))
        run["combined"].update(
            cores_used_mean=figure(cores),
            gpu_busy_ppm_mean=figure(mean * 1e6),
            gpu_busy_ppm_max=figure(most * 1e6),
            gpu_memory_bytes_max=figure(vram_mib * MIB),
        )
        path = tmp_path / f"{index}.json"
        path.write_text(json.dumps(run))
        done = subprocess.run(
            [BINARY, "advise", str(path), "--policy", "simple", "--json"],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        advice = json.loads(done.stdout)["advice"]
        # The reference's rules, but for its division by 1024.
        assert advice["cores"]["value"] == max(1, round(cores))
        assert advice["memory_bytes"]["value"] == report.round_memory(int(memory_mib * MIB) / MIB * 1.2) * MIB
        assert advice["gpus"]["value"] == (max(1, round(most)) if mean > 0 else 0)
        assert advice["vram_bytes"]["value"] == (report.round_memory(vram_mib * 1.2) * MIB if vram_mib > 0 else 0)
