"""Every public name of the installed originals has a row in docs/compat.md, and the row tells the truth.

The rows are the list of allowed differences: a name that is missing here must be called "not offered", one with
another signature "different". Names and signatures are read from the wheels of the originals.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Dict, List

import pytest

ROOT = Path(__file__).parents[2]
# Put there by tools/make-clean-env.
ORIGINALS = Path(sys.prefix) / "originals"
WHEELS = {
    "gpu_tracker": ["gpu_tracker-5.0.1"],
    "resource_tracker": ["resource_tracker-0.4.2", "resource_tracker-0.5.0"],
}


def ask(package: str, *names: List[str], path: str = "") -> Dict[str, Any]:
    command = [sys.executable, str(ROOT / "python/tests/public_names.py"), package, *map(json.dumps, names)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH")]))}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    found: Dict[str, Any] = json.loads(done.stdout)
    return found


def rows(package: str) -> Dict[str, str]:
    """Name and verdict of each row of the table of a package."""
    text = (ROOT / "docs/compat.md").read_text()
    section = text.split(f"### Names of {package}\n", 1)[1].split("\n#", 1)[0]
    found = re.findall(r"^\| `([^`]+)` \| (same|different|not offered)\b", section, re.MULTILINE)
    names = [name for name, _ in found]
    assert len(names) == len(set(names)), "a name has two rows"
    return dict(found)


def verdict(theirs: Dict[str, Any], ours: Any) -> str:
    """"same" when every call of theirs is one of ours with the same meaning; ours may take more."""
    if ours is None:
        return "not offered"
    if theirs["signature"] is None or ours["signature"] is None:
        return "same" if theirs["callable"] == ours["callable"] else "different"
    pairs = list(zip(theirs["signature"], ours["signature"]))
    kept = len(pairs) == len(theirs["signature"]) and all(
        left[:2] == right[:2] and left[2] in (right[2], "required") for left, right in pairs
    )
    more = ours["signature"][len(pairs) :]
    return "same" if kept and all(p[2] != "required" or p[1].startswith("VAR_") for p in more) else "different"


@pytest.mark.parametrize("package", list(WHEELS))
def test_every_public_name_has_a_row_that_is_true(package: str, tmp_path: Path) -> None:
    expected: Dict[str, str] = {}
    for stem in WHEELS[package]:
        wheels = list(ORIGINALS.glob(f"{stem}-*.whl"))
        if not wheels:
            pytest.skip(f"no wheel of {stem}; tools/make-clean-env fetches it")
        folder = tmp_path / stem
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(folder)
        theirs = ask(package, path=str(folder))
        assert len(theirs) > 20, "the original's names were read"
        ours = ask(f"jobmeter.compat.{package}", list(theirs))
        for name, entry in theirs.items():
            found = verdict(entry, ours[name])
            # With several releases, a difference to any of them is one.
            if expected.get(name, "same") == "same":
                expected[name] = found
    # What the package itself hands out is listed where it is defined.
    defined = {name.partition(":")[2]: found for name, found in expected.items() if not name.startswith(":")}
    for name in [n for n in expected if n.startswith(":")]:
        if defined.get(name[1:]) == expected[name]:
            del expected[name]
    shown = {name.replace(":", ".").lstrip("."): found for name, found in expected.items()}
    written = rows(package)
    methods = {name for name in shown if re.search(r"\.[A-Z]\w*\.\w+$|^[A-Z]\w*\.\w+$", name)}
    # Methods that are the same need no row; a row may say "different" where only the behaviour is.
    missing = [f"{n}: {v}" for n, v in shown.items() if n not in written and not (n in methods and v == "same")]
    assert not missing, f"docs/compat.md has no row for {missing}"
    untrue = [
        f"{n} is {shown.get(n, 'no name of the original')}, the row says {said}"
        for n, said in written.items()
        if shown.get(n) != said and not (said == "different" and shown.get(n) == "same")
    ]
    assert not untrue, untrue
