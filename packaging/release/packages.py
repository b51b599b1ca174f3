"""Debian and RPM packages, by nfpm."""

from __future__ import annotations

import datetime
import json
import subprocess
import tempfile
from pathlib import Path

from .staging import Files
from .surroundings import epoch, version

NAMES = {"x86_64": "amd64", "aarch64": "arm64"}


def build(out: Path, machine: str, kind: str, files: Files) -> Path:
    with tempfile.TemporaryDirectory() as folder:
        contents = []
        for name, (content, mode) in sorted(files.items()):
            source = Path(folder) / name
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_bytes(content)
            info = {"mode": mode, "mtime": moment()}
            contents.append({"src": str(source), "dst": place(kind, name), "file_info": info})
        # nfpm reads YAML, and JSON is YAML.
        config = Path(folder) / "nfpm.json"
        config.write_text(json.dumps({**description(machine), "contents": contents}))
        path = out / file_name(machine, kind)
        subprocess.run(["nfpm", "package", "-f", config, "-p", kind, "-t", path], check=True, stdout=subprocess.DEVNULL)
        return path


def description(machine: str) -> dict[str, object]:
    return {
        "name": "jobmeter",
        "arch": NAMES[machine],
        "platform": "linux",
        "version": version(),
        "release": "1",
        "mtime": moment(),
        "section": "utils",
        "priority": "optional",
        "maintainer": "The jobmeter developers <jobmeter@localhost>",
        "description": "Meter for compute jobs\nSays what a job needed: time, CPU, RAM, GPU, disk and network.",
        "license": "MIT OR Apache-2.0",
        "overrides": {"deb": {"depends": ["libc6 (>= 2.17)"]}, "rpm": {"depends": ["glibc >= 2.17"]}},
        # Go's zstd and xz writers use as many threads as there are; gzip is the same everywhere.
        "deb": {"compression": "gzip"},
        "rpm": {"compression": "gzip:9", "buildhost": "localhost", "group": "Applications/System"},
    }


def place(kind: str, name: str) -> str:
    """Where a file of a prefix belongs in a package: Debian has its own folder for zsh."""
    if kind == "deb" and name.startswith("share/zsh/"):
        name = name.replace("site-functions", "vendor-completions")
    if kind == "deb" and name.endswith("/LICENSE-MIT"):
        name = name.replace("LICENSE-MIT", "copyright")
    return f"/usr/{name}"


def file_name(machine: str, kind: str) -> str:
    if kind == "deb":
        return f"jobmeter_{version()}_{NAMES[machine]}.deb"
    return f"jobmeter-{version()}-1.{machine}.rpm"


def moment() -> str:
    return datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
