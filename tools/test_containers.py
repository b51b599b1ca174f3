"""Containers that a measured job starts, with a real dockerd and a real Podman: test_containers.py JOBMETER

The image is made from a folder with a static busybox; no registry, no network. The witness is the count of the
container's own control group, which the container reads as the last thing that it does. Where a part is missing or may
not run, the reason is printed. `make test-containers` runs it; it needs root and Debian's docker.io, podman, crun and
busybox-static.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BURN = "i=0; while [ $i -lt 1500000 ]; do i=$((i+1)); done; "
HELD_BYTES = 150 << 20
HOLD = f"dd if=/dev/zero of=/dev/null bs={HELD_BYTES} count=60 2>/dev/null; "
COUNTS = "cat /sys/fs/cgroup/cpuacct/cpuacct.usage /sys/fs/cgroup/cpu.stat 2>/dev/null; true"
WORK = "(" + BURN + "); " + HOLD + BURN + COUNTS
UNREAD = "a container was started outside of what may be read"


def make_root(folder: Path) -> Path:
    root = folder / "root"
    (root / "bin").mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "/bin/busybox", root / "bin/busybox")
    for name in ["sh", "cat", "dd", "sleep", "true"]:
        (root / "bin" / name).symlink_to("busybox")
    return root


def counted_ns(text: str) -> int:
    """What the container's group counted: v1 in nanoseconds, v2 in microseconds."""
    for line in text.splitlines():
        if line.strip().isdigit():
            return int(line)
        if line.startswith("usage_usec "):
            return int(line.split()[1]) * 1000
    raise AssertionError(f"the container printed no count: {text!r}")


class Checks:
    def __init__(self, jobmeter: Path, folder: Path, env: dict[str, str]):
        self.jobmeter, self.folder, self.env = jobmeter, folder, env
        self.failures: list[str] = []

    def check(self, holds: bool, text: str) -> None:
        print(("ok    " if holds else "FAILED ") + text)
        if not holds:
            self.failures.append(text)

    def run(self, *command: str) -> tuple[str, dict]:
        summary = self.folder / "summary.json"
        words = [str(self.jobmeter), "run", "--no-record", "-f", "json", "--force", "-o", str(summary), "--", *command]
        done = subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            self.check(False, f"{' '.join(command[:3])} ended with {done.returncode}: {done.stderr[-600:]}")
        return done.stdout, json.loads(summary.read_text())

    def measured(self, engine: str, command: list[str], overhead_ns: int) -> None:
        """`overhead_ns` is what the engine's own processes in the tree may use beside the container."""
        printed, summary = self.run(*command, "/bin/sh", "-c", WORK)
        witness_ns = counted_ns(printed)
        cpu = summary["descendants"]["cpu_ns"]
        short = (cpu["value"] - witness_ns) / witness_ns
        self.check(
            -0.01 <= short <= 0.01 + overhead_ns / witness_ns,
            f"{engine}: CPU {cpu['value'] / 1e9:.3f} s ({cpu['quality']}), the group counted {witness_ns / 1e9:.3f} s: {short:+.2%}",
        )
        inside = summary.get("containers", {}).get("cpu_ns", {"value": 0, "quality": "absent"})
        apart = ((inside["value"] or 0) - witness_ns) / witness_ns
        self.check(
            -0.01 <= apart <= 0.01,
            f"{engine}: the scope containers has {(inside['value'] or 0) / 1e9:.3f} s ({inside['quality']}): {apart:+.2%}",
        )
        whole = summary["combined"]["cpu_ns"]["value"]
        self.check(
            0.995 * witness_ns <= whole <= 1.01 * witness_ns + overhead_ns,
            f"{engine}: combined has it once: {whole / 1e9:.3f} s",
        )
        held = summary.get("containers", {}).get("rss_sum_bytes_max", {"value": 0})["value"]
        self.check(
            HELD_BYTES * 0.5 <= held <= HELD_BYTES * 1.5, f"{engine}: processes in containers held {held} at most"
        )
        names = [source["detail"] for source in summary["sources"] if source["name"] == "containers"]
        self.check(len(names) == 1, f"{engine}: the container is named: {names}")
        peak = summary["combined"]["rss_bytes_max"]
        lower, upper = peak.get("lower", peak["value"]), peak.get("upper")
        is_inside = lower <= HELD_BYTES * 1.5 and peak["value"] >= HELD_BYTES * 0.5
        is_inside = is_inside and (upper is None or upper >= HELD_BYTES)
        self.check(is_inside, f"{engine}: peak {peak['value']} in [{lower}, {upper}] holds the {HELD_BYTES} of dd")
        texts = [warning["text"] for warning in summary["warnings"]]
        self.check(UNREAD not in texts, f"{engine}: no doubt is said: {texts}")


