"""`make release`: everything that is published, from a clean tree, into release/. The same commit gives the same bytes.

RELEASE_TARGETS names the machines (x86_64, aarch64); RELEASE_DIRTY=1 allows a tree with changes, for trying things out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from . import checksums, image, packages, recipes, sbom, staging
from .surroundings import ROOT, Surroundings

sys.path.insert(0, str(ROOT / "python" / "backend"))

import build_wheel


def main() -> None:
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    if changed and not os.environ.get("RELEASE_DIRTY"):
        raise SystemExit(f"make release: the tree has changes; commit them, or set RELEASE_DIRTY=1\n{changed}")
    surroundings = Surroundings.enter()
    out = ROOT / "release"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    source_archive = out / build_wheel.build_sdist(str(out))
    say(source_archive)
    for recipe in recipes.write(out, source_archive):
        say(recipe)
    machines = os.environ.get("RELEASE_TARGETS", "x86_64 aarch64").split()
    for machine in machines:
        say(out / build_wheel.build_wheel(str(out), target=f"{machine}-unknown-linux-gnu"))
    # Manual pages and completions are the same everywhere: the command of this machine writes them.
    shared = staging.shared_files(surroundings.command_of(os.uname().machine))
    for machine in machines:
        files = {**shared, "bin/jobmeter": (surroundings.command_of(machine).read_bytes(), 0o755)}
        say(staging.archive(out, machine, files))
        for kind in ("deb", "rpm"):
            say(packages.build(out, machine, kind, files))
        say(image.build(out, machine))
    say(sbom.write(out))
    say(checksums.write(out))


def say(path: Path) -> None:
    print(f"{path.stat().st_size / 1e6:8.2f} MB  {path.relative_to(ROOT)}", flush=True)


if __name__ == "__main__":
    main()
