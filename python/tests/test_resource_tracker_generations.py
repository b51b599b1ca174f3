"""Programs of both generations of resource_tracker: names, units, options, snapshots and helper modules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from statistics import mean
from typing import Any, Dict, List

import pytest
from test_resource_tracker_layout import KIB, started as started  # noqa: F401

import jobmeter
from jobmeter.compat.resource_tracker import ResourceTracker, StatSpec, _layout, get_server_info
from jobmeter.compat.resource_tracker import helpers, keeper, nvidia, server_info, tiny_bars

SNAPSHOTS = Path(__file__).parents[2] / "fixtures" / "resource_tracker"
NEWER_SYSTEM = (
    "timestamp processes utime stime cpu_usage memory_free_mib memory_used_mib memory_buffers_mib memory_cached_mib "
    "memory_active_mib memory_inactive_mib disk_read_bytes disk_write_bytes disk_space_total_gb disk_space_used_gb "
    "disk_space_free_gb net_recv_bytes net_sent_bytes gpu_usage gpu_vram_mib gpu_utilized"
).split()
NEWER_PROCESS = (
    "timestamp pid children utime stime cpu_usage memory_mib disk_read_bytes disk_write_bytes gpu_usage gpu_vram_mib "
    "gpu_utilized"
).split()


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_layout.VARIABLE, "0.5")


def test_the_newer_layout_has_its_names_and_units(started: List[Dict[str, Any]], newer: None) -> None:
    tracker = ResourceTracker(autostart=False)
    tracker.start()
    system, process = tracker.system_metrics, tracker.process_metrics
    assert (system.columns, process.columns) == (NEWER_SYSTEM, NEWER_PROCESS)
    assert system[0]["memory_free_mib"] == round(37_828_072 / 1024, 4)
    assert (system[0]["utime"], system[0]["stime"]) == (0.4, 0.31)
    assert process["memory_mib"] == [100.0, 200.0] and process["utime"] == [0.5, 0.5]
    # The older names go on to work, in their own unit.
    assert process["memory"] == [100 * 1024, 200 * 1024] and process[1]["memory"] == 200 * 1024
    assert tracker.stats()["process_memory_mib"] == {"mean": 150, "max": 200}
    assert tracker.stats()["process_memory"]["max"] == 200 * 1024
    assert tracker.get_combined_metrics(bytes=True, human_names=True)["Process memory usage"][0] == 100 * 1024 * KIB
    assert tracker.recommend_resources() == {"cpu": 1, "memory": 256, "gpu": 0, "vram": 0}
    assert list(tracker.snapshot()["process_metrics"][0]) == NEWER_PROCESS
    assert list(get_server_info()) == [
        "os", "vcpus", "memory_mib", "gpu_count", "gpu_names", "gpu_name", "gpu_memory_mib",
    ]  # fmt: skip
    again = ResourceTracker.loads(tracker.dumps())
    assert again.process_metrics == process and again.stats() == tracker.stats()


def test_a_snapshot_of_one_layout_loads_in_the_other(
    started: List[Dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = ResourceTracker().dumps()
    monkeypatch.setenv(_layout.VARIABLE, "0.5.0")
    newer = ResourceTracker.loads(reference)
    assert newer.process_metrics["utime"] == [0.5, 0.5] and newer.process_metrics["memory_mib"] == [100.0, 200.0]
    text = newer.dumps()
    monkeypatch.delenv(_layout.VARIABLE)
    back = ResourceTracker.loads(text)
    assert back.process_metrics["utime"] == [50, 50]
    assert back.process_metrics == ResourceTracker.loads(reference).process_metrics


def test_the_layout_is_chosen_by_install_or_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import jobmeter.compat; jobmeter.compat.install(force=True{}); import resource_tracker\n"
        "print(list(resource_tracker.tracker_procfs.get_process_stats(%d))[5])" % os.getpid()
    )

    def shown(options: str, **environment: str) -> str:
        program = code.format(options).replace("import resource_tracker", "import resource_tracker.tracker_procfs")
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, **environment}
        )
        return done.stdout.strip() or done.stderr.splitlines()[-1]

    assert shown("") == "memory"
    assert shown(", resource_tracker='0.5'") == "memory_mib"
    assert shown("", JOBMETER_RESOURCE_TRACKER="0.5") == "memory_mib"
    assert shown(", resource_tracker='reference'", JOBMETER_RESOURCE_TRACKER="0.5") == "memory"
    said = 'ValueError: "0.9" is no layout of resource_tracker. Valid values are "reference" and "0.5".'
    assert shown(", resource_tracker='0.9'") == said


def test_the_newer_names_work_in_the_usual_layout(started: List[Dict[str, Any]]) -> None:
    tracker = ResourceTracker()
    rows = tracker.process_metrics
    assert rows[0]["memory_mib"] == 100.0 and "memory_mib" in rows[0] and rows[0].get("gpu_vram_mib") == 0
    assert tracker.snapshot()["process_metrics"][0]["memory"] == 100 * 1024
    stats = tracker.stats([StatSpec("process_memory_mib", mean), StatSpec("system_memory_used_mib", max, None, 1)])
    assert stats["process_memory_mib"] == {"mean": 150.0}
    assert stats["system_memory_used_mib"] == {"max": round(26_322_980 / 1024, 1)}
    info = get_server_info()
    assert info["os"] == "Linux" and "gpu_name" in info and info.get("memory_mib") == info["memory_mb"]


def test_a_tracker_is_a_context_manager(started: List[Dict[str, Any]]) -> None:
    with ResourceTracker() as tracker:
        assert tracker.running
    assert not tracker.running and len(started) == 1
    with pytest.raises(ZeroDivisionError):
        with ResourceTracker(autostart=False) as tracker:
            assert tracker.running
            1 / 0
    assert not tracker.running and tracker.stop_time is not None
    with pytest.raises(RuntimeError, match="already stopped with 2 sample"):
        tracker.wait_for_samples(5)


def test_newer_options_warn_of_what_they_would_have_done(started: List[Dict[str, Any]]) -> None:
    with pytest.warns(jobmeter.JobmeterWarning) as caught:
        ResourceTracker(sentinel_token="secret", upload_interval=5, streaming_metadata={"a": 1}, future_option=1)
    texts = [str(w.message) for w in caught]
    assert len(texts) == 4 and all(w.filename == __file__ for w in caught)
    assert "'sentinel_token'" in texts[1] and "would have sent the samples" in texts[1] and "secret" not in texts[1]
    assert texts[0] == "ResourceTracker does not know the option 'future_option'; it is ignored"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ResourceTracker(sentinel_token=None, upload_interval=60)


@pytest.mark.parametrize("release", ["0.4.2", "0.5.0"])
def test_snapshots_of_the_originals(release: str, tmp_path: Path) -> None:
    """Dumped by the releases themselves, of a program that held 50 MB and kept a core busy for 2 s."""
    tracker = ResourceTracker.load(str(SNAPSHOTS / f"snapshot-{release}.json.gz"))
    rows = tracker.process_metrics
    assert 75_000 < rows["memory"][0] < 80_000 and rows["memory_mib"][0] == pytest.approx(rows["memory"][0] / 1024, abs=1e-3)
    spans = [b - a for a, b in zip(rows["timestamp"], rows["timestamp"][1:])]
    for row, span in zip(list(rows)[1:], spans):
        assert (row["utime"] + row["stime"]) / 100 / span == pytest.approx(row["cpu_usage"], abs=0.03)
    assert rows["disk_write_bytes"][0] == rows["write_bytes"][0] == 4096
    # The same disk: release 0.4 wrote GiB.
    assert tracker.system_metrics["disk_space_total_gb"][0] == pytest.approx(270.55, abs=0.01)
    stats = tracker.stats()
    assert stats["process_cpu_usage"]["max"] == pytest.approx(max(rows["cpu_usage"]), abs=0.01)
    assert stats["timestamp"]["duration"] == pytest.approx(2.0, abs=0.7)
    assert tracker.recommend_resources() == {"cpu": 1, "memory": 128, "gpu": 0, "vram": 0}
    assert tracker.recommend_server()["vcpus"] >= 1
    assert tracker.server_info is not None and tracker.server_info["memory_mib"] == 24105.57
    assert tracker.server_info["allocation"] == "shared" and tracker.server_info["os"] == "Linux"
    page = tracker.report()
    assert page.lower().startswith("<!doctype html>") and "Next time: 1 cores, 128 MiB" in page
    assert json.loads(tracker.dumps())["metadata"]["pid"] == tracker.pid


def test_a_file_that_is_no_snapshot_is_told() -> None:
    with pytest.raises(ValueError, match="the snapshot has no list of process_metrics"):
        ResourceTracker.from_snapshot({"metadata": {"start_time": 1, "stop_time": 2}, "process_metrics": 7})


TEMPLATES = [
    "Hello, {{name}} {{{name}}}!", "{{#each xs as x}}{{x.v}},{{/each}}", "{{#if yes}}Y{{#else}}N{{/if}}",
    "{{ #if no }}Y{{ #else }}N{{ /if }}", "{{n | pretty_number}} {{n | pretty_number:2}}", "{{n | divide:1000 | round:2}}",
    "{{missing}}", "{{{ missing.deep }}}", "{{#if missing}}a{{/if}}b", "{{n | nothing}}", "{{n | divide:0}}",
    "{{68 | round_memory}}", "{{m | round_memory}}", "{{#each name as x}}{{/each}}", "{{#each xs}}{{/each}}",
    "{{#if yes}}{{#if no}}a{{#else}}b{{/if}}c{{#else}}d{{/if}}", "{{name | divide:2}}", "{{big | pretty_number:3}}",
    "{{ys | index:1}} {{ys | index:9}}", "{{#if yes}}open", "{{#each xs as x}}open", "{{name | pretty_number}}",
]  # fmt: skip
CONTEXT = {
    "name": "<W'\"&>", "xs": [{"v": 1}, {"v": "<"}], "yes": True, "no": 0, "n": 1234567.891, "m": 700,
    "big": 1234500.5, "ys": [1, 2],
}  # fmt: skip
BARS = """
import sys, json
from {} import render_template
for template in json.loads(sys.argv[1]):
    try:
        print(json.dumps(render_template(template, json.loads(sys.argv[2]))))
    except Exception as error:
        print(type(error).__name__)
