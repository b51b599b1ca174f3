"""`jobmeter.dask` on real workers of Dask, on the loopback network."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Dict, List

import pytest

pytest.importorskip("distributed", reason="Dask is not installed")

from distributed import Client, LocalCluster

import jobmeter
from jobmeter.dask import JobmeterPlugin, phases

TOUCHED = 300_000_000


def touch(size: int) -> int:
    held = bytearray(size)
    for at in range(0, size, 4096):
        held[at] = 1
    time.sleep(0.3)
    return len(held)


def burn(seconds: float) -> float:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return seconds


def by_name(rows: Dict[str, List[Dict[str, Any]]]) -> Dict[str, Dict[str, Any]]:
    return {row["name"].split("-")[0]: {**row, "worker": worker} for worker, own in rows.items() for row in own}


def test_each_task_is_a_phase_with_what_it_used(tmp_path: Path) -> None:
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1")
    with cluster, Client(cluster) as client:
        client.register_plugin(JobmeterPlugin(record=tmp_path / "runs"))
        first, second = sorted(client.scheduler_info()["workers"])
        on_first = {"workers": [first], "pure": False}
        client.submit(burn, 0.1, key="before-1", **on_first).result()
        beside = client.submit(burn, 0.4, key="beside-1", workers=[second], pure=False)
        assert client.submit(touch, TOUCHED, key="touch-1", **on_first).result() == TOUCHED
        client.submit(burn, 0.1, key="after-1", **on_first).result()
        beside.result()
        rows = by_name(phases(client))
    assert set(rows) == {"before", "touch", "after", "beside"}
    assert rows["beside"]["worker"] != rows["touch"]["worker"]

    def grown(name: str) -> float:
        """What the task's phase held above what its worker held before."""
        return float(rows[name]["peak_rss_bytes"] - rows["before"]["peak_rss_bytes"])

    assert grown("touch") == pytest.approx(TOUCHED, rel=0.03)
    assert abs(grown("after")) < 0.03 * TOUCHED
    assert rows["beside"]["peak_rss_bytes"] < TOUCHED
    for name, seconds in [("before", 0.1), ("beside", 0.4), ("after", 0.1)]:
        cpu_s = rows[name]["cpu_ns"] / 1e9
        assert seconds <= cpu_s + 0.02 and cpu_s < seconds + 0.5, (name, cpu_s)
    runs = sorted((tmp_path / "runs").iterdir())
    assert [run.suffix for run in runs] == [".jobmeter", ".jobmeter"]
    assert {str(jobmeter.load(run).to_dict()["run"]["name"])[:11] for run in runs} == {"dask worker"}


def test_a_task_that_fails_ends_its_phase() -> None:
    cluster = LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0", host="127.0.0.1")
    with cluster, Client(cluster) as client:
        client.register_plugin(JobmeterPlugin())
        wrong = client.submit(touch, -1, key="wrong-1", pure=False)
        with pytest.raises(ValueError):
            wrong.result()
        both = [client.submit(burn, 0.05, key=f"{name}-1", pure=False) for name in ["one", "two"]]
        client.gather(both)
        rows = by_name(phases(client))
    assert set(rows) == {"wrong", "one", "two"}
    assert all(row["closed"] for row in rows.values()), rows
