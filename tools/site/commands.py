"""The page of all commands: the help of each, as the program prints it."""

from __future__ import annotations

import os
import re
import subprocess

INTRODUCTION = """# Commands

Every command and every option, as `jobmeter COMMAND --help` prints it. `man jobmeter-run` shows the same where a package
installed the manual.

"""


def page(jobmeter: str) -> str:
    parts = [INTRODUCTION, f"```text\n{help_of(jobmeter)}```\n"]
    for name in names(jobmeter):
        parts.append(f"\n## jobmeter {name}\n\n```text\n{help_of(jobmeter, name)}```\n")
    return "".join(parts)


def names(jobmeter: str) -> list[str]:
    """The subcommands, which stand indented by two under their heading."""
    listed = help_of(jobmeter).split("Commands:\n", 1)[1].split("\n\n", 1)[0]
    return [name for name in re.findall(r"^  ([a-z-]+)", listed, re.MULTILINE) if name != "help"]


def help_of(jobmeter: str, *words: str) -> str:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run([jobmeter, *words, "--help"], capture_output=True, text=True, check=True, env=environment)
    return done.stdout
