"""What to ask for next time, which server and at what cost: the native API, the pages, and the machine itself."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import psutil
import pytest
from test_cloud_info import machine

import jobmeter
from jobmeter import _engine
from jobmeter._run import Run
from jobmeter.compat.resource_tracker import ResourceTracker, get_server_info

MIB = 1 << 20


class Told:
    """A recording of which only the summary is known."""

    def __init__(self, **figures: Dict[str, Any]) -> None:
        self.summary = {"combined": figures}

    def summary_json(self) -> str:
        return json.dumps(self.summary)


def told(**figures: Dict[str, Any]) -> Run:
    return Run(Told(**figures))  # type: ignore[arg-type]


def test_the_simple_rule_on_given_figures() -> None:
    run = told(
        cores_used_mean={"value": 3.4, "quality": "exact"},
        rss_bytes_max={"value": 50_000 * MIB, "upper": 60_000 * MIB, "quality": "sampled"},
        gpu_busy_ppm_mean={"value": 900_000, "quality": "sampled"},
        gpu_busy_ppm_max={"value": 1_900_000, "quality": "sampled"},
        gpu_memory_bytes_max={"value": 10_000 * MIB, "quality": "sampled"},
    )
    advice = run.recommend_resources()
    assert advice["cpu"] == 3 and advice["gpu"] == 2
    # From the upper bound, plus 20 %, up to the next step: never the 128 MiB of a mistaken unit.
    assert advice["memory"] is not None and 72_000 <= advice["memory"] <= 72_000 * 1.15
    assert advice["vram"] is not None and 12_000 <= advice["vram"] <= 12_000 * 1.15
    server = run.recommend_server(vendor="aws")
    assert server["vendor"] == "aws" and server["gpu"] >= 2 and server["memory"] >= advice["memory"] * MIB
    assert {"vendor", "type", "vcpus", "memory", "gpu", "price", "source", "as_of"} <= set(server)


def test_what_was_not_measured_is_not_advised() -> None:
    unknown = {"value": None, "quality": "unavailable", "reason": "not readable"}
    advice = told(cores_used_mean={"value": 0.2}, rss_bytes_max=unknown, gpu_memory_bytes_max=unknown).recommend_resources()
    assert advice == {"cpu": 1, "memory": None, "gpu": 0, "vram": None}
    # What is not known does not narrow the choice.
    assert told(rss_bytes_max=unknown).recommend_server()["vcpus"] >= 1


@pytest.fixture(scope="module")
def measured() -> jobmeter.Tracker:
    """One core busy with 200 MiB of this process's own, until a few samples saw them."""
    with jobmeter.track(interval="20ms") as run:
        held = bytearray(os.urandom(MIB)) * 200
        begin = time.process_time()
        while time.process_time() - begin < 0.3:
            held[0] ^= 1
    return run


def test_the_advice_of_a_real_run(measured: jobmeter.Tracker) -> None:
    advice = measured.recommend_resources()
    peak = measured.to_dict()["combined"]["rss_bytes_max"]
    assert peak["value"] >= 200 * MIB
    assert advice["memory"] is not None and advice["memory"] * MIB >= 1.2 * (peak.get("upper") or peak["value"])
    # No more than is busy on average, rounded; neither process nor machine can be busier than its cores.
    assert advice["cpu"] is not None and 1 <= advice["cpu"] <= (os.cpu_count() or 1)
    server = measured.recommend_server(cpu=8)
    assert server["vcpus"] >= 8 and server["memory"] >= advice["memory"] * MIB


def section(page: str) -> str:
    found = re.search(r"Server and cost</h2>(.*?)</section>", page, re.S)
    assert found, "the page has no section on servers"
    return found.group(1)


def test_the_native_page_has_advice_server_cost_and_allocation(measured: jobmeter.Tracker) -> None:
    page = measured.to_html()
    assert "For the next run" in page and "#SBATCH --mem=" in page
    assert "What this server costs is not known" in section(page)
    priced = section(measured.to_html(price_per_hour="7.2EUR"))
    wall_s = measured.to_dict()["run"]["wall_ns"] / 1e9
    per_1000 = float(re.findall(r"([\d.]+) EUR", priced)[2])
    assert per_1000 == pytest.approx(7.2 * wall_s / 3.6, rel=0.01)
    assert priced.count("as of") == 2 and "your price" in priced and "saves" in priced
    assert re.search(r"dedicated to the job|shared with others", priced)
    assert "aws/m5.4xlarge" in section(measured.to_html(instance="m5.4xlarge"))
    for wrong in ({"price_per_hour": "free"}, {"instance": "aws/nothing.like.it"}, {"price_per_hour": 1, "instance": "m5.large"}):
        with pytest.raises(ValueError):
            measured.to_html(**wrong)  # type: ignore[arg-type]


