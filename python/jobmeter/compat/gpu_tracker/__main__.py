"""`python -m jobmeter.compat.gpu_tracker …` is `jobmeter gpu-tracker …`; `convert-pickle OLD NEW` is done here.

It converts results that gpu_tracker itself pickled, once, into those of this package.
"""

from __future__ import annotations

import os
import sys
from typing import List

from jobmeter._command import find_command


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
    command = find_command()
    os.execv(command, [command, "gpu-tracker", *words])


if __name__ == "__main__":
    main(sys.argv[1:])
