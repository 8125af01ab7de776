"""Notebook 7, beside the JupyterLab of the other browser tests."""

from __future__ import annotations

from pathlib import Path

import nbformat

from .conftest import Lab, NotebookPage


class Notebook7(Lab):
    """A running Jupyter Notebook 7."""

    application = "notebook"
    options = ("--JupyterNotebookApp.expose_app_in_browser=True",)


class Notebook7Page(NotebookPage):
    """A notebook open in Notebook 7."""

    place = "notebooks/"


def notebook(path: Path, *cells: str) -> None:
    """Write a notebook of these code cells."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, path)
