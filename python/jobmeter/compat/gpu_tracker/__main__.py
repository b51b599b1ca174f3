"""`python -m jobmeter.compat.gpu_tracker …` is `jobmeter gpu-tracker …`; `convert-pickle OLD NEW` is done here.

It converts results that gpu_tracker itself pickled, once, into those of this package.
"""

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


def _convert(words: List[str]) -> None:
    from ._foreign_pickle import convert

    if len(words) != 2:
        raise SystemExit("Usage: python -m jobmeter.compat.gpu_tracker convert-pickle OLD NEW")
    try:
        convert(*words)
    except (OSError, ValueError) as error:
        raise SystemExit(f"ERROR:root:{error}") from None


def main(words: List[str]) -> None:
    if words[:1] == ["convert-pickle"]:
        _convert(words[1:])
        return
    command = _command()
    os.execv(command, [command, "gpu-tracker", *words])


if __name__ == "__main__":
    main(sys.argv[1:])
