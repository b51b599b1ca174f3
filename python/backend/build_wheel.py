"""PEP 517 backend: builds the native `jobmeter` command, then lets maturin make the wheel around it.

The command is put among the scripts of the wheel as it is, so that running it starts no interpreter. There is no
`gpu-tracker` beside it: the package of that name has one, and two packages must not own one file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any, Dict, List, Optional

import maturin

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_SCRIPTS = os.path.join(_ROOT, "python", "jobmeter.data", "scripts")

get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
build_sdist = maturin.build_sdist


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Optional[Dict[str, Any]] = None
) -> str:
    # maturin wants the folder of the scripts to exist, although nothing is in it yet.
    os.makedirs(_SCRIPTS, exist_ok=True)
    return str(maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings))


def get_requires_for_build_wheel(config_settings: Optional[Dict[str, Any]] = None) -> List[str]:
    return list(maturin.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings: Optional[Dict[str, Any]] = None) -> List[str]:
    return list(maturin.get_requires_for_build_editable(config_settings))


def build_wheel(
    wheel_directory: str,
    config_settings: Optional[Dict[str, Any]] = None,
    metadata_directory: Optional[str] = None,
) -> str:
    _place_command()
    return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str,
    config_settings: Optional[Dict[str, Any]] = None,
    metadata_directory: Optional[str] = None,
) -> str:
    _place_command()
    return str(maturin.build_editable(wheel_directory, config_settings, metadata_directory))


def _place_command() -> None:
    """Build the command and copy it to where maturin looks for scripts."""
    cargo = os.environ.get("CARGO", "cargo")
    subprocess.run([cargo, "build", "--release", "--package", "jobmeter-cli"], cwd=_ROOT, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(_ROOT, "target"))
    # What an earlier version put here must not get into the wheel.
    shutil.rmtree(_SCRIPTS, ignore_errors=True)
    os.makedirs(_SCRIPTS)
    shutil.copy2(os.path.join(target, "release", "jobmeter"), os.path.join(_SCRIPTS, "jobmeter"))
