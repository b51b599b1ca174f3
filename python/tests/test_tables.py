"""Tables through the Arrow interface, with the libraries that people use."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from workloads import burn

import jobmeter


@pytest.fixture(scope="module")
def run() -> jobmeter.Tracker:
    with jobmeter.track(interval=0.01) as tracker:
        with tracker.phase("work"):
            burn(0.1)
    return tracker


def test_pyarrow(run: jobmeter.Tracker) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = pyarrow.table(run.samples())
    assert table.num_rows == len(run.samples()) and table.column_names == run.samples().column_names
    table.validate(full=True)
    assert table.column("main_rss_bytes").to_pylist() == run.samples()["main_rss_bytes"]
    assert pyarrow.table(run.phases()).column("name").to_pylist() == ["work"]
    assert pyarrow.schema(run.samples()).names == table.column_names
    # The buffers outlive the table they came from.
    del run
    assert table.column("t_ns").null_count == 0


def test_polars(run: jobmeter.Tracker) -> None:
    pytest.importorskip("polars", reason="polars is not installed")
    frame = run.to_polars()
    assert frame["main_cpu_ns"].to_list() == run.samples()["main_cpu_ns"]


def test_duckdb(run: jobmeter.Tracker) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    samples = pyarrow.RecordBatchReader.from_stream(run.samples())
    found = duckdb.sql("SELECT count(*), max(main_rss_bytes) FROM samples").fetchall()
    assert found == [(len(run.samples()), max(run.samples()["main_rss_bytes"]))]


def test_pandas(run: jobmeter.Tracker) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = run.to_pandas()
    assert list(frame["main_rss_bytes"]) == run.samples()["main_rss_bytes"]
    assert str(frame["t_ns"].dtype) == "int64"
    ends = run.processes().to_pandas()["end_ns"]
    assert ends.isna().any(), "what is unknown is not a number"


def test_csv(run: jobmeter.Tracker, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    text = run.to_csv(str(path))
    assert path.read_text() == text and path.stat().st_mode & 0o777 == 0o600
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [int(r["t_ns"]) for r in rows] == run.samples()["t_ns"]
    with jobmeter.track() as hostile:
        hostile.mark('=cmd|" /C calc"!A0')
    assert '"\'=cmd|' in hostile.marks().to_csv()


def test_csv_follows_no_planted_name_and_keeps_the_link(run: jobmeter.Tracker, tmp_path: Path) -> None:
    path, victim = tmp_path / "out.csv", tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "out.csv.part").symlink_to(victim)
    text = run.to_csv(str(path))
    assert path.read_text() == text and victim.read_text() == "precious"
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    path.write_text("old")
    run.to_csv(str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink() and path.read_text() == text
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(FileNotFoundError, match="folder does not exist"):
        run.to_csv(str(tmp_path / "missing" / "out.csv"))
    with pytest.raises(IsADirectoryError):
        run.to_csv(str(tmp_path))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "out.csv", "out.csv.part", "victim"]


def test_missing_columns_are_told(run: jobmeter.Tracker) -> None:
    with pytest.raises(KeyError, match="there is no column"):
        run.samples()["nope"]


def test_plot(run: jobmeter.Tracker) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    figure = run.plot()
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert titles[:2] == ["Cores used", "RAM"]
    assert [t.get_text() for axis in figure.axes for t in axis.texts] == ["work"], "named once, in the first panel"
    matplotlib.pyplot.close(figure)


def test_names_in_a_plot_do_not_cover_each_other() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    with jobmeter.track(interval=0.01) as run:
        for number in range(200):
            run.mark(f"mark {number}")
        burn(0.05)
    figure = run.plot()
    figure.canvas.draw()
    boxes = sorted((t.get_window_extent() for t in figure.axes[0].texts), key=lambda box: box.x0)
    assert boxes and all(left.x1 <= right.x0 + 1 for left, right in zip(boxes, boxes[1:]))
    matplotlib.pyplot.close(figure)


def test_rows_and_html(run: jobmeter.Tracker) -> None:
    table = run.phases()
    rows = list(table)
    assert [row["name"] for row in rows] == ["work"] and list(rows[0]) == table.column_names
    with jobmeter.track() as hostile, hostile.phase("<script>"):
        pass
    text = hostile.phases()._repr_html_()
    assert "&lt;script&gt;" in text and "<script>" not in text and text.startswith("<table>")
