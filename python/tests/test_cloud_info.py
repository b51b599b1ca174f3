"""Cloud discovery: firmware tables first, a metadata service only when they name its vendor. Loopback only."""

from __future__ import annotations

import http.server
import threading
from pathlib import Path
from typing import Any, Iterator, List

import pytest

from jobmeter.compat.resource_tracker import get_cloud_info

FACTS = {
    "instance-type": "g4dn.xlarge",
    "placement/region": "us-west-2",
    "placement/availability-zone": "us-west-2a",
}


class Service(http.server.BaseHTTPRequestHandler):
    asked: List[str] = []

    def answer(self, text: str) -> None:
        self.asked.append(f"{self.command} {self.path}")
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self) -> None:
        self.answer("token-1")

    def do_GET(self) -> None:
        assert self.headers["X-aws-ec2-metadata-token"] == "token-1"
        self.answer(FACTS[self.path[len("/latest/meta-data/") :]])

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    Service.asked = []
    server = http.server.HTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def machine(folder: Path, **strings: str) -> str:
    """A root whose firmware says this; never the real one, which may name a cloud."""
    dmi = folder / "sys" / "class" / "dmi" / "id"
    dmi.mkdir(parents=True)
    for name, text in strings.items():
        (dmi / name).write_text(text + "\n")
    return str(folder)


def test_the_example_of_the_reference(tmp_path: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBMETER_METADATA_BASE", endpoint)
    info = get_cloud_info(root=machine(tmp_path, sys_vendor="Amazon EC2"))
    assert list(info) == ["vendor", "instance_type", "region", "discovery_time"]
    assert (info["vendor"], info["instance_type"], info["region"]) == ("aws", "g4dn.xlarge", "us-west-2")
    assert 0.0 <= info["discovery_time"] < 60.0
    assert Service.asked[0] == "PUT /latest/api/token" and len(Service.asked) == 4


def test_without_a_vendor_nothing_is_asked(tmp_path: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBMETER_METADATA_BASE", endpoint)
    assert get_cloud_info(root=machine(tmp_path, sys_vendor="Dell Inc."))["vendor"] == "unknown"
    assert get_cloud_info(root=str(tmp_path / "missing"))["vendor"] == "unknown"
    assert Service.asked == []


def test_a_service_that_refuses_leaves_the_vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBMETER_METADATA_BASE", "http://127.0.0.1:9")
    info = get_cloud_info(root=machine(tmp_path, bios_vendor="Google", sys_vendor="Google", product_name="Google Compute Engine"))
    assert (info["vendor"], info["region"]) == ("gcp", "unknown")
