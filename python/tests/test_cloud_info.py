"""Cloud discovery: firmware tables first, a metadata service only when they name its vendor. Loopback only."""

from __future__ import annotations

import http.server
import json
import threading
from pathlib import Path
from typing import Any, Iterator, List

import pytest

from jobmeter.compat.resource_tracker import get_cloud_info

IDENTITY = {"instanceType": "g4dn.xlarge", "region": "us-west-2"}


class Service(http.server.BaseHTTPRequestHandler):
    asked: List[str] = []

    def answer(self, text: str) -> None:
        self.asked.append(f"{self.command} {self.path}")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self) -> None:
        self.answer("token-1")

    def do_GET(self) -> None:
        assert self.headers["X-aws-ec2-metadata-token"] == "token-1"
        self.answer(json.dumps(IDENTITY))

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


def test_the_example_of_the_reference(tmp_path: Path, endpoint: str) -> None:
    (tmp_path / "sys_vendor").write_text("Amazon EC2\n")
    info = get_cloud_info(dmi=str(tmp_path), endpoint=endpoint)
    assert list(info) == ["vendor", "instance_type", "region", "discovery_time"]
    assert (info["vendor"], info["instance_type"], info["region"]) == ("aws", "g4dn.xlarge", "us-west-2")
    assert Service.asked == ["PUT /latest/api/token", "GET /latest/dynamic/instance-identity/document"]


def test_without_a_vendor_nothing_is_asked(tmp_path: Path, endpoint: str) -> None:
    (tmp_path / "sys_vendor").write_text("Dell Inc.\n")
    assert get_cloud_info(dmi=str(tmp_path), endpoint=endpoint)["vendor"] == "unknown"
    assert get_cloud_info(dmi=str(tmp_path / "missing"), endpoint=endpoint)["vendor"] == "unknown"
    assert Service.asked == []


def test_a_service_that_refuses_leaves_the_vendor(tmp_path: Path) -> None:
    (tmp_path / "bios_vendor").write_text("Google\n")
    info = get_cloud_info(dmi=str(tmp_path), endpoint="http://127.0.0.1:9")
    assert (info["vendor"], info["region"]) == ("gcp", "unknown")
