"""Programs on the fake NVIDIA driver of the testkit, loaded as the real one would be.

`JOBMETER_NVML_PATH` names the library; without it a build of the testkit is looked for. The driver is
scripted by the file that `FAKE_NVML_STATE` names, so each program runs in an interpreter of its own.
"""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Sequence

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MB = 1_000_000


def library() -> str:
    named = os.environ.get("JOBMETER_NVML_PATH")
    built = glob.glob(os.path.join(os.environ.get("CARGO_TARGET_DIR", f"{ROOT}/target"), "*", "libfake_nvml.so"))
    assert named or built, "no fake driver: build it with `cargo build -p jobmeter-fake-nvml`"
    # The newest: a build for benches may be older than the sources.
    return named or max(built, key=os.path.getmtime)


def device(uuid: str, busy: int, used: int, processes: List[Dict[str, Any]]) -> Dict[str, Any]:
    return {
        "name": "Tesla T4", "uuid": uuid, "pci": f"0000:0{uuid[-1]}:00.0", "memory_total": 2048 * MB,
        "memory_used": used * MB, "gpu_util": busy, "compute": processes,
    }  # fmt: skip


def environment(folder: Path, devices: Sequence[Dict[str, Any]]) -> Dict[str, str]:
    state = folder / "state.json"
    state.write_text(json.dumps({"driver_version": "550.1", "devices": list(devices)}))
    # Also where the tests run in a container: the script names processes as they call themselves.
    driver = {"JOBMETER_NVML_PATH": library(), "FAKE_NVML_STATE": str(state), "JOBMETER_GPU_PIDS": "ours"}
    return {**os.environ, **driver}


def as_system_library(folder: Path) -> Dict[str, str]:
    """The environment of a program that loads the driver by its usual name."""
    place = folder / "driver"
    place.mkdir(exist_ok=True)
    link = place / "libnvidia-ml.so.1"
    if not link.exists():
        link.symlink_to(os.path.abspath(library()))
    hidden = ("CUDA_VISIBLE_DEVICES", "FAKE_NVML_STATE")
    rest = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**rest, "LD_LIBRARY_PATH": str(place), "JOBMETER_NVML_PATH": str(link), "JOBMETER_GPU_PIDS": "ours"}


def run(folder: Path, code: str, devices: Sequence[Dict[str, Any]]) -> str:
    """What the program prints; a file, so that it may spawn workers that import it."""
    # The program tells the driver its own pid, as a real one would know it.
    head = f"import os\nif __name__ == '__main__':\n    open({str(folder / 'main.pid')!r}, 'w').write(str(os.getpid()))\n"
    program = folder / "program.py"
    program.write_text(head + code)
    done = subprocess.run(
        [sys.executable, str(program)], env=environment(folder, devices), capture_output=True, text=True, timeout=300,
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
