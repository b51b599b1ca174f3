"""Object storage against a real S3 server on loopback: `test_storage.py JOBMETER`, in an environment that has moto.

The server checks every signature (moto's own, by botocore), and boto3 looks into the bucket as an independent witness.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import boto3

JOBMETER = os.path.abspath(sys.argv[1])
SECRETS: List[str] = []


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """moto as a process; after the first actions, which make the account, every request must be signed."""

    def __init__(self) -> None:
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            env={**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": "4"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: socket.create_connection(("127.0.0.1", port), 1).close() is None, "moto answers")
        anyone = dict(aws_access_key_id="setup", aws_secret_access_key="setup", region_name="us-east-1", endpoint_url=self.url)
        iam = boto3.client("iam", **anyone)
        iam.create_user(UserName="meter")
        policy = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}'
        iam.put_user_policy(UserName="meter", PolicyName="all", PolicyDocument=policy)
        key = iam.create_access_key(UserName="meter")["AccessKey"]
        boto3.client("s3", **anyone).create_bucket(Bucket="runs")
        self.key, self.secret = key["AccessKeyId"], key["SecretAccessKey"]
        SECRETS.append(self.secret)
        self.s3 = boto3.client(
            "s3", aws_access_key_id=self.key, aws_secret_access_key=self.secret, region_name="us-east-1", endpoint_url=self.url
        )

    def environment(self) -> Dict[str, str]:
        return {"AWS_ENDPOINT_URL": self.url, "AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": self.secret}

    def objects(self) -> Dict[str, bytes]:
        found = self.s3.list_objects_v2(Bucket="runs").get("Contents", [])
        return {entry["Key"]: self.s3.get_object(Bucket="runs", Key=entry["Key"])["Body"].read() for entry in found}

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(20)


def wait_until(done: Callable[[], Any], what: str, patience: float = 60) -> None:
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            if done():
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"not within {patience} s: {what}")


def run(home: Path, more: Dict[str, str], *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    result = subprocess.run([JOBMETER, *words], env=environment(home, more), capture_output=True, text=True, timeout=120, **options)
    for secret in SECRETS:
        assert secret not in result.stdout + result.stderr, "a secret was printed"
    return result


def environment(home: Path, more: Dict[str, str]) -> Dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "JOBMETER_", "XDG_"))}
    return {**kept, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), **more}


def stored(home: Path) -> List[Path]:
    return sorted((home / "data" / "jobmeter").rglob("*.jobmeter"))


def check_upload(server: Server, base: Path) -> None:
    home = base / "upload"
    more = {**server.environment(), "JOBMETER_STORE": "s3://runs/team/a b"}
    result = run(home, more, "run", "-q", "--", "sh", "-c", "exit 3")
    assert result.returncode == 3, result
    assert result.stderr == "", result.stderr
    [file] = stored(home)
    assert file.stat().st_mode & 0o777 == 0o600
    objects = server.objects()
    assert objects == {f"team/a b/{file.name}": file.read_bytes()}, objects.keys()
    assert server.secret.encode() not in file.read_bytes(), "a secret is in the record"
    # What the environment names otherwise: a profile in a file, an endpoint for S3 alone.
    (home / ".aws").mkdir()
    (home / ".aws" / "credentials").write_text(f"[work]\naws_access_key_id = {server.key}\naws_secret_access_key = {server.secret}\n")
    more = {"AWS_PROFILE": "work", "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_S3": server.url}
    pushed = run(home, more, "push", "last", "s3://runs/by-hand")
    assert pushed.returncode == 0 and "uploaded 1 run to s3://runs/by-hand" in pushed.stdout, pushed
    assert f"by-hand/{file.name}" in server.objects()


def check_ranks(server: Server, base: Path) -> None:
    """Three nodes with stores of their own; the ranks meet in the bucket and are merged somewhere else."""
    for rank in range(3):
        more = {**server.environment(), "JOBMETER_STORE": "s3://runs/jobs-of-us"}
        words = ["run", "-q", "--job", "77", "--rank", str(rank), "--world", "3", "--", "true"]
        assert run(base / f"node{rank}", more, *words).returncode == 0
    desk = base / "desk"
    pulled = run(desk, server.environment(), "pull", "s3://runs/jobs-of-us")
    assert pulled.returncode == 0 and "downloaded 3 runs" in pulled.stdout, pulled
    assert [file.parent.parent.parent.name for file in stored(desk)] == ["jobs"] * 3
    again = run(desk, server.environment(), "pull", "s3://runs/jobs-of-us/jobs/user-77/")
    assert "downloaded 0 runs" in again.stdout and "3 were there already" in again.stdout, again
    shown = run(desk, {}, "show", "--full", "job:77")
    assert "all 3 ranks exited with code 0" in shown.stdout, shown
    # Hostile names stay outside, and what is no run is taken away again.
    for key in ["evil/../../../tmp/x.jobmeter", "evil/jobs/../0000/y.jobmeter", "evil/notes.txt"]:
        server.s3.put_object(Bucket="runs", Key=key, Body=b"no run")
    evil = run(base / "evil", server.environment(), "pull", "s3://runs/evil")
    assert "downloaded 0 runs" in evil.stdout and stored(base / "evil") == [], evil


def refused(result: subprocess.CompletedProcess[str], home: Path, code: int, reason: str) -> None:
    """The job's status, its record, and one sentence that names the file and how to try again."""
    assert result.returncode == code, result
    [file] = stored(home)
    [line] = result.stderr.strip().splitlines()
    assert reason in line and str(file) in line and f"jobmeter push {file.stem} s3://runs/x" in line, line


