"""PEP 517 backend: one call of cargo builds the extension module and the native command; a zip file takes both.

The command is put among the scripts of the wheel as it is, so that running it starts no interpreter. There is no
`gpu-tracker` beside it: the package of that name has one, and two packages must not own one file.

Nothing is needed but cargo and Python, so that a source archive with its crates inside builds without a network.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any, Dict, List, Optional

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import compile_native
import metadata_files
import source_archive
from zip_wheel import Wheel

ROOT = compile_native.ROOT


def get_requires_for_build_wheel(config_settings: Optional[Dict[str, Any]] = None) -> List[str]:
    return []


get_requires_for_build_sdist = get_requires_for_build_wheel
get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Optional[Dict[str, Any]] = None
) -> str:
    project = metadata_files.read_project()
    name = f"{project.stem}.dist-info"
    folder = os.path.join(metadata_directory, name)
    os.makedirs(folder)
    for file, content in metadata_files.all_of(project, compile_native.wheel_tags(None)).items():
        path = os.path.join(folder, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(content)
    return name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    return source_archive.write(sdist_directory)


def build_wheel(
    wheel_directory: str,
    config_settings: Optional[Dict[str, Any]] = None,
    metadata_directory: Optional[str] = None,
    target: Optional[str] = None,
) -> str:
    """The wheel for this machine, or for `target` (a Rust target triple) and glibc 2.17 upwards."""
    command, module = compile_native.build(target)
    wheel = _begin(wheel_directory, target)
    for file in metadata_files.package_files():
        wheel.add_file(file, os.path.join(ROOT, "python", file))
    wheel.add_file("jobmeter/" + compile_native.module_name(target), module, is_executable=True)
    wheel.add_file(f"{wheel.stem}.data/scripts/jobmeter{compile_native.exe(target)}", command, is_executable=True)
    return wheel.close()


def build_editable(
    wheel_directory: str,
    config_settings: Optional[Dict[str, Any]] = None,
    metadata_directory: Optional[str] = None,
) -> str:
    """The module is put into the sources, and the wheel points there."""
    command, module = compile_native.build(None)
    sources = os.path.join(ROOT, "python")
    shutil.copy2(module, os.path.join(sources, "jobmeter", compile_native.module_name(None)))
    wheel = _begin(wheel_directory, None)
    wheel.add_text("jobmeter.pth", sources + "\n")
    wheel.add_file(f"{wheel.stem}.data/scripts/jobmeter{compile_native.exe(None)}", command, is_executable=True)
    return wheel.close()


def _begin(folder: str, target: Optional[str]) -> Wheel:
    project = metadata_files.read_project()
    tags = compile_native.wheel_tags(target)
    wheel = Wheel(folder, project.stem, tags)
    for file, content in metadata_files.all_of(project, tags).items():
        wheel.add_bytes(f"{project.stem}.dist-info/{file}", content)
    return wheel
