"""SHA256SUMS, as `sha256sum --check` reads it."""

from __future__ import annotations

import hashlib
from pathlib import Path


def write(out: Path) -> Path:
    path = out / "SHA256SUMS"
    files = sorted(file for file in out.iterdir() if file != path)
    path.write_text("".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files))
    return path
