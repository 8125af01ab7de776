"""The comparison view executed where nobody looks: HTML and PNG, no widget, no waiting for a comm."""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from agentlab.notebook import to_html

from ..doubtful import doubtful_study

CELL = """
import agentlab as al
view = al.explore(al.load("cache"), "TTFT", "CACHE_HIT_RATE")
view.show(without=("not_quiet",), estimate=("TTFT", "difference", "volatile"), run="0000-RUN")
"""


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path, float]:
    folder = tmp_path_factory.mktemp("headless")
    study = doubtful_study(folder / "cache")
    first = sorted(path.name for path in study.glob("runs/*"))[0]
    codes = [CELL.replace("0000-RUN", first), "import time\ntime.process_time()", "exec(view.code())"]
    cells = [nbformat.v4.new_code_cell(code) for code in codes]
    made = nbformat.v4.new_notebook(cells=cells)
    began = time.monotonic()
    NotebookClient(made, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return made, folder, time.monotonic() - began


def test_the_output_is_a_card_with_its_figures(executed: tuple[Any, Path, float]) -> None:
    notebook, _, seconds = executed
    outputs = notebook.cells[0].outputs
    assert [output.output_type for output in outputs] == ["display_data"]  # no warning, no traceback
    (data,) = [output.data for output in outputs]
    assert set(data) == {"text/plain", "text/html", "image/png"}
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert data["text/html"].count("data:image/png;base64,") == 2  # estimates and timeline
    assert "left out (stable 2, volatile 1)" in data["text/plain"]
    assert "widgets" not in notebook.metadata
    (cpu,) = [float(output.data["text/plain"]) for output in notebook.cells[1].outputs]
    assert cpu < 5  # s since the kernel's begin, imports and both figures inside
    assert seconds < 20  # a comm that nobody answers would wait for ever; the bound is for a busy machine


def test_the_code_cell_runs_in_the_notebook(executed: tuple[Any, Path, float]) -> None:
    outputs = executed[0].cells[2].outputs
    assert any("image/png" in output.get("data", {}) for output in outputs)  # its figure is shown


def test_the_page_needs_no_network(executed: tuple[Any, Path, float]) -> None:
    notebook, folder, _ = executed
    nbformat.write(notebook, folder / "explore.ipynb")
    page = to_html(folder / "explore.ipynb", folder / "explore.html").read_text()
    assert "widget-view+json" not in page
    assert page.count('alt="figure of the estimates"') == 1
