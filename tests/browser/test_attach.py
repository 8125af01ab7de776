"""A detached study in real JupyterLab: its notebook's kernel is restarted, and attach finds it again."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psutil

import agentlab as al
from agentlab.host.lease import Lease

from ..waiting import lives, wait_until
from .conftest import Lab, NotebookPage
from .test_cancel import SETUP, alive, in_run, mime_types, statuses, toy

RECORD = (
    'recs = await al.record(scenario, arms, runs=3, seed=1, to="studies/toy", quiet=None, detach=120)\nrecs'
)
ATTACH = 'import agentlab as al\nrecs = await al.attach("studies/toy")\nrecs'


def test_a_restart_an_interrupt_and_cancel(
    lab: Lab, open_notebook: Callable[[str], NotebookPage], shots: Path
) -> None:
    name, folder, _ = toy(lab, "detached", SETUP.replace("words=2", "words=20"), RECORD, ATTACH)
    cell, attach = 1, 2
    notebook = open_notebook(name)
    notebook.run(0)
    notebook.start(cell)
    wait_until(in_run(folder, 0), 30, "the first run is in its turn")
    notebook.output(cell).get_by_text("goes on by itself, until").wait_for()
    notebook.page.screenshot(path=shots / "detached-owner-light.png")
    lease = Lease.read(folder)
    assert lease is not None
    measuring = psutil.Process(lease.process.pid)
    started = [measuring, *measuring.children(recursive=True)]
    before = notebook.kernel()

    notebook.page.evaluate("async () => { await nb.sessionContext.session.kernel.restart(); }")
    wait_until(lambda: not lives(before) or notebook.kernel() != before, 10, "another kernel")
    time.sleep(1.5)
    assert lives(measuring) and lease.process.alive()

    notebook.start(attach)
    panel = notebook.output(attach)
    button = panel.locator("button.jupyter-button", has_text="Cancel")
    button.wait_for(timeout=20_000)
    panel.get_by_text("goes on by itself, until").wait_for()
    panel.get_by_text("now: ").wait_for()
    notebook.page.screenshot(path=shots / "detached-attached-light.png")

    notebook.page.evaluate("() => { nb.sessionContext.session.kernel.interrupt(); }")
    notebook.wait()
    assert "No longer waiting for the study" in panel.inner_text()
    assert "agentlab.attach('studies/toy') shows it again" in panel.inner_text()
    assert lives(measuring)
    button.wait_for(state="detached")
    notebook.page.screenshot(path=shots / "detached-interrupted-light.png")

    notebook.start(attach)
    button.wait_for(timeout=20_000)
    notebook.theme("Dark")
    notebook.page.screenshot(path=shots / "detached-attached-dark.png")
    notebook.theme("Light")
    button.scroll_into_view_if_needed()
    began = time.monotonic()
    button.click()
    notebook.wait()
    assert time.monotonic() - began < 2
    wait_until(lambda: not alive(started), 5, f"nothing of it lives, but {alive(started)}")
    *complete, last = statuses(folder)
    assert set(complete) <= {"complete"} and last == "cancelled"
    assert "cancelled" in {issue.code for issue in al.load(folder)[len(complete)].issues}
    assert "cancelled" in panel.inner_text()
    notebook.page.screenshot(path=shots / "detached-cancelled-light.png")
    assert not [*notebook.lab.temporary.glob("agentlab-*"), *notebook.lab.runtime.glob("agentlab-*")]
    saved = notebook.save()[attach]
    assert {"text/html", "text/plain"} <= mime_types(saved)
    assert not {kind for kind in mime_types(saved) if "widget" in kind}
