"""Notebooks write numbers as the terminal does, although they are written in two languages."""

import json
from pathlib import Path

from jobmeter._format import format_value

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "format.json").read_text(encoding="utf-8"))


def test_numbers_read_the_same_in_notebooks_and_in_the_terminal():
    assert len(CASES) > 500
    shown = [{**case, "text": format_value(case["value"], case["unit"], case["style"])} for case in CASES]
    assert shown == CASES


def test_what_is_no_number_is_named():
    assert format_value(float("nan"), "bytes") == "nan"
