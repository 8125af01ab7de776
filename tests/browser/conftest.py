"""One JupyterLab and one Chromium for all tests; a fresh page for each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from ..waiting import wait_until

_TOKEN = "browser-tests"
_SETTINGS = {
    # Without these a toast of news covers the page, and cells off screen are not in the document.
    "@jupyterlab/apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}
_OPTIONS = (
    "--no-browser",
    "--allow-root",
    "--ServerApp.ip=127.0.0.1",
    "--ServerApp.port=0",
    f"--IdentityProvider.token={_TOKEN}",
    "--ServerApp.terminals_enabled=False",
)
_FOLDERS = {
    "HOME": "home",
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_RUNTIME_DIR": "run",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    "TMPDIR": "tmp",
}
_READY = """async n => {
  const app = window.jupyterapp; await app.restored; let p;
  for (let i = 0; i < 200 && !(p = app.shell.currentWidget)?.sessionContext; i++)
    await new Promise(r => setTimeout(r, 50));
  await p.context.ready; await p.sessionContext.ready; await p.revealed;
  for (let i = 0; i < 200 && p.content.widgets.length < n; i++) await new Promise(r => setTimeout(r, 50));
  await p.sessionContext.session.kernel.info; window.nb = p; }"""
_START = """i => { nb.content.activeCellIndex = i; nb.content.deselectAll();
  window.ran = window.jupyterapp.commands.execute('notebook:run-cell'); }"""
_ENDED = """async s => await Promise.race([window.ran.then(() => true),
  new Promise(r => setTimeout(r, 1000 * s, false))])"""


class Lab:
    """A running JupyterLab, with folders of its own."""

    application = "lab"
    options = (
        "--LanguageServerManager.autodetect=False",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.expose_app_in_browser=True",
    )

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        for name in ("work", *_FOLDERS.values()):
            (folder / name).mkdir(mode=0o700)
        for name, settings in _SETTINGS.items():
            file = folder / "settings" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(settings))
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "JPY"))}
        self.temporary, self.runtime = folder / "tmp", folder / "run"
        options = (*_OPTIONS, *self.options, f"--ServerApp.root_dir={self.work}")
        with (folder / "server.log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jupyter", self.application, *options],
                env=inherited | {name: str(folder / below) for name, below in _FOLDERS.items()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        info = folder / "run" / f"jpserver-{self.process.pid}.json"
        wait_until(info.exists, 60, f"Jupyter is up; see {folder / 'server.log'}")
        self.url = json.loads(info.read_text())["url"]

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class NotebookPage:
    """A notebook open in JupyterLab."""

    place = "lab/tree/"

    def __init__(self, page: Page, lab: Lab, name: str) -> None:
        self.page, self.lab, self.name = page, lab, name
        self.n_cells = len(json.loads((lab.work / name).read_text())["cells"])
        self.strange: list[str] = []
        page.on("request", self._note)
        self.open()

    def _note(self, request: Any) -> None:  # noqa: ANN401
        if not request.url.startswith((self.lab.url, "data:", "blob:")):
            self.strange.append(request.url)

    @property
    def folder(self) -> Path:
        """The notebook's folder."""
        return (self.lab.work / self.name).parent

    def open(self, beside: str | None = None) -> None:
        """Open the notebook, or open it anew; or another one in its folder."""
        if beside is not None:
            self.name = str(Path(self.name).with_name(beside))
        self.page.goto(f"{self.lab.url}{self.place}{self.name}?reset&token={_TOKEN}")
        self.page.wait_for_function("window.jupyterapp !== undefined")
        self.page.evaluate(_READY, self.n_cells)

    def start(self, cell: int) -> None:
        """Run a cell without waiting for its end."""
        self.page.evaluate(_START, cell)

    def wait(self, seconds: float = 60) -> None:
        """Wait for the end of the cell that was started last."""
        assert self.page.evaluate(_ENDED, seconds), f"the cell is not done within {seconds} s"

    def run(self, cell: int) -> None:
        """Run a cell to its end."""
        self.start(cell)
        self.wait()

    def prompt(self, cell: int) -> str:
        """Return what stands before a cell, e.g. ``[3]:``."""
        return (
            self.page.locator(".jp-Notebook > * .jp-Cell").nth(cell).locator(".jp-InputPrompt").inner_text()
        )

    def output(self, cell: int) -> Any:  # noqa: ANN401
        """Locate a cell's output."""
        return self.page.locator(".jp-Notebook > * .jp-Cell").nth(cell).locator(".jp-Cell-outputArea")

    def theme(self, name: str) -> None:
        """Choose JupyterLab's ``Light`` or ``Dark`` theme."""
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})",
            f"JupyterLab {name}",
        )
        self.page.wait_for_function(
            "light => document.body.dataset.jpThemeLight === light", arg=str(name == "Light").lower()
        )
        self.page.wait_for_function("!document.querySelector('#jupyterlab-splash')")

    def save(self) -> list[dict[str, Any]]:
        """Save the notebook and return its cells."""
        self.page.evaluate("async () => { await nb.context.save(); }")
        return json.loads((self.lab.work / self.name).read_text())["cells"]

    def kernel(self) -> psutil.Process:
        """Return the notebook's kernel."""
        ident = self.page.evaluate("nb.sessionContext.session.kernel.id")
        server = psutil.Process(self.lab.process.pid)
        return next(p for p in server.children() if ident in " ".join(p.cmdline()))


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    made = Lab(tmp_path_factory.mktemp("lab"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def browser(chromium_executable: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(
            executable_path=chromium_executable, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield made
        made.close()


@pytest.fixture
def open_notebook(lab: Lab, browser: Browser) -> Iterator[Callable[[str], NotebookPage]]:
    """Open a notebook of the lab's working folder; at the end its kernel is shut down."""
    opened: list[NotebookPage] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})

    def open_(name: str) -> NotebookPage:
        opened.append(NotebookPage(context.new_page(), lab, name))
        return opened[-1]

    yield open_
    for notebook in opened:
        notebook.page.evaluate("async () => { await nb.sessionContext.shutdown(); }")
        assert notebook.strange == [], "requests that left this machine"
    context.close()


@pytest.fixture(scope="session")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: for people, nothing is asserted on them."""
    folder = os.environ.get("AGENTLAB_TEST_SHOTS")
    return Path(folder) if folder else tmp_path_factory.mktemp("shots")
