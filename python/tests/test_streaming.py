"""Samples streamed to a file, a pipe and an address, and uploaded to storage: loopback only, and only when asked for."""

from __future__ import annotations

import csv
import http.server
import io
import os
import stat
import threading
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest

import jobmeter
from jobmeter.compat.resource_tracker import ResourceTracker, TinyDataFrame


class Server:
    """Keeps what it is sent; answers 500 to the first `refusals` requests."""

    def __init__(self) -> None:
        self.requests: List[Tuple[str, str, Dict[str, str], bytes]] = []
        self.refusals = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def _keep(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status = 500 if outer.refusals > 0 else 200
                outer.refusals -= 1
                if status == 200:
                    outer.requests.append((self.command, self.path, dict(self.headers), body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_PUT = _keep

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.http.shutdown()
    running.http.server_close()


def rows(text: str) -> List[List[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def expected(tracker: ResourceTracker) -> List[List[str]]:
    return rows(tracker.get_combined_metrics().to_csv())


def test_a_file_has_every_row(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    with ResourceTracker(interval=0.1, stream_to=str(path)) as tracker:
        tracker.wait_for_samples(3, timeout=20)
    with open(path, newline="") as file:
        assert rows(file.read()) == expected(tracker)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError, match="already exists; stream to a new file or to a pipe"):
        ResourceTracker(stream_to=str(path))
    assert len(TinyDataFrame(csv_file_path=str(path))) >= 3


def test_an_open_file_and_a_named_pipe(tmp_path: Path) -> None:
    text = io.StringIO()
    with ResourceTracker(interval=0.1, stream_to=text) as tracker:
        tracker.wait_for_samples(2, timeout=20)
    assert rows(text.getvalue()) == expected(tracker)
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    received: List[str] = []

    def read() -> None:
        with open(path, newline="") as pipe:
            received.append(pipe.read())

    tracker = ResourceTracker(interval=0.1, stream_to=path)
    reader = threading.Thread(target=read)
    reader.start()
    tracker.wait_for_samples(2, timeout=20)
    tracker.stop()
    reader.join(20)
    assert not reader.is_alive(), "the pipe ends with the stream"
    assert rows(received[0]) == expected(tracker)


def test_an_address_gets_each_row_once_although_it_fails_at_first(server: Server) -> None:
    server.refusals = 2
    options: Dict[str, Any] = {"stream_headers": {"Authorization": "Bearer x"}, "upload_interval": 0.1}
    with ResourceTracker(interval=0.1, stream_to=f"{server.address}/samples", **options) as tracker:
        tracker.wait_for_samples(5, timeout=20)
    table: List[List[str]] = []
    for method, path, headers, body in server.requests:
        assert (method, path, headers["Content-Type"]) == ("POST", "/samples", "text/csv")
        assert headers["Authorization"] == "Bearer x"
        batch = rows(body.decode())
        table += batch if not table else batch[1:]
        assert batch[0] == table[0], "each batch is a CSV by itself"
    assert table == expected(tracker)


def test_a_server_that_is_not_there_is_a_warning_and_nothing_else() -> None:
    tracker = ResourceTracker(interval=0.1, stream_to="http://127.0.0.1:9/")
    tracker.wait_for_samples(1, timeout=20)
    with pytest.warns(jobmeter.JobmeterWarning, match="samples could not be streamed"):
        tracker.stop()
    assert tracker.n_samples >= 1


def test_upload_to_storage(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("botocore", reason="botocore is not installed")
    for name, value in (("ACCESS_KEY_ID", "key"), ("SECRET_ACCESS_KEY", "secret"), ("EC2_METADATA_DISABLED", "true")):
        monkeypatch.setenv(f"AWS_{name}", value)
    with ResourceTracker(interval=0.1) as tracker:
        tracker.wait_for_samples(2, timeout=20)
    assert server.requests == [], "nothing is sent without being asked"
    uri = "s3://bucket/runs/one.csv"
    assert tracker.upload(uri, endpoint_url=server.address, region="us-east-1") == uri
    ((method, path, headers, body),) = server.requests
    assert (method, path, headers["Content-Type"]) == ("PUT", "/bucket/runs/one.csv", "text/csv")
    assert headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=key/")
    assert tracker.get_combined_metrics().to_csv().encode() in body
    for wrong in ("bucket/key", "s3://bucket", "https://bucket/key"):
        with pytest.raises(ValueError, match="is not an address such as s3://bucket"):
            tracker.upload(wrong)
