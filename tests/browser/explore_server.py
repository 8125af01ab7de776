"""Notebook 7, beside the JupyterLab of the other browser tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat

from .conftest import _READY, Lab, NotebookPage, wait_until

_TOKEN = "explore-tests"
_OPTIONS = (
    "--no-browser",
    "--allow-root",
    "--ServerApp.ip=127.0.0.1",
    "--ServerApp.port=0",
    f"--IdentityProvider.token={_TOKEN}",
    "--ServerApp.terminals_enabled=False",
    "--JupyterNotebookApp.expose_app_in_browser=True",
)
_FOLDERS = {
    "HOME": "home",
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_RUNTIME_DIR": "run",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "TMPDIR": "tmp",
}


class Notebook7(Lab):
    """A running Jupyter Notebook 7."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        for name in (*_FOLDERS.values(), "work"):
            (folder / name).mkdir(mode=0o700)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "JPY"))}
        environment |= {name: str(folder / below) for name, below in _FOLDERS.items()}
        with (folder / "server.log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jupyter", "notebook", *_OPTIONS, f"--ServerApp.root_dir={self.work}"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        info = folder / "run" / f"jpserver-{self.process.pid}.json"
        wait_until(info.exists, 60, f"Notebook is up; see {folder / 'server.log'}")
        self.url = json.loads(info.read_text())["url"]


class Notebook7Page(NotebookPage):
    """A notebook open in Notebook 7."""

    def open(self) -> None:
        self.page.goto(f"{self.lab.url}notebooks/{self.name}?token={_TOKEN}")
        self.page.wait_for_function("window.jupyterapp !== undefined")
        self.page.evaluate(_READY, self.n_cells)


def notebook(path: Path, *cells: str) -> None:
    """Write a notebook of these code cells."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, path)
