"""`python -m jobmeter …` is the command `jobmeter …` of the same environment."""

from __future__ import annotations

import os
import sys

from ._command import find_command

if __name__ == "__main__":
    command = find_command()
    os.execv(command, [command, *sys.argv[1:]])
