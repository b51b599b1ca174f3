"""`jobmeter.ray` on real workers of Ray, on the loopback network (`make test-ray`)."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed; make test-ray installs it")

import jobmeter
from jobmeter.ray import phases, runtime_env

TOUCHED = 300_000_000


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Path]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    folder = tmp_path / "runs"
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        object_store_memory=80_000_000,
        log_to_driver=False,
        runtime_env=runtime_env(record=folder, job="of-the-test"),
    )
    yield folder
    ray.shutdown()


@ray.remote
def touch(size: int) -> int:
    held = bytearray(size)
    for at in range(0, size, 4096):
        held[at] = 1
    time.sleep(0.3)
    return os.getpid()


@ray.remote
def burn(seconds: float) -> int:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return os.getpid()


@ray.remote
class Holder:
    def __init__(self) -> None:
        self.held = bytearray()

    def where(self) -> int:
        return os.getpid()

    def hold(self, size: int) -> int:
        self.held = bytearray(size)
        for at in range(0, size, 4096):
            self.held[at] = 1
        time.sleep(0.3)
        return os.getpid()

    def drop(self) -> int:
        self.held = bytearray()
        time.sleep(0.1)
        return os.getpid()

    def fail(self) -> None:
        raise ValueError("on purpose")


def rows_of(record: Path, *wanted: str) -> Dict[str, Dict[str, Any]]:
    """The rows by name, as soon as all that are wanted have ended; the file is written beside the worker."""
    deadline = time.monotonic() + 30
    while True:
        found: Dict[str, List[Dict[str, Any]]] = phases(record)
        rows = {row["name"]: {**row, "worker": worker} for worker, own in found.items() for row in own}
        if all(rows.get(name, {}).get("closed") for name in wanted) or time.monotonic() > deadline:
            return rows
        time.sleep(0.1)


def test_each_task_is_a_phase_with_what_it_used(cluster: Path) -> None:
    neighbour = Holder.remote()
    actor = Holder.remote()
    assert ray.get(neighbour.where.remote()) != ray.get(actor.where.remote())
    beside = neighbour.hold.remote(1_000_000)
    ray.get(actor.where.remote())
    ray.get(actor.hold.remote(TOUCHED))
    ray.get(beside)
    ray.get(actor.drop.remote())
    with pytest.raises(ValueError):
        ray.get(actor.fail.remote())
    rows_of(cluster, "Holder.fail")
    by_worker = {
        worker: {row["name"]: row for row in own}
        for worker, own in phases(cluster).items()
        if any(row["name"] == "Holder.hold" for row in own)
    }
    assert len(by_worker) == 2, by_worker.keys()
    busy = max(by_worker.values(), key=lambda own: own["Holder.hold"]["peak_rss_bytes"])
    quiet = min(by_worker.values(), key=lambda own: own["Holder.hold"]["peak_rss_bytes"])

    def grown(name: str) -> float:
        return float(busy[name]["peak_rss_bytes"] - busy["Holder.where"]["peak_rss_bytes"])

    assert grown("Holder.hold") == pytest.approx(TOUCHED, rel=0.03)
    # What the actor keeps is still there when the next method begins, and gone when it has dropped it.
    assert abs(grown("Holder.fail")) < 0.03 * TOUCHED, busy
    assert quiet["Holder.hold"]["peak_rss_bytes"] - quiet["Holder.where"]["peak_rss_bytes"] < 0.03 * TOUCHED
    assert busy["Holder.fail"]["closed"]


def test_functions_are_phases_and_every_record_has_an_end(cluster: Path) -> None:
    first = ray.get(burn.remote(0.3))
    assert ray.get(touch.remote(TOUCHED)) > 0
    rows = rows_of(cluster, "burn", "touch")
    assert {"burn", "touch"} <= set(rows)
    cpu_s = rows["burn"]["cpu_ns"] / 1e9
    assert 0.28 <= cpu_s < 0.8, cpu_s
    assert rows["touch"]["peak_rss_bytes"] - rows["burn"]["peak_rss_bytes"] == pytest.approx(TOUCHED, rel=0.03)
    ray.shutdown()
    files = sorted(cluster.glob("*.jobmeter"))
    assert files and first > 0
    deadline = time.monotonic() + 30
    verdicts: List[str] = []
    while time.monotonic() < deadline:
        runs = [jobmeter.load(file).to_dict() for file in files]
        verdicts = [str(run["verdict"]["kind"]) for run in runs]
        if not {"running", "crashed"} & set(verdicts):
            break
        time.sleep(0.2)
    assert not {"running", "crashed"} & set(verdicts), verdicts
    jobs = {run["run"]["job"]["id"] for run in runs}
    assert jobs == {"of-the-test"}
