"""The source archive: what git tracks and the build needs, with the crates of other people inside.

Of a crate that no build for Linux compiles (Windows bindings, tests, optional features) only the manifest goes in: cargo
wants to see everything that Cargo.lock names, but not to compile it.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from typing import Dict, List, Set, Tuple

import metadata_files
from compile_native import ROOT

TARGETS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]
NOT_NEEDED = (".ci/", ".github/", "docs/", "fixtures/", "fuzz/", "packaging/", "python/tests/", "python/bench/", "web/")
SOURCE_REPLACEMENT = """[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "vendor"
"""


def write(folder: str) -> str:
    project = metadata_files.read_project()
    name = f"{project.stem}.tar.gz"
    files: Dict[str, Tuple[bytes, int]] = {
        "PKG-INFO": (metadata_files.metadata(project).encode(), 0o644),
        ".cargo/config.toml": (SOURCE_REPLACEMENT.encode(), 0o644),
    }
    for path in _tracked_files():
        files[path] = _read(os.path.join(ROOT, path))
    # The archive of the crates is made in a fresh folder: cargo leaves there what an older version needed.
    with tempfile.TemporaryDirectory() as vendor:
        files.update(_vendored(vendor))
    os.makedirs(folder, exist_ok=True)
    moment = int(os.environ.get("SOURCE_DATE_EPOCH", 0))
    with open(os.path.join(folder, name), "wb") as out, gzip.GzipFile("", "wb", 9, out, mtime=moment) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path, (content, mode) in sorted(files.items()):
                entry = tarfile.TarInfo(f"{project.stem}/{path}")
                entry.size, entry.mode, entry.mtime = len(content), mode, moment
                archive.addfile(entry, io.BytesIO(content))
    return name


def _tracked_files() -> List[str]:
    command = ["git", "ls-files", "-z"]
    try:
        output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit("a source archive is made from a git checkout: git ls-files failed here") from None
    return [path for path in output.split("\0") if path and not path.startswith(NOT_NEEDED)]


def _vendored(folder: str) -> Dict[str, Tuple[bytes, int]]:
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "vendor", "--locked", "--versioned-dirs", folder]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    compiled = _compiled(cargo)
    files = {}
    for crate in sorted(os.listdir(folder)):
        path = os.path.join(folder, crate)
        if crate not in compiled:
            _leave_the_manifest(path)
        for parent, _, names in os.walk(path):
            for name in names:
                full = os.path.join(parent, name)
                files["vendor/" + os.path.relpath(full, folder)] = _read(full)
    return files


def _compiled(cargo: str) -> Set[str]:
    """The crates that a build of the wheel compiles, as `name-version`."""
    command = [cargo, "tree", "--locked", "--package", "jobmeter-cli", "--package", "jobmeter-python"]
    command += ["--edges", "normal,build", "--prefix", "none", "--format", "{p}"]
    for target in TARGETS:
        command += ["--target", target]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return {"{}-{}".format(line.split()[0], line.split()[1].lstrip("v")) for line in lines if line.strip()}


def _leave_the_manifest(folder: str) -> None:
    """Leave a crate that cargo can read but that has no content."""
    with open(os.path.join(folder, ".cargo-checksum.json"), encoding="utf-8") as file:
        package = json.load(file)["package"]
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name == "Cargo.toml":
            continue
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)
    os.mkdir(os.path.join(folder, "src"))
    with open(os.path.join(folder, "src", "lib.rs"), "w"):
        pass
    with open(os.path.join(folder, ".cargo-checksum.json"), "w", encoding="utf-8") as file:
        json.dump({"files": {}, "package": package}, file)


def _read(path: str) -> Tuple[bytes, int]:
    with open(path, "rb") as file:
        return file.read(), 0o755 if os.stat(path).st_mode & 0o100 else 0o644
