"""Runs and tables travel: by pickle, from workers, to machines without the file."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import pickle
from pathlib import Path

import pytest
from workloads import burn

import jobmeter


def measured(seconds: float) -> jobmeter.Tracker:
    with jobmeter.track("in a worker", interval=0.01) as run, run.phase("work"):
        burn(seconds)
    return run


def test_a_copy_says_the_same() -> None:
    run = measured(0.05)
    copy = pickle.loads(pickle.dumps(run))
    assert type(copy) is jobmeter.Tracker and copy.name == "in a worker" and not copy.running
    assert copy.to_dict() == run.to_dict() and str(copy) == str(run) and repr(copy) == repr(run)
    assert copy.samples().to_dict() == run.samples().to_dict()
    assert copy.phases()["name"] == ["work"] and "in a worker" in copy.to_html()
    assert copy.stop() is copy, "it has stopped"
    with copy:
        pass
    assert copy.to_dict()["run"]["id"] != run.to_dict()["run"]["id"], "it may be started anew"


def test_a_run_of_a_file_needs_the_file_no_more(tmp_path: Path) -> None:
    path = tmp_path / "a.jobmeter"
    with jobmeter.track("kept", record=path):
        burn(0.02)
    run = jobmeter.load(path)
    text = pickle.dumps(run)
    path.unlink()
    copy = pickle.loads(text)
    assert copy.to_dict()["run"]["name"] == "kept" and len(copy.samples()) > 0
    assert str(tmp_path).encode() not in text, "no path travels along"


def test_tables_travel() -> None:
    table = measured(0.02).processes()
    copy = pickle.loads(pickle.dumps(table))
    assert copy.to_dict() == table.to_dict() and repr(copy) == repr(table)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_return_runs(method: str) -> None:
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        run = pool.submit(measured, 0.02).result(timeout=60)
    assert run.to_dict()["run"]["name"] == "in a worker" and run.usage.cpu.combined.cpu_ns > 0


def test_one_that_runs_is_refused() -> None:
    with jobmeter.track() as run, pytest.raises(pickle.PicklingError, match="running; stop"):
        pickle.dumps(run)
    assert repr(pickle.loads(pickle.dumps(jobmeter.Tracker("later")))) == "<jobmeter.Tracker 'later': not started>"


def test_main_has_a_row_of_its_own() -> None:
    run = measured(0.1)
    [main] = [row for row in run.processes() if row["pid"] == run.to_dict()["run"]["pid"]]
    figures = run.to_dict()["main"]
    assert main["end_ns"] is None and main["cpu_ns"] == pytest.approx(figures["cpu_ns"]["value"], rel=0.05)
    assert main["peak_rss_bytes"] == pytest.approx(figures["rss_bytes_max"]["value"], rel=0.05)


def test_everything_says_something() -> None:
    run = measured(0.02)
    assert repr(run).startswith("<jobmeter.Tracker 'in a worker' finished after ") and " peak " in repr(run)
    assert repr(jobmeter.Run()) == "<jobmeter.Run: nothing measured>"
    assert "rows" in repr(run.samples()._native) and "stopped" in repr(run._recording)
    with pytest.raises(TypeError, match="is a text, not int: 5"):
        run.mark(5)  # type: ignore[arg-type]
