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
    overview = help_of(jobmeter)
    # The subcommands stand indented by two under their heading.
    listed = overview.split("Commands:\n", 1)[1].split("\n\n", 1)[0]
    names = [name for name in re.findall(r"^  ([a-z-]+)", listed, re.MULTILINE) if name != "help"]
    parts = [INTRODUCTION, f"```text\n{overview}```\n"]
    for name in names:
        parts.append(f"\n## jobmeter {name}\n\n```text\n{help_of(jobmeter, name)}```\n")
    return "".join(parts)


def help_of(jobmeter: str, *words: str) -> str:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run([jobmeter, *words, "--help"], capture_output=True, text=True, check=True, env=environment)
    return done.stdout
