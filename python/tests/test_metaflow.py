"""`@track_resources` in real flows of Metaflow from PyPI, with its local metadata and datastore in a folder of the test."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

pytest.importorskip("metaflow", reason="Metaflow is not installed")

FLOW = """
import os, sys
{imports}

class Trained(FlowSpec):
    @track_resources(interval=0.2)
    @step
    def start(self):
        import time
        held = bytearray(80_000_000)
        end = time.process_time() + 0.6
        while time.process_time() < end: pass
        self.next(self.end)

    @track_resources(artifact_name="other_name", create_card=False)
    @step
    def end(self):
        if "FAIL" in os.environ:
            raise ValueError("told to")

if __name__ == "__main__":
    Trained()
"""
UNCHANGED = "from metaflow import FlowSpec, step, track_resources"
OURS = "from metaflow import FlowSpec, step\nfrom jobmeter.metaflow import track_resources"

# Prints artifacts, without needing jobmeter to read them, and where the cards are.
READER = """
import json, sys
from metaflow import Flow, namespace
from metaflow.cards import get_cards
sys.modules["jobmeter"] = None
namespace(None)
found = {}
for step in Flow("Trained").latest_run:
    data = step.task.data
    names = [a.id for a in step.task.artifacts if a.id != "name"]
    try: cards = [dict(type=c.type, id=c.id, html=c.get()) for c in get_cards(step.task)]
    except Exception: cards = []
    found[step.id] = dict(artifacts={name: getattr(data, name) for name in names}, cards=cards)
print(json.dumps(found))
"""


def environment(folder: Path, **more: str) -> Dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("METAFLOW")}
    # Nothing is reported to anybody, and no metadata service is asked.
    telemetry = {"METAFLOW_DEFAULT_EVENT_LOGGER": "nullSidecarLogger", "METAFLOW_DEFAULT_MONITOR": "nullSidecarMonitor"}
    local = {"METAFLOW_DEFAULT_METADATA": "local", "METAFLOW_DEFAULT_DATASTORE": "local", "METAFLOW_USER": "somebody"}
    return {**kept, **telemetry, **local, "METAFLOW_HOME": str(folder), "HOME": str(folder), **more}


def run(folder: Path, imports: str, *options: str, **more: str) -> "subprocess.CompletedProcess[str]":
    (folder / "flow.py").write_text(FLOW.replace("{imports}", imports))
    (folder / ".metaflow").mkdir(exist_ok=True)
    command = [sys.executable, "flow.py", "--no-pylint", "run", *options]
    return subprocess.run(command, cwd=folder, env=environment(folder, **more), capture_output=True, text=True, timeout=120)


def read(folder: Path) -> Dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", READER], cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    found: Dict[str, Any] = json.loads(done.stdout)
    return found


def shape(value: Any) -> Any:
    """Keys of dictionaries and of the first row of a list; whole numbers and others are both numbers."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value[:1]]
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def names_folder() -> str:
    from jobmeter.compat import NAMES_FOLDER

    return NAMES_FOLDER


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> "List[Dict[str, Any]]":
    """An unchanged flow that ends well, then the same flow, failing, as written for jobmeter."""
    folder = tmp_path_factory.mktemp("flows")
    good = run(folder, UNCHANGED, PYTHONPATH=names_folder())
    assert good.returncode == 0, good.stdout + good.stderr
    first = read(folder)
    bad = run(folder, OURS, FAIL="1")
    assert bad.returncode != 0 and "ValueError: told to" in bad.stdout + bad.stderr
    assert "[@track_resources]" not in good.stdout + good.stderr + bad.stdout + bad.stderr, "there was nothing to complain of"
    return [first, read(folder)]


def test_an_unchanged_flow_has_artifact_and_card(runs: "List[Dict[str, Any]]") -> None:
    step = runs[0]["start"]
    data = step["artifacts"]["resource_tracker_data"]
    assert list(data) == ["step_failed", "tracker", "historical_stats"]
    assert data["step_failed"] is False and data["historical_stats"] == []
    metadata, rows = data["tracker"]["metadata"], data["tracker"]["process_metrics"]
    assert metadata["interval"] == 0.2 and metadata["resource_tracker"]["implementation"] == "jobmeter"
    assert max(row["memory_mib"] for row in rows) > 80e6 / 2**20
    cpu_s = sum(row["utime"] + row["stime"] for row in rows)
    assert 0.5 < cpu_s < 5, "the step burned 0.6 s, and Metaflow something around it"
    [card] = step["cards"]
    assert (card["type"], card["id"]) == ("tracked_resources", "resource_tracker_start")
    for title in ("Process CPU usage", "Memory Usage", "Next time: "):
        assert title in card["html"], title
    assert "other_name" in runs[0]["end"]["artifacts"]
    assert runs[0]["end"]["cards"] == []


