"""What must be the same for the same bytes to come out: the time, the paths, the folder of the compiler's output."""

from __future__ import annotations

import os
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Not the folder of the daily work: other flags, and a target folder that holds nothing else.
TARGET_FOLDER = ROOT / "target" / "published"


@dataclass
class Surroundings:
    epoch: int

    @staticmethod
    def enter() -> Surroundings:
        """Set the variables that cargo, the wheel and the packages look at."""
        last_commit = ["git", "log", "-1", "--format=%ct"]
        epoch = int(subprocess.run(last_commit, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
        cargo_home = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
        os.environ["SOURCE_DATE_EPOCH"] = str(epoch)
        os.environ["CARGO_TARGET_DIR"] = str(TARGET_FOLDER)
        os.environ["RUSTFLAGS"] = f"--remap-path-prefix={ROOT}=/jobmeter --remap-path-prefix={cargo_home}=/cargo"
        # Half a megabyte less in the wheel for some minutes of the compiler.
        os.environ["CARGO_PROFILE_RELEASE_LTO"] = "fat"
        os.environ["CARGO_PROFILE_RELEASE_CODEGEN_UNITS"] = "1"
        os.environ["TZ"] = "UTC"
        os.environ["LC_ALL"] = "C.UTF-8"
        os.umask(0o022)
        return Surroundings(epoch)

    def command_of(self, machine: str) -> Path:
        return TARGET_FOLDER / f"{machine}-unknown-linux-gnu" / "release" / "jobmeter"


def version() -> str:
    return str(tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"])


def epoch() -> int:
    return int(os.environ["SOURCE_DATE_EPOCH"])
