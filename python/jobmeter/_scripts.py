"""The `gpu-tracker` command: hands over to the native command, which does the work."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from typing import NoReturn


def gpu_tracker() -> NoReturn:
    """Replace this process by `jobmeter gpu-tracker`, with the same arguments."""
    beside = os.path.join(sysconfig.get_path("scripts"), "jobmeter")
    command = beside if os.access(beside, os.X_OK) else shutil.which("jobmeter")
    if command is None:
        sys.exit("gpu-tracker: the jobmeter command was not found beside Python or on PATH; reinstall jobmeter")
    os.execv(command, [command, "gpu-tracker", *sys.argv[1:]])
