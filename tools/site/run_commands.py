"""Runs every command that the pages show: run_commands.py JOBMETER PAGE…

Blocks marked `sh` are run line by line in one shell, in a folder of their own with a few small jobs and recorded runs
(sandbox.sh), without a network. A line may say how it ends: `# exits with 123`. What cannot be run here says why in the
first line of its block, ```sh not run: needs Slurm. A block without a mark that shows a jobmeter command is an error, so that
none is forgotten; `text` marks what is no command.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str, str]]:
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, match.start()) + 1, match[1].strip(), match[2]) for match in FENCE.finditer(text)]


def script_of(code: str) -> str:
    """A shell script that stops at the first line whose exit status is not the one it names."""
    lines = []
    for command in re.sub(r"\\\n", " ", code).splitlines():
        if not command.strip() or command.lstrip().startswith("#"):
            continue
        wanted = re.search(r"# .*?exits with (\d+)", command)
        status = wanted[1] if wanted else "0"
        lines.append(f"status=0\n{command}\nstatus=$?")
        words = f"exit status $status, not {status}: {command}".replace("'", "'\\''")
        lines.append(f"if [ $status != {status} ]; then echo '{words}' | sed \"s/\\$status/$status/\" >&2; exit 1; fi")
    return "\n".join(lines) + "\n"


def run_page(page: Path, prepared: Path, jobmeter: Path) -> tuple[int, list[str], list[str]]:
    """How many commands ran, what was left out and what went wrong."""
    ran, left_out, wrong = 0, [], []
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Path(folder) / "sandbox"
        shutil.copytree(prepared, sandbox, symlinks=True)
        for line, mark, code in blocks(page):
            where = f"{page.name}:{line}"
            if mark.startswith("sh not run:"):
                left_out.append(f"{where}: {mark.removeprefix('sh not run:').strip()}")
            elif mark == "sh":
                done = run(script_of(code), sandbox, jobmeter)
                ran += len([command for command in code.splitlines() if command.strip()])
                if done.returncode != 0:
                    wrong.append(f"{where}: {done.stderr.strip()[-600:]}")
            elif mark in ("", "console", "bash") and re.search(r"^\s*(\$ )?jobmeter ", code, re.MULTILINE):
                wrong.append(f"{where}: a block that shows a command is marked `sh`, or `text` if it is none")
    return ran, left_out, wrong


def run(script: str, folder: Path, jobmeter: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{folder}/bin:{jobmeter.parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder / "home"),
        "JOBMETER_STORE": str(folder / "store"),
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
    }
    # A namespace of its own where the kernel lets us: no network, and no process outlives the block.
    inside = ["unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
        inside = []
    # A process to attach to; standard output of the commands is not looked at.
    preamble = 'sleep 60 & PID=$!; export PID\n'
    script = preamble + script + "kill $PID\n"
    return subprocess.run(
        [*inside, "bash", "-o", "pipefail", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, timeout=120,
    )


def main(jobmeter: Path, pages: list[Path]) -> int:
    total, failures, reasons = 0, [], []
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared"
        prepared.mkdir()
        done = run((HERE / "sandbox.sh").read_text(), prepared, jobmeter)
        if done.returncode != 0:
            print(f"run-commands: the sandbox could not be made: {done.stderr}", file=sys.stderr)
            return 1
        for page in pages:
            ran, left_out, wrong = run_page(page, prepared, jobmeter)
            total, reasons, failures = total + ran, reasons + left_out, failures + wrong
    for failure in failures:
        print(f"run-commands: {failure}", file=sys.stderr)
    for reason in reasons:
        print(f"not run: {reason}")
    print(f"{total} lines of commands in {len(pages)} pages were run, {len(failures)} blocks failed")
    return 1 if failures else 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main(Path(sys.argv[1]).resolve(), [Path(name) for name in sys.argv[2:]]))
