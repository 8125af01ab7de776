"""Figures in a real kernel: each is shown below its cell, also the second one, and a plain one after it."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

SETUP = """
import agentlab as al
from agentlab.testing.estimates import estimates_frame
recs = al.load(al.example("cache"))
"""
PLOTS = (
    "ax = al.plot_estimates(estimates_frame())",
    "ax = al.plot_ttft(recs)",
    "ax = al.plot_estimates(estimates_frame())",
    "import matplotlib.pyplot as plt\nlines = plt.plot([1, 2])",
)


@pytest.fixture(scope="module")
def executed() -> nbformat.NotebookNode:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in (SETUP, *PLOTS)])
    nbclient.NotebookClient(made, kernel_name="python3", timeout=60).execute(cwd=str(Path.cwd()))
    return made


@pytest.mark.parametrize("cell", range(1, len(PLOTS) + 1))
def test_every_figure_is_shown_once(executed: nbformat.NotebookNode, cell: int) -> None:
    kinds = [sorted(out.data) for out in executed.cells[cell].outputs]
    assert kinds == [["image/png", "text/plain"]]
