"""Files that grow row by row: a link that was put in their way leads nobody to another file."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

import jobmeter.compat.gpu_tracker as gput
from jobmeter.compat.resource_tracker import ResourceTracker, SystemTracker


def precious(folder: Path) -> Path:
    path = folder / "precious.csv"
    path.write_text("precious")
    return path


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_a_block_does_not_follow_a_link_that_took_the_place_of_its_file(tmp_path: Path, kind: str) -> None:
    kept, path = precious(tmp_path), tmp_path / f"sub.{kind}"
    with gput.SubTracker("first", sub_tracking_file=str(path)):
        pass
    path.unlink()
    path.symlink_to(kept)
    with pytest.raises(FileNotFoundError, match="was removed in the middle of writing data to it"):
        with gput.SubTracker("second", sub_tracking_file=str(path)):
            pass
    assert kept.read_text() == "precious"


def test_a_dangling_link_is_an_existing_file_for_a_block(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "nowhere.csv")
    with pytest.raises(FileExistsError):
        with gput.SubTracker("b", sub_tracking_file=str(tmp_path / "link.csv")):
            pass
    assert not (tmp_path / "nowhere.csv").exists()


def test_lines_of_a_loop_replace_a_file_and_leave_its_other_names_alone(tmp_path: Path) -> None:
    """The file used to be opened where it is and emptied, and with it whatever else it was the name of."""
    kept, path = precious(tmp_path), tmp_path / "out.csv"
    os.link(kept, path)
    tracker = SystemTracker(interval=0.05, autostart=False)
    thread = threading.Thread(target=tracker.start_tracking, args=(str(path),), daemon=True)
    thread.start()
    while path.read_text().count("\n") < 3:
        assert thread.is_alive()
    assert path.read_text().startswith('"timestamp",')
    assert kept.read_text() == "precious"


def test_a_new_file_of_a_loop_is_the_owners(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    tracker = SystemTracker(interval=0.05, autostart=False)
    threading.Thread(target=tracker.start_tracking, args=(str(path),), daemon=True).start()
    while not (path.exists() and path.read_text().count("\n") >= 1):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_stream_does_not_follow_a_link_that_came_meanwhile(tmp_path: Path) -> None:
    kept, path = precious(tmp_path), tmp_path / "stream.csv"
    tracker = ResourceTracker(interval=0.5, stream_to=str(path), discover_server=False)
    # Before the first rows are written.
    path.symlink_to(kept)
    with pytest.warns(UserWarning, match="samples could not be streamed"):
        tracker.stop()
    assert kept.read_text() == "precious"
