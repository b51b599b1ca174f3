"""What pip installed: the package, its types, and the native command without an interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import jobmeter


def script(name: str) -> str:
    return os.path.join(sysconfig.get_path("scripts"), name)


def test_the_tests_look_at_the_installed_package() -> None:
    assert jobmeter.__file__ is not None
    assert os.path.realpath(jobmeter.__file__).startswith(os.path.realpath(sysconfig.get_path("platlib")))


def test_the_command_is_the_native_binary() -> None:
    with open(script("jobmeter"), "rb") as file:
        assert file.read(4) == b"\x7fELF"
    version = subprocess.run([script("jobmeter"), "--version"], capture_output=True, text=True, check=True).stdout
    assert version.split()[:2] == ["jobmeter", metadata.version("jobmeter")] and jobmeter.__version__ in version


def test_the_package_runs_as_the_command() -> None:
    called = [[sys.executable, "-m", "jobmeter"], [script("jobmeter")]]
    texts = [subprocess.run([*words, "--version"], capture_output=True, text=True, check=True).stdout for words in called]
    assert texts[0] == texts[1] and texts[0].startswith("jobmeter ")
    failed = subprocess.run([*called[0], "run", "--", "sh", "-c", "exit 7"], capture_output=True)
    assert failed.returncode == 7


def test_nothing_is_required() -> None:
    required = [r for r in metadata.requires("jobmeter") or [] if "extra ==" not in r]
    assert required == []


def test_the_wheel_has_no_command_but_its_own() -> None:
    folder = os.path.realpath(sysconfig.get_path("scripts"))
    files = [os.path.realpath(str(f.locate())) for f in metadata.files("jobmeter") or []]
    assert [os.path.basename(f) for f in files if os.path.dirname(f) == folder] == ["jobmeter"]
    done = subprocess.run([script("jobmeter"), "gpu-tracker", "-h"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for option in ("--execute", "--output", "--format", "--st", "--ru", "--gru", "--tu", "--nec", "--guuids"):
        assert option in done.stdout


def test_marks_of_a_wrapped_program_reach_its_run(tmp_path: Path) -> None:
    code = "import jobmeter\nwith jobmeter.phase('load'):\n    jobmeter.mark('half')\n"
    record = tmp_path / "run.jobmeter"
    command = [script("jobmeter"), "run", "--record", str(record), "--", sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    run = jobmeter.load(record)
    assert run.phases().column("name") == ["load"] and run.marks().column("name") == ["half"]