class Stalling:
    """Accepts and never answers; tells when the other side gave up."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.asked, self.given_up = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._hold)
        self.thread.start()

    def _hold(self) -> None:
        stream, _ = self.listener.accept()
        with stream:
            while stream.recv(4096):
                self.asked.set()
        self.given_up.set()

    def close(self) -> None:
        if not self.asked.is_set():
            socket.create_connection(self.listener.getsockname()).close()
        self.thread.join()
        self.listener.close()


@pytest.fixture
def on_aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """A machine whose firmware names AWS and a type; metadata is asked at the given loopback address."""
    root = machine(tmp_path, sys_vendor="Amazon EC2", product_name="m5.4xlarge")
    search = _engine.search_cloud
    monkeypatch.setattr(_engine, "search_cloud", lambda: search(root))
    yield lambda base: monkeypatch.setenv("JOBMETER_METADATA_BASE", base)


def test_a_stalling_service_holds_up_neither_start_nor_stop(on_aws: Callable[[str], None]) -> None:
    waited: List[bool] = []
    # Discovery gives up by itself after half a second; a busy machine may need as long for the rest.
    for _ in range(5):
        service = Stalling()
        on_aws("http://{}:{}".format(*service.listener.getsockname()))
        tracker = ResourceTracker(interval=0.02, discover_cloud=True)
        assert service.asked.wait(30)
        tracker.stop()
        waited.append(service.given_up.is_set())
        cloud = tracker.cloud_info
        assert cloud is not None and (cloud["vendor"], cloud["instance_type"]) == ("aws", "m5.4xlarge")
        assert service.given_up.wait(30), "asking for the answer waits for the rest of the discovery"
        assert tracker.cloud_info is cloud
        service.close()
        if not waited[-1]:
            break
    assert not all(waited), "start or stop waited for the service"


def test_a_program_may_end_while_the_service_stalls(tmp_path: Path) -> None:
    import subprocess
    import sys

    root = machine(tmp_path, sys_vendor="Amazon EC2")
    service = Stalling()
    code = f"from jobmeter import _engine; _engine.search_cloud({root!r}); print('ended')"
    base = "http://{}:{}".format(*service.listener.getsockname())
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "JOBMETER_METADATA_BASE": base}, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    service.close()
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


def test_the_page_of_the_reference_tracker(on_aws: Callable[[str], None]) -> None:
    on_aws("http://127.0.0.1:9")
    tracker = ResourceTracker(interval=0.05, discover_cloud=True)
    tracker.wait_for_samples(n=3, timeout=30)
    tracker.stop()
    for shown in (tracker, ResourceTracker.loads(tracker.dumps())):
        text = section(shown.report())
        server = tracker.recommend_server()
        assert f"{server['vendor']}/{server['type']} (" in text
        assert "aws/m5.4xlarge in" in text and "as of <bdi>2025" in text and "Per 1,000 runs" in text
        assert re.search(r"dedicated to the job|shared with others", text)


def test_this_machine_against_another_witness() -> None:
    info = jobmeter.get_server_info()
    assert info["cpu"]["vcpus"] == psutil.cpu_count()
    assert info["memory"]["total_bytes"] == psutil.virtual_memory().total
    assert info["memory"]["swap_bytes"] == psutil.swap_memory().total
    assert info["limits"]["affinity_cores"] == len(os.sched_getaffinity(0))
    assert info["os"]["hostname"] == socket.gethostname() and info["os"]["kernel"] == os.uname().release
    reference = get_server_info()
    assert reference["vcpus"] == psutil.cpu_count()
    assert reference["memory_mb"] == pytest.approx(psutil.virtual_memory().total / MIB, abs=0.01)
    assert reference["gpu_count"] == len(info["gpus"])


def test_the_cloud_is_asked_only_when_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Stalling()
    monkeypatch.setenv("JOBMETER_METADATA_BASE", "http://{}:{}".format(*service.listener.getsockname()))
    root = machine(tmp_path, sys_vendor="Amazon EC2", product_name="m5.large")
    quiet = jobmeter.get_cloud_info(root=root)
    assert not service.asked.is_set()
    assert (quiet["vendor"], quiet["instance_type"], quiet["region"], quiet["zone"]) == ("aws", "m5.large", None, None)
    assert quiet["source"] == "dmi" and "not allowed" in quiet["reason"]
    asked = jobmeter.get_cloud_info(discover_cloud=True, root=root)
    assert service.asked.is_set() and "in time" in asked["reason"]
    assert asked["discovery_time"] >= 0.4
    service.close()
