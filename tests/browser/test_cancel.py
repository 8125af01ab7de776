"""A study in real JupyterLab in real Chromium: the panel, Cancel, the same cell again, a kernel restarted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

import agentlab as al
from agentlab.demo import NOTEBOOKS

from ..waiting import lives, wait_until
from .conftest import Lab, NotebookPage

SETUP = """
import agentlab as al
from agentlab.testing.drivers import Toy
scenario = al.Scenario("toy", turns=["hi"])
arms = {"stable": Toy(words=20), "volatile": Toy(words=21)}
"""
RECORD = 'recs = await al.record(scenario, arms, runs=3, seed=1, to="studies/toy", quiet=None)\nrecs'


def toy(lab: Lab, name: str, *cells: str) -> tuple[str, Path, int]:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    (lab.work / name).mkdir()
    nbformat.write(made, lab.work / name / "toy.ipynb")
    return f"{name}/toy.ipynb", lab.work / name / "studies" / "toy", len(cells) - 1


@pytest.fixture(params=["toy", "10_cache"])
def study(request: pytest.FixtureRequest, lab: Lab) -> tuple[str, Path, int]:
    """A notebook's path, the folder that it records into, and the number of the cell that records."""
    if request.param == "toy":
        return toy(lab, "cancel", SETUP, RECORD)
    request.getfixturevalue("opencode_executable")
    made = nbformat.read(NOTEBOOKS / "10_cache.ipynb", as_version=4)
    cell = next(i for i, c in enumerate(made.cells) if "al.record(" in c.source)
    # Lab, browser and other tests keep a small machine busy: no run would begin for 20 s.
    made.cells[cell].source = made.cells[cell].source.replace("to=study)", "to=study, quiet=None)")
    assert "quiet=None" in made.cells[cell].source
    nbformat.write(made, lab.work / "10_cache.ipynb")
    return "10_cache.ipynb", lab.work / "studies" / "cache", cell


def in_run(study: Path, number: int) -> Callable[[], bool]:
    """Say whether a prompt of the run has been sent and the run is under way."""

    def under_way() -> bool:
        files = list(study.glob(f"runs/{number:04d}-*/events.jsonl"))
        return bool(files) and '"turn.send"' in files[0].read_text()

    return under_way


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [p for p in processes if lives(p)]


def statuses(study: Path) -> list[str]:
    return [json.loads(f.read_text())["status"] for f in sorted(study.glob("runs/*/run.json"))]


def mime_types(cell: dict[str, Any]) -> set[str]:
    return {kind for output in cell["outputs"] for kind in output.get("data", {})}


def test_cancel_in_the_second_run(
    study: tuple[str, Path, int], open_notebook: Callable[[str], NotebookPage], shots: Path
) -> None:
    name, folder, cell = study
    notebook = open_notebook(name)
    for before in range(cell):
        if notebook.prompt(before):  # a code cell
            notebook.run(before)
    notebook.start(cell)
    button = notebook.output(cell).locator("button.jupyter-button", has_text="Cancel")
    button.wait_for(timeout=20_000)
    wait_until(in_run(folder, 1), 60, "the second run is in its turn")
    kernel = notebook.kernel()
    started = kernel.children(recursive=True)
    assert len(started) >= 3  # the measuring kernel, the watchdog of the study, the arms'
    notebook.output(cell).get_by_text("now: ").wait_for()
    notebook.page.screenshot(path=shots / f"{folder.name}-running-light.png")

    button.scroll_into_view_if_needed()
    began = time.monotonic()
    button.click()
    notebook.wait()
    assert time.monotonic() - began < 2
    wait_until(lambda: not alive(started), 5, f"nothing of it lives, but {alive(started)}")

    recordings = al.load(folder)
    assert [r.info.status for r in recordings] == ["complete", "cancelled"]
    assert [r.eligible for r in recordings] == [True, False]
    assert "cancelled" in {issue.code for issue in recordings[1].issues}
    assert not [*notebook.lab.temporary.glob("agentlab-*"), *notebook.lab.runtime.glob("agentlab-*")]

    button.wait_for(state="detached")
    assert "cancelled" in notebook.output(cell).inner_text()
    notebook.page.screenshot(path=shots / f"{folder.name}-cancelled-light.png")
    notebook.theme("Dark")
    notebook.page.screenshot(path=shots / f"{folder.name}-cancelled-dark.png")
    notebook.theme("Light")
    saved = notebook.save()[cell]
    assert {"text/html", "text/plain"} <= mime_types(saved)
    assert not {kind for kind in mime_types(saved) if "widget" in kind}


def test_the_same_cell_again_and_after_a_restart(
    lab: Lab, open_notebook: Callable[[str], NotebookPage], shots: Path
) -> None:
    name, folder, cell = toy(lab, "again", SETUP.replace("words=2", "words=4"), RECORD)
    notebook = open_notebook(name)
    notebook.run(0)
    notebook.start(cell)
    wait_until(in_run(folder, 1), 30, "the second run is in its turn")
    started = notebook.kernel().children(recursive=True)
    notebook.theme("Dark")
    notebook.page.screenshot(path=shots / "toy-running-dark.png")
    notebook.theme("Light")

    notebook.page.evaluate("async () => { await nb.sessionContext.session.kernel.restart(); }")
    wait_until(lambda: not alive(started), 5, f"nothing of it lives, but {alive(started)}")
    notebook.output(cell).get_by_text("recording when this notebook was left").wait_for()
    assert notebook.output(cell).locator("button.jupyter-button").is_hidden()
    *complete, last = statuses(folder)
    assert complete and set(complete) == {"complete"} and last == "cancelled"

    notebook.run(0)
    notebook.run(cell)
    n = len(complete)
    said = f"{n} of 6 already recorded in studies/toy; {6 - n} to do"
    assert said in notebook.output(cell).inner_text()
    assert statuses(folder) == [*complete, "cancelled", *["complete"] * (6 - n)]
    assert "6 of 7 runs used" in notebook.output(cell).inner_text()

    notebook.run(cell)
    assert "6 of 6 already recorded in studies/toy; nothing to do" in notebook.output(cell).inner_text()
    assert len(statuses(folder)) == 7


def test_a_blocking_wait_is_interrupted_and_stops_run_all(
    lab: Lab, open_notebook: Callable[[str], NotebookPage], shots: Path
) -> None:
    blocking = RECORD.replace("await ", "").replace("quiet=None)", "quiet=None).result()")
    name, folder, _ = toy(lab, "blocking", SETUP.replace("words=2", "words=400"), blocking, "paid = True")
    notebook = open_notebook(name)
    notebook.run(0)
    notebook.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    wait_until(in_run(folder, 0), 30, "the first run is in its turn")
    notebook.output(1).get_by_text("to cancel, interrupt the kernel").wait_for()
    assert notebook.output(1).locator("button.jupyter-button").is_disabled()
    notebook.page.screenshot(path=shots / "toy-blocking-light.png")
    began = time.monotonic()
    notebook.page.evaluate("() => { nb.sessionContext.session.kernel.interrupt(); }")
    wait_until(lambda: notebook.prompt(1) != "[*]:", 10, "the cell is done")
    assert time.monotonic() - began < 2
    assert (
        "InterruptedByUser: The study was interrupted; 0 of 6 runs are kept"
        in notebook.output(1).inner_text()
    )
    assert notebook.prompt(2) == "[ ]:"
