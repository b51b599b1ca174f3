"""Every summary that a test asks for is held against the checker that the Rust tests use (`testkit check-summary`)."""

import json
import subprocess
from pathlib import Path

import pytest
from jobmeter._run import Run

TESTKIT = Path(__file__).resolve().parents[2] / "target" / "debug" / "testkit"


@pytest.fixture(autouse=True)
def summaries_hold(tmp_path_factory, monkeypatch):
    asked = []
    to_dict = Run.to_dict

    def remembered(self):
        summary = to_dict(self)
        # A test may hand in an engine of its own; what that says need not be possible.
        if type(self._recording).__module__ == "jobmeter._native":
            asked.append(json.dumps(summary))
        return summary

    monkeypatch.setattr(Run, "to_dict", remembered)
    yield
    if not asked:
        return
    folder = tmp_path_factory.mktemp("summaries")
    files = [folder / f"{number}.json" for number in range(len(asked))]
    for file, summary in zip(files, asked):
        file.write_text(summary)
    checked = subprocess.run([TESTKIT, "check-summary", *files], capture_output=True, text=True)
    assert checked.returncode == 0, f"a summary contradicts itself:\n{checked.stderr}"
