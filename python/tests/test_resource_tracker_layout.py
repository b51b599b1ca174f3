"""Columns, units and statistics of resource_tracker, from an engine of known numbers."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any, Dict, List

import fake_engine
import pytest

from jobmeter.compat.resource_tracker import ResourceTracker, get_server_info
from jobmeter.compat.resource_tracker.column_maps import PROCESS_COLUMNS, SYSTEM_COLUMNS

SECOND = 1_000_000_000
KIB, MIB = 1024, 1024**2
REFERENCE_HEADER = (
    '"timestamp","processes","utime","stime","cpu_usage","memory_free","memory_used","memory_buffers",'
    '"memory_cached","memory_active","memory_inactive","disk_read_bytes","disk_write_bytes",'
    '"disk_space_total_gb","disk_space_used_gb","disk_space_free_gb","net_recv_bytes","net_sent_bytes",'
    '"gpu_usage","gpu_vram","gpu_utilized"'
)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> List[Dict[str, Any]]:
    columns: Dict[str, List[Any]] = {
        "t_ns": [0, SECOND, 2 * SECOND],
        "system_forks": [0, 5, 7],
        "system_cpu_ns": [0, 710_000_000, 1_430_000_000],
        "system_cpu_user_ns": [0, 400_000_000, 630_000_000],
        "system_cpu_system_ns": [0, 310_000_000, 800_000_000],
        "system_memory_free_bytes": [0, 37_828_072 * KIB, 37_836_696 * KIB],
        "system_memory_used_bytes": [0, 26_322_980 * KIB, 26_316_404 * KIB],
        "system_memory_buffers_bytes": [0, 16 * KIB, 16 * KIB],
        "system_memory_cached_bytes": [0, 1_400_724 * KIB, 1_398_676 * KIB],
        "system_memory_active_bytes": [0, 13_080_320 * KIB, 13_071_060 * KIB],
        "system_memory_inactive_bytes": [0, 1_009_284 * KIB, 1_009_284 * KIB],
        "system_disk_read_bytes": [0, 86_016, 172_032],
        "system_disk_write_bytes": [0, 401_408, 7_401_472],
        "system_mount_total_bytes[/]": [5_000_250_000_000] * 3,
        "system_mount_total_bytes[/home]": [635_000_000_000] * 3,
        "system_mount_used_bytes[/]": [3_405_810_000_000] * 3,
        "system_mount_free_bytes[/]": [2_229_440_000_000] * 3,
        "system_net_receive_bytes": [0, 10_382, 11_751],
        "system_net_transmit_bytes": [0, 13_140, 14_964],
        "system_gpu_busy_ppm[GPU-1]": [0, 240_000, 150_000],
        "system_gpu_memory_bytes[GPU-1]": [0, 1034 * MIB, 1033 * MIB],
        "combined_cpu_ns": [0, 600_000_000, 1_200_000_000],
        "combined_cpu_user_ns": [0, 500_000_000, 1_000_000_000],
        "combined_cpu_system_ns": [0, 100_000_000, 200_000_000],
        "combined_rss_bytes": [0, 100 * MIB, 200 * MIB],
        "main_rss_bytes": [0, 50 * MIB, 60 * MIB],
        "combined_read_storage_bytes": [0, 4096, 4096],
        "descendants_processes": [0, 2, 2],
    }
    return fake_engine.install(monkeypatch, columns, fake_engine.summary(), memory_total_bytes=15_788_210 * KIB)


def test_system_metrics_are_those_of_the_reference(started: List[Dict[str, Any]]) -> None:
    tracker = ResourceTracker()
    frame = tracker.system_metrics
    assert frame.columns == SYSTEM_COLUMNS
    assert frame.to_csv().splitlines()[0] == REFERENCE_HEADER
    first, second = frame[0], frame[1]
    assert list(first.values())[1:] == [
        1005, 40, 31, 0.71, 37828072, 26322980, 16, 1400724, 13080320, 1009284, 86016, 401408,
        5635.25, 3405.81, 2229.44, 10382, 13140, 0.24, 1034.0, 1,
    ]  # fmt: skip
    assert (second["utime"], second["stime"], second["disk_write_bytes"]) == (23, 49, 7000064)
    assert frame["memory_free_mib"][0] == pytest.approx(37828072 / 1024, abs=1e-4)


def test_it_starts_at_once_and_only_once(started: List[Dict[str, Any]]) -> None:
    tracker = ResourceTracker()
    assert tracker.running and len(started) == 1
    tracker.start()
    assert tracker.running and len(started) == 1, "programs of release 0.5 call it"
    with pytest.raises(RuntimeError, match="^Resource tracker already running, cannot start again.$"):
        tracker.start()
    tracker.stop()
    assert not tracker.running
    with pytest.raises(RuntimeError, match="^Resource tracker already stopped"):
        tracker.start()
    waiting = ResourceTracker(autostart=False)
    assert not waiting.running and waiting.n_samples == 0 and len(started) == 1
    assert len(waiting.process_metrics) == 0
    with pytest.raises(RuntimeError, match=r"^No metrics collected \(yet\)$"):
        waiting.stats()


def test_process_metrics_with_and_without_children(started: List[Dict[str, Any]]) -> None:
    both = ResourceTracker().process_metrics
    assert both.columns == PROCESS_COLUMNS
    assert both["memory"] == [100 * 1024, 200 * 1024]
    assert both["children"] == [2, 2]
    assert (both["utime"], both["stime"], both["cpu_usage"]) == ([50, 50], [10, 10], [0.6, 0.6])
    assert both["disk_read_bytes"] == [4096, 0]
    alone = ResourceTracker(children=False).process_metrics
    assert alone["memory"] == [50 * 1024, 60 * 1024]
    assert alone["children"] == [None, None]


def test_combined_metrics(started: List[Dict[str, Any]]) -> None:
    tracker = ResourceTracker()
    plain = tracker.get_combined_metrics()
    assert plain.columns[0] == "timestamp"
    assert plain.columns[1:] == [f"system_{c}" for c in SYSTEM_COLUMNS[1:]] + [
        f"process_{c}" for c in PROCESS_COLUMNS[1:]
    ]
    human = tracker.get_combined_metrics(bytes=True, human_names=True)
    assert human["Process memory usage"] == [100 * MIB, 200 * MIB]
    assert human["System disk space total"][0] == pytest.approx(5635.25e9)
    assert human["System VRAM used"][0] == 1034 * MIB
    assert tracker.get_combined_metrics(system_prefix="S", process_prefix="P").columns[1] == "Sprocesses"
    assert len(tracker.get_combined_metrics(offset=1)) == 1


def test_stats_and_recommendations(started: List[Dict[str, Any]]) -> None:
    tracker = ResourceTracker()
    stats = tracker.stats()
    assert stats["process_cpu_usage"] == {"mean": 0.6, "max": 0.6}
    assert stats["process_memory"] == {"mean": 150 * 1024, "max": 200 * 1024}
    assert stats["process_memory_mib"] == {"mean": 150, "max": 200}
    assert stats["system_net_recv_bytes"] == {"sum": 11751}
    assert stats["timestamp"]["duration"] == pytest.approx(2.0)
    assert tracker.recommend_resources() == {"cpu": 1, "memory": 256, "gpu": 0, "vram": 0}
    earlier = {"process_cpu_usage": {"mean": 3.3, "max": 4}, "process_memory_mib": {"mean": 1, "max": 4000}}
    assert tracker.recommend_resources(historical_stats=[earlier]) == {"cpu": 2, "memory": 5120, "gpu": 0, "vram": 0}
    system_only = ResourceTracker(track_processes=False)
    assert "process_cpu_usage" not in system_only.stats()


def test_snapshots_go_round(started: List[Dict[str, Any]], tmp_path: Path) -> None:
    tracker = ResourceTracker(interval=1)
    tracker.stop()
    shot = tracker.snapshot()
    assert list(shot) == ["metadata", "server_info", "cloud_info", "process_metrics", "system_metrics"]
    assert shot["cloud_info"] is None
    path = str(tmp_path / "run.json.gz")
    tracker.dump(path)
    assert json.loads(gzip.open(path).read())["metadata"]["version"] == 1
    for again in (ResourceTracker.load(path), ResourceTracker.loads(tracker.dumps()), ResourceTracker.from_snapshot(shot)):
        assert again.stats() == tracker.stats()
        assert not again.running and again.n_samples == 2
        assert again.server_info == tracker.server_info
        with pytest.raises(RuntimeError):
            again.start()


def test_report(started: List[Dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A restored tracker has nothing but its rows; one that measured uses the record itself.
    tracker = ResourceTracker.from_snapshot(ResourceTracker().snapshot())
    report = tracker.report(historical_stats=[tracker.stats()], status_failed=True)
    path = tmp_path / "report.html"
    assert report.save(str(path)) is report
    text = path.read_text()
    assert text.lower().startswith("<!doctype html>")
    # Drawn charts, or the data of the interactive ones where the wheel has them.
    assert "<svg" in text or 'type="application/json"' in text
    assert not re.search(r"(src|href)=.?https?:", text), "the page asks nobody for anything"
    assert "Next time: 1 cores, 256 MiB of memory" in text and "This run failed" in text
    assert "1.20 s" in text, "the CPU time of both rows"
    for title in ("CPU Usage", "Memory Usage", "Disk I/O Usage", "Disk Space Usage", "Network Usage", "VRAM Usage"):
        assert f"<td>{title}</td>" in text
    for series in ("Process CPU usage", "System CPU usage", "Process memory usage", "System inbound network traffic"):
        assert f"<td>{series}</td>" in text
    assert "<td>Process memory usage</td><td>157,286,400.00</td><td>209,715,200.00</td><td>bytes</td>" in text
    opened: List[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert report.browse() is report
    assert len(opened) == 1 and Path(opened[0][len("file://") :]).read_text() == text


def test_server_info_has_the_keys_of_the_reference(started: List[Dict[str, Any]]) -> None:
    info = get_server_info()
    assert info == {"vcpus": 12, "memory_mb": 15418.17, "gpu_count": 0, "gpu_names": [], "gpu_memory_mb": 0.0}
    assert info["memory_mib"] == info["memory_mb"] and info["gpu_name"] == ""


def test_wait_for_samples(started: List[Dict[str, Any]]) -> None:
    tracker = ResourceTracker()
    tracker.wait_for_samples(n=2, timeout=0.1)
    with pytest.raises(RuntimeError, match="Timed out"):
        tracker.wait_for_samples(n=3, timeout=0.05)
