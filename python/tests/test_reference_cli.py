"""The command lines of the gpu_tracker tutorials, on the fake driver, through the command that pip installed."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import List

import pytest
from fake_driver import MB, device, environment

# The work is done by a descendant of the command, as in the tutorial's script.
SCRIPT = """\
python3 - <<'END'
import os, time
open("child.tmp", "w").write(str(os.getpid()))
os.rename("child.tmp", "child.pid")
block = bytearray(60_000_000)
block[::4096] = b"x" * len(range(0, len(block), 4096))
end = time.monotonic() + 1.0
while time.monotonic() < end:
    sum(range(1000))
END
"""
GPU = [device("GPU-1", 4, 631, [{"pid": "child", "memory": 277 * MB}])]
DONE = "Resource tracking complete. Process completed with status code: 0"


def gpu_tracker(folder: Path, *arguments: str) -> List[str]:
    (folder / "example-script.sh").write_text(SCRIPT)
    command = [os.path.join(sysconfig.get_path("scripts"), "jobmeter"), "gpu-tracker", *arguments]
    done = subprocess.run(
        command, env=environment(folder, GPU), cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def check_text(lines: List[str], unit: str) -> None:
    assert lines[:2] == ["Max RAM:", f"   Unit: {unit}"] and len(lines) == 60
    gpu = lines[lines.index("Max GPU RAM:") :]
    factor = 1000 if unit == "megabytes" else 1
    assert [line.split(": ")[0] for line in gpu[1:7]] == [
        "   Unit", "   System capacity", "   System", "   Main", "   Descendants", "   Combined",
    ]  # fmt: skip
    values = [float(line.split(": ")[1]) for line in gpu[2:7]]
    assert values == [pytest.approx(v * factor) for v in (2.048, 0.631, 0.0, 0.277, 0.277)]


def test_a_command(tmp_path: Path) -> None:
    lines = gpu_tracker(tmp_path, "-e", "bash example-script.sh", "--st=0.1")
    assert lines[0] == DONE
    check_text(lines[1:], "gigabytes")


def test_units(tmp_path: Path) -> None:
    lines = gpu_tracker(
        tmp_path, "-e", "bash example-script.sh", "--tu=seconds", "--gru=megabytes", "--ru=megabytes", "--st=0.1"
    )
    assert lines[0] == DONE
    check_text(lines[1:], "megabytes")
    assert lines[-2] == "   Unit: seconds" and float(lines[-1].split(": ")[1]) >= 1.0


def test_output_to_a_file(tmp_path: Path) -> None:
    assert gpu_tracker(tmp_path, "-e", "bash example-script.sh", "-o", "out.txt", "--st=0.1") == [DONE]
    check_text((tmp_path / "out.txt").read_text().splitlines(), "gigabytes")


def test_json_to_the_screen_and_to_a_file(tmp_path: Path) -> None:
    first, *lines = gpu_tracker(tmp_path, "-e", "bash example-script.sh", "-f", "json", "--st=0.1")
    assert first == DONE and lines[1] == ' "max_ram": {', "one space a level"
    shown = json.loads("\n".join(lines))
    assert list(shown) == ["max_ram", "max_gpu_ram", "cpu_utilization", "gpu_utilization", "compute_time"]
    assert shown["max_ram"]["descendants"]["total_rss"] >= 0.06
    assert gpu_tracker(tmp_path, "-e", "sleep 0.3", "-f", "json", "-o", "out.json", "--st=0.1") == [DONE]
    kept = json.loads((tmp_path / "out.json").read_text())
    assert list(kept) == list(shown) and kept["compute_time"]["unit"] == "hours"
