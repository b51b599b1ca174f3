"""Rates of known series: a sliver of time is not divided by, a gap is not bridged."""

from __future__ import annotations

from typing import List

import pytest
from fake_engine import STARTED_UNIX_NS, FakeTable

from jobmeter._rates import rates
from jobmeter.compat._series import Series
from jobmeter.compat.resource_tracker._loops import _until_next_beat
from jobmeter.compat.resource_tracker._rows import process_rows

MS = 1_000_000


def test_a_steady_counter_has_one_rate_whatever_the_rows() -> None:
    times = [0.0, 100.0, 200.0, 390.0, 400.0, 500.0, 502.0]
    assert rates(times, [t * 2 for t in times])[1:] == pytest.approx([2.0] * 6)


def test_the_row_at_the_stop_reaches_back() -> None:
    """One busy thread at 100 ms; at the stop, 3 ms later, the kernel settles 12 ms that were still due."""
    times = [t * MS for t in (0, 100, 200, 300, 400, 500, 503)]
    cpu = [t * MS for t in (0, 90, 190, 290, 390, 490, 502)]
    found = rates(times, cpu)
    assert found[5] == pytest.approx(1.0) and found[6] == pytest.approx(112 / 103)
    series = Series(FakeTable({"t_ns": times, "combined_cpu_ns": cpu}), STARTED_UNIX_NS)  # type: ignore[arg-type]
    rows = process_rows(series, 1, True)
    assert max(row["cpu_usage"] for row in rows) == pytest.approx(112 / 103, abs=1e-4)


def test_ticks_of_all_rows_add_up_to_the_total() -> None:
    """Each row used to be rounded by itself: ten rows of 4 ms were none."""
    times, cpu = [t * 100 * MS for t in range(11)], [t * 4 * MS for t in range(11)]
    series = Series(FakeTable({"t_ns": times, "combined_cpu_user_ns": cpu}), STARTED_UNIX_NS)  # type: ignore[arg-type]
    assert sum(row["utime"] for row in process_rows(series, 1, True)) == 4


def test_a_row_after_a_late_one_reaches_back() -> None:
    times, values = [0, 100, 200, 395, 400, 500], [0, 100, 200, 380, 400, 500]
    assert rates(times, values)[4] == pytest.approx(1.0)


def test_a_run_whose_interval_grows_keeps_its_fine_rows() -> None:
    times = [0, 10, 20, 30, 40, 50, 150, 250, 1250, 2250]
    values = [0, 0, 10, 10, 20, 20, 20, 120, 120, 1120]
    assert rates(times, values)[1:] == pytest.approx([0, 1, 0, 1, 0, 0, 1, 0, 1])


def test_a_wider_window_is_filled_as_far_as_there_is_time() -> None:
    times, values = [0, 10, 20, 30, 40], [0, 0, 10, 10, 20]
    assert rates(times, values, least_window=30)[1:] == pytest.approx([0, 0.5, 1 / 3, 2 / 3])


def test_gaps_stay_gaps() -> None:
    times = [0, 100, 200, 300, 400, 403]
    assert rates(times, [0, 100, None, 300, 400, 403]) == [None, 1, None, None, 1, pytest.approx(1)]
    # Backwards is a gap, and 3 ms after one are too few.
    assert rates(times, [0, 100, 200, 300, 5, 8]) == [None, 1, 1, 1, None, None]


@pytest.mark.parametrize("series", [[], [7]])
def test_too_few_rows_have_no_rate(series: List[float]) -> None:
    assert rates(series, series) == [None] * len(series)


def test_two_rows_are_all_there_is() -> None:
    assert rates([0, 3], [0, 6]) == [None, 2]
    assert rates([5, 5], [0, 6]) == [None, None]


@pytest.mark.parametrize(
    ("elapsed", "left"), [(0.0, 1.0), (0.25, 0.75), (0.5, 0.5), (0.75, 1.25), (1.0, 1.0), (1.999, 1.001)]
)
def test_a_late_line_moves_the_next_to_a_later_beat(elapsed: float, left: float) -> None:
    assert _until_next_beat(elapsed, 1.0) == pytest.approx(left)
