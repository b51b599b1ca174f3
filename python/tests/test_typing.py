"""The package is typed: mypy --strict, and the stubs agree with the built module."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_mypy_strict() -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_agree_with_the_module() -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    command = [sys.executable, "-m", "mypy.stubtest", "jobmeter._native", "--ignore-missing-stub"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_says_that_it_is_typed() -> None:
    spec = importlib.util.find_spec("jobmeter")
    assert spec is not None and spec.origin is not None
    assert os.path.exists(os.path.join(os.path.dirname(spec.origin), "py.typed"))


def test_importing_is_cheap_and_pulls_nothing_in() -> None:
    code = (
        "import sys; before = set(sys.modules); import jobmeter; new = set(sys.modules) - before; "
        "heavy = {'pandas', 'polars', 'pyarrow', 'matplotlib', 'numpy', 'dataclasses', 'json', 'jobmeter._native'}; "
        "print(sorted(new & heavy), len(new))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found, count = done.stdout.rsplit(" ", 1)
    assert found == "[]" and int(count) <= 3
