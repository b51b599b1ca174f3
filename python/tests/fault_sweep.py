"""As PID 1 of a namespace: runs fault_block.py once for each fault, and prints what it found as JSON.

Usage: fault_sweep.py end|raise|exit WHOLE EACH STRIDE PLACES (see `testkit fault-plan`)
"""

from __future__ import annotations

import builtins
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Optional

HERE = Path(__file__).resolve()
TESTKIT = HERE.parents[2] / "target" / "debug" / "testkit"
# What each ending of fault_block.py says and exits with.
ENDINGS = {
    "end": ("out\n", 3),
    "raise": ("out KeyError(\"the user's own\")\n", 4),
    "exit": ("", 5),
}
DEADLINE_S = 20
REFUSED = "refused"


def sweep(ending: str, depth: List[str]) -> Dict[str, object]:
    """As PID 1 of a namespace: all cases of one ending."""
    bystander = subprocess.Popen(["sleep", "100000"], start_new_session=True)
    counts: collections.Counter[str] = collections.Counter()
    failures: List[str] = []
    not_reached = refused = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report = folder / "report"
        trouble = case(folder, "list", ending)
        if trouble is not None:
            raise SystemExit(f"without any fault: {trouble}")
        plan = subprocess.run([TESTKIT, "fault-plan", report, *depth], capture_output=True, text=True, check=True)
        for line in plan.stdout.splitlines():
            fault, _, words = line.partition(" ")
            trouble = case(folder, fault, ending)
            refused += trouble == REFUSED
            trouble = None if trouble == REFUSED else trouble
            struck = report.read_text().partition("\n")[0] if report.exists() else ""
            if not struck and trouble is None:
                not_reached += 1
                continue
            counts[" ".join(fault.split(":")[:2])] += 1
            if bystander.poll() is not None:
                trouble = "the bystander died"
            if trouble is not None:
                failures.append(f"{words} (about {struck}): {trouble}")
    found: Dict[str, object] = {"total": counts.total(), "counts": counts, "failures": failures}
    return {**found, "refused": refused, "not_reached": not_reached}


def case(folder: Path, fault: str, ending: str) -> Optional[str]:
    """Runs the block with one fault; what is wrong, or None."""
    place = folder / "block"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    command = [str(TESTKIT), "fault-marked", str(folder / "report"), fault]
    command += [sys.executable, str(HERE.with_name("fault_block.py")), str(place), ending]
    environment = {**os.environ, "HOME": str(folder), "JOBMETER_STORE": str(folder / "store")}
    block = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        stdout, stderr = block.communicate(timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        end_strays(block.pid)
        block.kill()
        block.communicate()
        return "it hangs"
    brief = stderr.strip().replace("\n", " | ")[-400:]
    for word in ("panicked", "RUST_BACKTRACE", "thread '"):
        if word in stderr:
            return f"panic text: {brief}"
    # Before the block begins, jobmeter may say with an OSError why it cannot measure.
    refusal = stderr.rstrip().rpartition("\n")[2]
    began, ended = (len(list(place.glob(f"{side}-*"))) for side in ("began", "ended"))
    if (began, ended, stdout, block.returncode) == (0, 0, "", 1) and "in __enter__" in stderr:
        kind = getattr(builtins, refusal.partition(":")[0], None)
        if isinstance(kind, type) and issubclass(kind, OSError):
            return REFUSED
    if (began, ended) != (1, 1):
        return f"the block began {began} and ended {ended} times, status {block.returncode}: {brief}"
    said, status = ENDINGS[ending]
    if (stdout, block.returncode) != (said, status):
        return f"status {block.returncode} and output {stdout!r}: {brief}"
    return None


def end_strays(tracer: int) -> None:
    """Ends the traced program, whose parent is the tracer."""
    children = Path(f"/proc/{tracer}/task/{tracer}/children").read_text().split()
    for pid in children:
        os.kill(int(pid), 9)


if __name__ == "__main__":
    print(json.dumps(sweep(sys.argv[1], sys.argv[2:])))
