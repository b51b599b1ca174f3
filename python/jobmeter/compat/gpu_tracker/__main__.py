"""`python -m jobmeter.compat.gpu_tracker …` is `jobmeter gpu-tracker …`."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from typing import List


def _command() -> str:
    """The `jobmeter` of this environment, else the one on PATH."""
    beside = os.path.join(sysconfig.get_path("scripts"), "jobmeter")
    found = beside if os.access(beside, os.X_OK) else shutil.which("jobmeter")
    if found is None:
        raise SystemExit("the command jobmeter was not found; install the package jobmeter or put the command on PATH")
    return found


def main(words: List[str]) -> None:
    command = _command()
    os.execv(command, [command, "gpu-tracker", *words])


if __name__ == "__main__":
    main(sys.argv[1:])
