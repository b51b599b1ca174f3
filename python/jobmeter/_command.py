"""Where the native command `jobmeter` is."""

from __future__ import annotations

import os
import shutil
import sysconfig


def find_command() -> str:
    """The `jobmeter` of this environment, else the one on PATH."""
    beside = os.path.join(sysconfig.get_path("scripts"), "jobmeter")
    found = beside if os.access(beside, os.X_OK) else shutil.which("jobmeter")
    if found is None:
        raise SystemExit("the command jobmeter was not found; install the package jobmeter or put the command on PATH")
    return found
