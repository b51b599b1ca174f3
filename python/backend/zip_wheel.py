"""Writes a wheel: the same content gives the same bytes, whoever builds it and when."""

from __future__ import annotations

import base64
import hashlib
import os
import time
import zipfile
from typing import List, Tuple

# The first moment that a zip file can name.
EARLIEST = 315532800


class Wheel:
    def __init__(self, folder: str, stem: str, tags: List[str]) -> None:
        python, abi, _ = tags[0].split("-")
        platforms = ".".join(tag.split("-")[2] for tag in tags)
        self.stem = stem
        self.name = f"{stem}-{python}-{abi}-{platforms}.whl"
        self._path = os.path.join(folder, self.name)
        self._entries: List[Tuple[str, bytes, int]] = []

    def add_bytes(self, name: str, content: bytes, mode: int = 0o644) -> None:
        self._entries.append((name, content, mode))

    def add_text(self, name: str, text: str) -> None:
        self.add_bytes(name, text.encode())

    def add_file(self, name: str, path: str, is_executable: bool = False) -> None:
        with open(path, "rb") as file:
            self.add_bytes(name, file.read(), 0o755 if is_executable else 0o644)

    def close(self) -> str:
        """Write everything, with the list of files and their hashes last, as wheels have it."""
        record = f"{self.stem}.dist-info/RECORD"
        lines = []
        for name, content, _ in sorted(self._entries):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(content)}\n")
        lines.append(f"{record},,\n")
        last = (record, "".join(lines).encode(), 0o644)
        moment = time.gmtime(max(EARLIEST, int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST))))
        os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
        with zipfile.ZipFile(self._path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, content, mode in [*sorted(self._entries), last]:
                entry = zipfile.ZipInfo(name, moment[:6])
                entry.create_system = 3
                entry.external_attr = (0o100000 | mode) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, content, compresslevel=9)
        return self.name
