"""A notebook executed by nbclient shows the rich summary, and the magics work."""

from __future__ import annotations

from typing import Any, List

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

CELLS = [
    "import asyncio, jobmeter\nwith jobmeter.track('cell one') as run:\n    sum(range(10**6))\nrun",
    "%load_ext jobmeter",
    "%%jobmeter heavy work\ntotal = sum(range(10**6))\n'the value'",
    "assert total == sum(range(10**6))\nprint(_jobmeter.to_dict()['run']['name'])",
    "%jobmeter x = 1 + 1",
    "print(x)",
    "%jobmeter x + 40",
    "async def late():\n    await asyncio.sleep(0.01)\n    return 'came late'",
    "%jobmeter await late()",
    "%%jobmeter\ny = await late()\ny",
    "for n in range(2):\n    %jobmeter z = n",
    "%%jobmeter it fails\nraise KeyError('told')",
    "print(_jobmeter.to_dict()['run']['name'], repr(_jobmeter))",
]


def _values(outputs: List[Any]) -> List[str]:
    return [o["data"]["text/plain"] for o in outputs if o["output_type"] == "execute_result"]


def _shown(outputs: List[Any]) -> List[str]:
    return [o["data"]["text/html"] for o in outputs if o["output_type"] == "display_data"]


def _printed(outputs: List[Any]) -> str:
    """The kernel may send what one cell prints in several pieces."""
    return "".join(o["text"] for o in outputs if o["output_type"] == "stream")


def _executed(cells: List[str]) -> List[Any]:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
    return [cell["outputs"] for cell in notebook["cells"]]


def test_the_notebook() -> None:
    outputs = _executed(CELLS)
    page = outputs[0][0]["data"]["text/html"]
    assert "cell one finished in" in page and "Memory" in page and "<svg" in page
    assert len(_shown(outputs[2])) == 1 and "heavy work" in _shown(outputs[2])[0]
    assert _values(outputs[2]) == ["'the value'"]
    assert _printed(outputs[3]) == "heavy work\n"
    assert len(_shown(outputs[4])) == 1 and _values(outputs[4]) == []
    assert _printed(outputs[5]) == "2\n"
    assert len(_shown(outputs[6])) == 1 and _values(outputs[6]) == ["42"], "a result is shown once"
    for at in (8, 9):
        assert len(_shown(outputs[at])) == 1 and _values(outputs[at]) == ["'came late'"]
    assert len(_shown(outputs[10])) == 2
    failed = outputs[11]
    assert len(_shown(failed)) == 1 and [o["ename"] for o in failed if o["output_type"] == "error"] == ["KeyError"]
    assert _printed(outputs[12]).startswith("it fails <jobmeter.Tracker 'it fails' finished after ")


def test_a_figure_is_drawn_once() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    begin = "%matplotlib inline\nimport jobmeter\nwith jobmeter.track() as run:\n    sum(range(10**6))"
    outputs = _executed([begin, "run.plot()", "figure = run.plot()", "figure"])
    pictures = [[o for o in cell if "image/png" in o.get("data", {})] for cell in outputs]
    assert [len(cell) for cell in pictures] == [0, 1, 1, 1]
