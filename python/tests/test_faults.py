"""The fault sweep of a tracked block: each system call that jobmeter makes in it fails in turn. Whatever fails, the
program's code runs to its end exactly once, its exception passes unchanged and its exit status is its own.

All cases run in a PID namespace, beside a bystander (fault_sweep.py).
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

SWEEP = Path(__file__).with_name("fault_sweep.py")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the injector changes registers of x86_64")
@pytest.mark.parametrize(
    # How thoroughly: see `testkit fault-plan`.
    ("ending", "depth", "least"),
    [("end", "1 1 2 2", 120), ("raise", "0 1 4 1", 50), ("exit", "0 1 5 0", 40)],
)
def test_a_block_runs_to_its_end(ending: str, depth: str, least: int) -> None:
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    unshare = ["unshare", *as_root, "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
        pytest.skip("no PID namespace may be made here")
    done = subprocess.run(
        [*unshare, sys.executable, str(SWEEP), ending, *depth.split()],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    total, refused, not_reached = (found[key] for key in ("total", "refused", "not_reached"))
    print(f"block, {ending}: {total} faults, {refused} refused before the block, {not_reached} not reached")
    for call, count in sorted(found["counts"].items()):
        print(f"  {count:5} {call}")
    assert not found["failures"], "\n".join(found["failures"])
    assert total >= least
