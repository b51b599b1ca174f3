"""Calls cargo for the extension module and the `jobmeter` command, and names what comes out."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from typing import List, Optional, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLDEST_GLIBC = "2.17"


def build(target: Optional[str]) -> Tuple[str, str]:
    """Build for this machine, or for `target` with `cargo zigbuild`; return the paths of the command and the module."""
    # What is published is a release build. Tests take the profile that the rest of them has built already.
    profile = os.environ.get("JOBMETER_PROFILE", "release")
    arguments = [os.environ.get("CARGO", "cargo"), "zigbuild" if target else "build", "--profile", profile]
    # With the whole workspace, whose features may be more, nothing that is there is compiled again.
    whole = ["--workspace", "--lib", "--bins"]
    arguments += whole if profile == "dev" else ["--package", "jobmeter-cli", "--package", "jobmeter-python"]
    if target:
        arguments += ["--target", f"{target}.{OLDEST_GLIBC}"]
    # A source archive has its crates inside.
    arguments += ["--locked", "--offline"] if os.path.isdir(os.path.join(ROOT, "vendor")) else ["--locked"]
    # The module is loaded by an interpreter and has its symbols from there; none is needed to build it (abi3).
    environment = dict(os.environ, PYO3_BUILD_EXTENSION_MODULE="1", PYO3_NO_PYTHON="1")
    try:
        subprocess.run(arguments, cwd=ROOT, check=True, env=environment)
    except FileNotFoundError:
        raise SystemExit("jobmeter is built from source here and needs Rust: cargo was not found in PATH") from None
    target_folder = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    folder = os.path.join(target_folder, target or "", "debug" if profile == "dev" else profile)
    library = {"darwin": "lib_native.dylib", "win32": "_native.dll"}.get(_platform(target), "lib_native.so")
    return os.path.join(folder, "jobmeter" + exe(target)), os.path.join(folder, library)


def module_name(target: Optional[str]) -> str:
    return "_native.pyd" if _platform(target) == "win32" else "_native.abi3.so"


def exe(target: Optional[str]) -> str:
    """How the name of a program ends."""
    return ".exe" if _platform(target) == "win32" else ""


def wheel_tags(target: Optional[str]) -> List[str]:
    """One wheel serves every Python from 3.9 on: only the platform differs."""
    if target:
        machine = target.split("-")[0]
        names = [f"manylinux_{OLDEST_GLIBC.replace('.', '_')}_{machine}", f"manylinux2014_{machine}"]
    else:
        names = [sysconfig.get_platform().replace("-", "_").replace(".", "_")]
    return [f"cp39-abi3-{name}" for name in names]


def _platform(target: Optional[str]) -> str:
    return "linux" if target else sys.platform
