"""The list of what is compiled in, as CycloneDX 1.5: every crate with version, licence and checksum, and SQLite."""

from __future__ import annotations

import datetime
import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from .surroundings import ROOT, epoch, version


def write(out: Path) -> Path:
    path = out / f"jobmeter-{version()}.cdx.json"
    path.write_text(json.dumps(document(), indent=1, sort_keys=True) + "\n")
    return path


def document() -> dict[str, Any]:
    names = compiled()
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(entry["name"], entry["version"]): entry.get("checksum") for entry in lock}
    components = []
    for package in metadata()["packages"]:
        key = (package["name"], package["version"])
        if key in names:
            components.append(component(package, checksums[key]))
    when = datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    subject = {"type": "application", "name": "jobmeter", "version": version(), "bom-ref": f"jobmeter@{version()}"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": when, "component": subject},
        "components": sorted(components, key=lambda one: str(one["bom-ref"])),
    }


def component(package: dict[str, Any], checksum: str | None) -> dict[str, Any]:
    reference = f"pkg:cargo/{package['name']}@{package['version']}"
    entry: dict[str, Any] = {"type": "library", "name": package["name"], "version": package["version"]}
    entry |= {"bom-ref": reference, "purl": reference, "scope": "required"}
    if package["license"]:
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def metadata() -> dict[str, Any]:
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    return dict(json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout))


def compiled() -> set[tuple[str, str]]:
    """The crates that end up in the command or the extension module."""
    command = ["cargo", "tree", "--locked", "--package", "jobmeter-cli", "--package", "jobmeter-python"]
    command += ["--edges", "normal", "--prefix", "none", "--format", "{p}", "--target", "x86_64-unknown-linux-gnu"]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return {(line.split()[0], line.split()[1].lstrip("v")) for line in lines if line.strip()}
