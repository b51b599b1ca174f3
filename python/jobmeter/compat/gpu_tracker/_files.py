"""Names of tracking and sub-tracking files."""

from __future__ import annotations

import os


def check_extension(path: str) -> None:
    if os.path.splitext(path)[1] not in (".csv", ".sqlite"):
        raise ValueError(f'Invalid file name: "{path}". Valid file extensions are ".csv" and ".sqlite".')