def test_docker(checks: Checks, root: Path) -> None:
    missing = [name for name in ["dockerd", "docker", "containerd"] if shutil.which(name) is None]
    if missing:
        print(f"not tested here: Docker, there is no {missing[0]}")
        return
    place = checks.folder / "docker"
    place.mkdir()
    socket = f"unix://{place}/docker.sock"
    words = ["dockerd", "--bridge=none", "--iptables=false", f"--data-root={place}/data", f"--exec-root={place}/exec"]
    log = (place / "log").open("w")
    daemon = subprocess.Popen([*words, f"--pidfile={place}/pid", "-H", socket], stdout=log, stderr=log)
    checks.env["DOCKER_HOST"] = socket

    def docker(*words: str, **more) -> subprocess.CompletedProcess:
        return subprocess.run(["docker", *words], env=checks.env, capture_output=True, **more)

    try:
        deadline = time.monotonic() + 30
        while docker("version").returncode != 0:
            if daemon.poll() is not None or time.monotonic() > deadline:
                print(f"not tested here: dockerd does not run: {(place / 'log').read_text()[-300:]}")
                return
            time.sleep(0.2)
        image = subprocess.run(["tar", "-C", str(root), "-c", "."], capture_output=True, check=True).stdout
        imported = docker("import", "-", "jobmeter-test:1", input=image)
        assert imported.returncode == 0, imported.stderr
        start = ["docker", "run", "--rm", "--network", "none"]
        checks.measured("docker", [*start, "jobmeter-test:1"], 60_000_000)
        id_file = f"{checks.folder}/cid"
        checks.measured("docker, with a cid file", [*start, "--cidfile", id_file, "jobmeter-test:1"], 60_000_000)
        _, summary = checks.run(
            "docker", "run", "-d", "--name", "left", "--network", "none", "jobmeter-test:1", "/bin/sleep", "30"
        )
        names = [warning["kind"] for warning in summary["warnings"]]
        checks.check(
            "container_unread" not in names or summary["combined"]["cpu_ns"]["quality"] == "lower_bound",
            f"a container that goes on: {names}",
        )
        attached = subprocess.run(
            [checks.jobmeter, "attach", "--no-record", "--container", "left", "--duration", "300ms", "-f", "json"],
            env=checks.env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        checks.check(attached.returncode == 0, f"attach --container: {attached.stderr[-300:]}")
        # Into a container that was there before: it is not the job's, and that is said.
        _, summary = checks.run("docker", "exec", "left", "/bin/sh", "-c", BURN)
        cpu = summary["combined"]["cpu_ns"]
        texts = [warning["text"] for warning in summary["warnings"]]
        checks.check(UNREAD in texts and cpu["quality"] == "lower_bound", f"docker exec: {cpu['quality']}, {texts}")
        checks.check(summary["combined"]["rss_bytes_max"].get("upper") is None, "docker exec: no upper bound of memory")
        _, summary = checks.run("docker", "ps")
        quality = summary["combined"]["cpu_ns"]["quality"]
        checks.check(summary["warnings"] == [] and quality != "unknown", f"docker ps: nothing is said, {quality}")
        docker("rm", "-f", "left")
    finally:
        daemon.terminate()
        daemon.wait(timeout=30)


def test_podman(checks: Checks, root: Path) -> None:
    if shutil.which("podman") is None:
        print("not tested here: Podman, there is none")
        return
    place = checks.folder / "podman"
    start = [
        "podman",
        f"--root={place}/root",
        f"--runroot={place}/run",
        "--storage-driver=vfs",
        "--cgroup-manager=cgroupfs",
    ]
    start += ["--runtime=runc"] if shutil.which("runc") else []
    options = [
        "run",
        "--rm",
        "--ulimit=nofile=1024:1024",
        "--ulimit=nproc=1024:1024",
        "--network",
        "none",
        "--rootfs",
        str(root),
    ]
    tried = subprocess.run([*start, *options, "/bin/true"], env=checks.env, capture_output=True, text=True)
    if tried.returncode != 0:
        print(f"not tested here: podman run says {tried.stderr.strip()[-300:]}")
        return
    # Its monitor, the runtime and the clean-up are descendants too.
    checks.measured("podman", [*start, *options], 400_000_000)


def main(jobmeter: Path) -> int:
    if os.geteuid() != 0:
        print("not tested here: containers with control groups of their own need root")
        return 0
    if shutil.which("busybox") is None:
        print("not tested here: there is no busybox for the image")
        return 0
    with tempfile.TemporaryDirectory(prefix="jobmeter-containers-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        checks = Checks(jobmeter.resolve(), folder, {**os.environ, "JOBMETER_STORE": f"{folder}/store"})
        root = make_root(folder)
        test_docker(checks, root)
        test_podman(checks, root)
        print(f"{len(checks.failures)} failed")
        return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
