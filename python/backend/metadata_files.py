"""What a wheel says about itself, from pyproject.toml and Cargo.toml."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Dict, List

from compile_native import ROOT

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11
    import tomli as tomllib

LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]


@dataclass
class Project:
    table: Dict[str, Any]
    version: str

    @property
    def stem(self) -> str:
        return f"{self.table['name']}-{self.version}"


def read_project() -> Project:
    return Project(_read("pyproject.toml")["project"], _read("Cargo.toml")["workspace"]["package"]["version"])


def all_of(project: Project, tags: List[str]) -> Dict[str, bytes]:
    """The files of the dist-info folder, but for RECORD."""
    files = {"METADATA": metadata(project).encode(), "WHEEL": _wheel(tags).encode()}
    for licence in LICENCES:
        with open(os.path.join(ROOT, licence), "rb") as file:
            files[f"licenses/{licence}"] = file.read()
    return files


def metadata(project: Project) -> str:
    table = project.table
    lines = ["Metadata-Version: 2.4", f"Name: {table['name']}", f"Version: {project.version}"]
    lines += [f"Summary: {table['description']}", f"License-Expression: {table['license']}"]
    lines += [f"License-File: {licence}" for licence in LICENCES]
    lines += [f"Classifier: {text}" for text in table["classifiers"]]
    lines += [f"Requires-Python: {table['requires-python']}"]
    lines += [f"Requires-Dist: {text}" for text in table["dependencies"]]
    for extra, wanted in sorted(table["optional-dependencies"].items()):
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {text} ; extra == '{extra}'" for text in wanted]
    lines.append("Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM")
    with open(os.path.join(ROOT, table["readme"]), encoding="utf-8") as file:
        return "\n".join(lines) + "\n\n" + file.read()


def package_files() -> List[str]:
    """The files of the Python package, relative to `python/`, without what was compiled beside them."""
    found = []
    for folder, folders, files in os.walk(os.path.join(ROOT, "python", "jobmeter")):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            if name.endswith((".py", ".pyi", ".typed")):
                found.append(os.path.relpath(os.path.join(folder, name), os.path.join(ROOT, "python")))
    return found


def _wheel(tags: List[str]) -> str:
    lines = ["Wheel-Version: 1.0", "Generator: jobmeter", "Root-Is-Purelib: false", *(f"Tag: {tag}" for tag in tags)]
    return "\n".join(lines) + "\n"


def _read(name: str) -> Dict[str, Any]:
    with open(os.path.join(ROOT, name), "rb") as file:
        return dict(tomllib.load(file))
