"""jobmeter and the original gpu-tracker in one environment: neither takes the other's command away."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import List

import pytest

ROOT = Path(__file__).parents[2]
# Put there by tools/make-clean-env.
ORIGINALS = Path(sys.prefix) / "originals"


def wheels() -> "dict[str, Path]":
    found = {"jobmeter": sorted(ROOT.glob("dist/jobmeter-*.whl")), "gpu-tracker": sorted(ORIGINALS.glob("gpu_tracker-*.whl"))}
    for name, files in found.items():
        if not files:
            pytest.skip(f"no wheel of {name}; make test builds and fetches them")
    return {name: files[-1] for name, files in found.items()}


def run(*command: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def pip(environment: Path, *words: object) -> None:
    common = ("--disable-pip-version-check", "--quiet", "--python", environment / "bin" / "python")
    done = run(sys.executable, "-m", "pip", *common, *words)
    assert done.returncode == 0, done.stderr


def is_original(command: Path) -> bool:
    """The original's command is a script of the environment's interpreter."""
    return command.is_file() and b"from gpu_tracker" in command.read_bytes()


@pytest.mark.parametrize(("first", "last"), [("jobmeter", "jobmeter"), ("gpu-tracker", "gpu-tracker")])
def test_both_orders_of_install_and_uninstall(tmp_path: Path, first: str, last: str) -> None:
    files = wheels()
    environment = tmp_path / "environment"
    assert run(sys.executable, "-m", "venv", "--without-pip", environment).returncode == 0
    ours, theirs = environment / "bin" / "jobmeter", environment / "bin" / "gpu-tracker"
    order: List[str] = sorted(files, key=lambda name: name != first)
    for name in order:
        pip(environment, "install", "--no-index", "--no-deps", "--no-compile", files[name])
    assert run(ours, "gpu-tracker", "--version").stdout == "5.0.1\n"
    assert is_original(theirs)
    refused = run(ours, "gpu-tracker", "--install-command")
    assert refused.returncode == 1 and "is not from jobmeter and is left as it is" in refused.stderr
    assert is_original(theirs)
    for name in sorted(files, key=lambda name: name == last):
        pip(environment, "uninstall", "--yes", name)
        assert ours.exists() == (name == "gpu-tracker" and last == "jobmeter")
        assert is_original(theirs) == (name == "jobmeter" and last == "gpu-tracker")


def test_the_chosen_command_goes_when_the_original_comes(tmp_path: Path) -> None:
    files = wheels()
    environment = tmp_path / "environment"
    assert run(sys.executable, "-m", "venv", "--without-pip", environment).returncode == 0
    ours, bare = environment / "bin" / "jobmeter", environment / "bin" / "gpu-tracker"
    pip(environment, "install", "--no-index", "--no-deps", "--no-compile", files["jobmeter"])
    size = ours.stat().st_size
    assert run(ours, "gpu-tracker", "--install-command").returncode == 0
    assert run(bare, "--version").stdout == "5.0.1\n"
    pip(environment, "install", "--no-index", "--no-deps", "--no-compile", files["gpu-tracker"])
    assert is_original(bare) and ours.stat().st_size == size, "the installer replaces the name and nothing behind it"
