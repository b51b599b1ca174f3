"""The recipes for conda and Homebrew beside the source archive, with its checksum."""

from __future__ import annotations

import hashlib
from pathlib import Path

from .surroundings import ROOT

PLACE = "SHA256_OF_THE_SOURCE_ARCHIVE"


def write(out: Path, source_archive: Path) -> list[Path]:
    checksum = hashlib.sha256(source_archive.read_bytes()).hexdigest()
    paths = []
    for recipe in ("conda/meta.yaml", "homebrew/jobmeter.rb"):
        text = (ROOT / "packaging" / recipe).read_text()
        if text.count(PLACE) != 1 or source_archive.name not in text.replace("{{ version }}", version_in(source_archive)):
            raise SystemExit(f"packaging/{recipe} must name {source_archive.name} and hold {PLACE} once")
        path = out / Path(recipe).name
        path.write_text(text.replace(PLACE, checksum))
        paths.append(path)
    return paths


def version_in(source_archive: Path) -> str:
    return source_archive.name.removeprefix("jobmeter-").removesuffix(".tar.gz")
