"""Runs every example of every `--help` and manual page: help_examples.py JOBMETER

Each example runs in a shell of its own, in a fresh copy of the folder that the commands of the pages run in, and must
exit as it says (`# exits with 123`, otherwise 0). Two things differ from what is printed: the process 4312 is one that
lives for a second, and what belongs "in a script that jobmeter measures" runs in one. The manual must show the same
examples as the help, and every command must have one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import commands
import run_commands

# Its help is that of the tool whose command line it stands in for, which has no examples.
WITHOUT_EXAMPLES = {"gpu-tracker"}


def examples_in(text: str) -> tuple[list[str], bool]:
    """The lines under "Examples:", and whether they are for a script that is measured."""
    found = re.search(r"^Examples(, in a script[^\n]*)?:\n((?:  .*\n)+)", text, re.MULTILINE)
    if found is None:
        return [], False
    return [line.strip() for line in found[2].splitlines()], found[1] is not None


def plain(roff: str) -> str:
    return roff.replace("\\*(Aq", "'").replace("\\-", "-").replace("\\&", "").replace("\\\\", "\\")


def script_of(example: str, is_measured: bool) -> str:
    if is_measured:
        inner = "jobmeter run -q --name marked -- sh -e measured.sh"
        return f"cat >measured.sh <<'END'\n{example}\nEND\n" + run_commands.script_of(inner)
    return "rm -f usage.json\nsleep 1 & SHORT=$!\n" + run_commands.script_of(re.sub(r"\b4312\b", "$SHORT", example))


def main(jobmeter: Path) -> int:
    ran, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        prepared, manual = Path(folder) / "prepared", Path(folder) / "manual"
        prepared.mkdir()
        done = run_commands.run((run_commands.HERE / "sandbox.sh").read_text(), prepared, jobmeter)
        if done.returncode != 0:
            print(f"help-examples: the sandbox could not be made: {done.stderr}", file=sys.stderr)
            return 1
        subprocess.run([jobmeter, "man", "--into", manual], check=True)
        for name in [None, *commands.names(str(jobmeter))]:
            words = [] if name is None else [name]
            examples, is_measured = examples_in(commands.help_of(str(jobmeter), *words) + "\n")
            page = manual / f"{'-'.join(['jobmeter', *words])}.1"
            if examples_in(plain(page.read_text(encoding="utf-8")) + "\n")[0] != examples:
                wrong.append(f"{page.name} shows other examples than --help")
            if not examples and name not in WITHOUT_EXAMPLES:
                wrong.append(f"jobmeter {name} --help shows no example")
            for number, example in enumerate(examples):
                sandbox = Path(folder) / f"{name}-{number}"
                shutil.copytree(prepared, sandbox, symlinks=True)
                done = run_commands.run(script_of(example, is_measured), sandbox, jobmeter)
                ran += 1
                if done.returncode != 0:
                    wrong.append(f"{' '.join(['jobmeter', *words])} --help: {done.stderr.strip()[-400:]}")
    for failure in wrong:
        print(f"help-examples: {failure}", file=sys.stderr)
    print(f"{ran} examples of help and manual were run, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