def test_the_artifact_has_the_shape_of_the_original(runs: "List[Dict[str, Any]]", tmp_path: Path) -> None:
    pytest.importorskip("resource_tracker", reason="the original is not installed")
    code = (
        "import json, time; from resource_tracker import ResourceTracker; t = ResourceTracker(interval=0.2, discover_cloud=False);"
        " t.start() if not t.running else None; t.wait_for_samples(2); t.stop(); print(t.dumps())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    theirs, ours = shape(json.loads(done.stdout)), shape(runs[0]["start"]["artifacts"]["resource_tracker_data"]["tracker"])
    # Ours says in which layout it is; theirs was told not to look for its cloud.
    assert ours["metadata"]["resource_tracker"].pop("layout") == "str"
    del theirs["cloud_info"]
    assert ours.pop("cloud_info") == dict(vendor="str", instance_type="str", region="str", discovery_time="number")
    assert ours == theirs


def test_a_failed_step_has_its_data_and_history(runs: "List[Dict[str, Any]]") -> None:
    start, end = runs[1]["start"], runs[1]["end"]
    history = start["artifacts"]["resource_tracker_data"]["historical_stats"]
    assert len(history) == 1 and history[0]["process_cpu_usage"]["max"] > 0
    assert end["artifacts"]["other_name"]["step_failed"] is True


def test_the_card_of_a_failed_step_says_so(tmp_path: Path) -> None:
    """Also by `--with`, for a step that does not name the decorator."""
    imports = OURS.replace("step\n", "step as plain\n") + "\nstep = plain\ntrack_resources = lambda **options: lambda f: f"
    done = run(tmp_path, imports, "--with", "track_resources:interval=0.1", FAIL="1")
    assert done.returncode != 0 and "told to" in done.stdout + done.stderr
    found = read(tmp_path)["end"]
    assert found["artifacts"]["resource_tracker_data"]["step_failed"] is True
    assert "This run failed" in found["cards"][0]["html"]


DEEP = "metaflow_extensions.resource_tracker.plugins.track_resources.track_resources_decorator"


@pytest.mark.parametrize("order", ["import metaflow; install()", "install(); import metaflow"])
def test_install_offers_the_decorator(order: str) -> None:
    program = order.replace("install()", "jobmeter.compat.install(force=True)") + (
        "; from metaflow import track_resources; from metaflow.plugins import STEP_DECORATORS"
        "; names = [d.__module__ for d in STEP_DECORATORS if d.name == 'track_resources']"
        "; print(track_resources.args[0].__module__, names)"
    )
    if order.startswith("install"):
        # Before Metaflow is imported, the place where the original has it is ours as well.
        program += f"; from {DEEP} import ResourceTrackerDecorator as deep; assert deep in STEP_DECORATORS"
    done = subprocess.run([sys.executable, "-c", "import jobmeter.compat; " + program], capture_output=True, text=True)
    assert done.stdout == "jobmeter._metaflow.decorator ['jobmeter._metaflow.decorator']\n", done.stderr
    assert done.returncode == 0, done.stderr


def test_without_asking_metaflow_does_not_see_ours() -> None:
    """Installing jobmeter must not take a decorator away from another package."""
    code = "import metaflow; d = getattr(metaflow, 'track_resources', None); print(d and d.args[0].__module__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "jobmeter" not in done.stdout, done.stdout + done.stderr


class Step:
    """Where the decorator would put its artifact."""


def decorator(**attributes: Any) -> Any:
    from jobmeter.metaflow import ResourceTrackerDecorator

    made = ResourceTrackerDecorator(attributes=attributes)
    for name, value in made.defaults.items():
        made.attributes.setdefault(name, value)
    return made


def test_what_goes_wrong_is_in_the_artifact_and_escaped_on_the_card() -> None:
    from jobmeter.metaflow import TrackedResourcesCard

    made, flow = decorator(interval="<b>never</b>"), Step()
    made.task_pre_step()
    made.task_post_step("start", flow, None, 0, 0)
    error = vars(flow)["resource_tracker_data"]["error"]
    assert error["error_type"] == "ValueError" and "<b>never</b>" in error["error_message"] and "Traceback" in error["traceback"]
    task = type("Task", (), {"data": flow})
    page = TrackedResourcesCard().render(task)
    assert "&lt;b&gt;never&lt;/b&gt;" in page and "<b>never" not in page


def test_the_artifact_can_be_pickled_as_plain_values() -> None:
    made, flow = decorator(interval=0.1), Step()
    made.task_pre_step()
    made._tracker.wait_for_samples(1)
    made.task_exception(ValueError("x"), "start", flow, None, 0, 0)
    data = vars(flow)["resource_tracker_data"]
    assert data["step_failed"] is True and data["historical_stats"] == []
    assert b"jobmeter." not in pickle.dumps(data)