"""


def test_templates_are_rendered_like_those_of_the_witness() -> None:
    pytest.importorskip("resource_tracker", reason="the witness resource-tracker is not installed")

    def lines(module: str) -> List[str]:
        command = [sys.executable, "-c", BARS.format(module), json.dumps(TEMPLATES), json.dumps(CONTEXT)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    ours, theirs = lines("jobmeter.compat.resource_tracker.tiny_bars"), lines("resource_tracker.tiny_bars")
    for template, left, right in zip(TEMPLATES, ours, theirs):
        assert left == right, template
    assert len(ours) == len(TEMPLATES)
    frame = ResourceTracker.load(str(SNAPSHOTS / "snapshot-0.5.0.json.gz")).system_metrics
    assert tiny_bars.render_template("{{ f.disk_space_total_gb | index:0 }}", {"f": frame}) == "270.55"


def test_helper_modules_answer_from_the_engine(tmp_path: Path) -> None:
    assert server_info.get_total_memory_mib() == server_info.get_total_memory_mb() > 0
    assert nvidia.start_nvidia_smi() is None and nvidia.start_nvidia_smi_pmon() is None
    usage = nvidia.process_nvidia_smi_pmon(None, {os.getpid(), 2**22 + 1})
    assert set(usage) == {"gpu_usage", "gpu_vram", "gpu_utilized", "gpu_utilized_indexes"}
    assert set(nvidia.process_nvidia_smi(None)) == {"gpu_usage", "gpu_vram", "gpu_utilized"}
    found = keeper.get_recommended_cloud_servers(cpu=2, memory=4096)
    assert found[0]["vcpus"] >= 2
    assert [len(keeper.get_recommended_cloud_servers(2, 4096, n=n)) for n in (0, 1, 5)] == [0, 1, 5]
    prices = [offer["min_price_ondemand"] for offer in keeper.get_recommended_cloud_servers(cpu=2, memory=4096)]
    assert len(prices) == 10 and prices == sorted(prices)
    assert all(offer["gpu_count"] >= 1 for offer in keeper.get_recommended_cloud_servers(1, 1024, gpu=1, vram=8192))
    assert keeper.get_recommended_cloud_servers(cpu=10**6, memory=1) == []
    price = keeper.get_instance_price("aws", "us-east-1", "m6g.xlarge")
    assert price == 0.154
    elsewhere = keeper.get_instance_price("aws", "nowhere-1", "m6g.xlarge")
    assert elsewhere is not None and elsewhere > 0, "another region, where the wanted one is not known"
    assert keeper.get_instance_price("aws", "us-east-1", "no-such-type") is None
    assert keeper.get_instance_price("nobody", "us-east-1", "m6g.xlarge") is None
    with pytest.warns(jobmeter.JobmeterWarning, match="jobmeter does not ask https://keeper"):
        assert keeper.keeper_request("/servers") is None
    (tmp_path / "x").write_text("")
    helpers.cleanup_files([str(tmp_path / "x"), str(tmp_path / "never")])
    assert not (tmp_path / "x").exists()
    process, system = helpers.get_tracker_implementation()
    assert process(os.getpid())["pid"] == os.getpid() and system()["processes"] > 0
    assert helpers.is_procfs_available() and not helpers.is_partition("nothing") and helpers.aggregate_stats([]) == {}


def test_processes_are_ended() -> None:
    import multiprocessing
    import time

    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    process.start()
    pid = process.pid
    helpers.cleanup_processes([process, multiprocessing.get_context("fork").Process(target=time.sleep)])
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_mistakes_are_told_in_the_words_of_the_original(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot find context for 'nope'"):
        ResourceTracker(method="nope", autostart=False)
    tracker = ResourceTracker(autostart=False)
    with pytest.raises(RuntimeError, match=r"already stopped with 0 sample\(s\), cannot wait to collect the requested 2"):
        tracker.wait_for_samples(2, timeout=0.1)
    with ResourceTracker(interval=60) as tracker:
        with pytest.raises(RuntimeError, match="^Timed out waiting for resource tracker to collect 5 samples$"):
            tracker.wait_for_samples(5, timeout=0.1)
    assert tracker.system_metrics.to_csv(str(tmp_path / "s.csv")) is None
    assert (tmp_path / "s.csv").read_text().startswith('"timestamp",')
