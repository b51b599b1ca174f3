"""A notebook executed by nbclient shows the rich summary, and the magics work."""

from __future__ import annotations

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

CELLS = [
    "import jobmeter\nwith jobmeter.track('cell one') as run:\n    sum(range(10**6))\nrun",
    "%load_ext jobmeter",
    "%%jobmeter heavy work\ntotal = sum(range(10**6))",
    "assert total == sum(range(10**6))\nprint(_jobmeter.to_dict()['run']['name'])",
    "%jobmeter x = 1 + 1",
    "print(x)",
]


def test_the_notebook() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [cell["outputs"] for cell in notebook["cells"]]
    page = outputs[0][0]["data"]["text/html"]
    assert "cell one" in page and "CPU time" in page
    shown = [o for o in outputs[2] if o["output_type"] == "display_data"]
    assert len(shown) == 1 and "heavy work" in shown[0]["data"]["text/html"]
    assert outputs[3][0]["text"] == "heavy work\n"
    assert any("text/html" in o.get("data", {}) for o in outputs[4])
    assert outputs[5][0]["text"] == "2\n"