def check_refusals(server: Server, base: Path) -> None:
    def attempt(name: str, reason: str, more: Dict[str, str], least_s: float = 0) -> Path:
        home = base / name
        started = time.monotonic()
        result = run(home, {"JOBMETER_STORE": "s3://runs/x", **more}, "run", "-q", "--", "sh", "-c", "exit 7")
        took = time.monotonic() - started
        refused(result, home, 7, reason)
        assert took >= least_s, took
        print(f"  {name}: {took:.2f} s: {result.stderr.strip()[:150]}…")
        return home

    good = server.environment()
    SECRETS.append("wrong-secret")
    home = attempt("wrong-key", "SignatureDoesNotMatch (status 403)", {**good, "AWS_SECRET_ACCESS_KEY": "wrong-secret"})
    missing = b"HTTP/1.1 404 No\r\nContent-Length: 40\r\n\r\n<Error><Code>NoSuchBucket</Code></Error>"
    attempt("no-bucket", "NoSuchBucket (status 404)", {**good, "AWS_ENDPOINT_URL": lonely(missing)})
    attempt("no-credentials", "no credentials: set AWS_ACCESS_KEY_ID", {"AWS_ENDPOINT_URL": server.url})
    attempt("dead", "cannot be reached", {**good, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}"})
    attempt("failing", "status 500", {**good, "AWS_ENDPOINT_URL": lonely(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n")})
    attempt("garbage", "not HTTP", {**good, "AWS_ENDPOINT_URL": lonely(b"SSH-2.0-x\r\n\r\n")})
    # Whoever notices first that the second is over: the wait for the answer, or that for the upload.
    attempt("silent", "", {**good, "AWS_ENDPOINT_URL": lonely(None), "JOBMETER_UPLOAD_TIMEOUT": "1s"}, least_s=1.0)
    # The run that was refused is there to be sent again.
    assert run(home, {**good, "JOBMETER_STORE": "s3://runs/x"}, "push", "last").returncode == 0
    assert f"x/{stored(home)[0].name}" in server.objects()


def check_signal(base: Path) -> None:
    """A signal after the job's end ends the upload, and the status is the job's all the same."""
    url = lonely(None)
    more = {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "JOBMETER_STORE": "s3://runs/x", "JOBMETER_UPLOAD_TIMEOUT": "60s"}
    home = base / "signal"
    process = subprocess.Popen(
        [JOBMETER, "run", "-q", "--", "sh", "-c", "exit 5"], env=environment(home, more), stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: ASKED.get(url, 0) > 0, "the upload has begun")
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, words = process.communicate(timeout=30)
    took = time.monotonic() - began
    assert process.returncode == 5, process.returncode
    assert "a signal ended it" in words and "jobmeter push" in words, words
    print(f"  signal: left {took:.2f} s after it")


ASKED: Dict[str, int] = {}


def lonely(answer: Optional[bytes]) -> str:
    """A server of one answer, or one that takes everything and never answers."""
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    url = f"http://127.0.0.1:{server.getsockname()[1]}"

    def serve() -> None:
        held = []
        while True:
            client, _ = server.accept()
            client.recv(1 << 16)
            ASKED[url] = ASKED.get(url, 0) + 1
            if answer is None:
                held.append(client)
            else:
                client.sendall(answer)
                client.close()

    threading.Thread(target=serve, daemon=True).start()
    return url


def main() -> None:
    server = Server()
    try:
        with tempfile.TemporaryDirectory() as folder:
            base = Path(folder)
            for check in (check_upload, check_ranks, check_refusals):
                check(server, base)
                print(f"{check.__name__}: held")
            check_signal(base)
            print("check_signal: held")
    finally:
        server.end()


if __name__ == "__main__":
    main()
