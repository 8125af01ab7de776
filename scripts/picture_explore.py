"""Take the README's picture of ``explore``: the shipped example in real JupyterLab in real Chromium.

    .venv/bin/python scripts/picture_explore.py

Needs ``make test``'s set-up (JupyterLab, Playwright, Chromium). Writes ``docs/images/explore.png``; nothing
is measured, so it can be taken again at any time.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.browser.conftest import Lab, NotebookPage  # noqa: E402

TARGET = ROOT / "docs" / "images" / "explore.png"
HEIGHT = 1178  # down to the run in time; what follows is tables
CELL = """import agentlab as al
view = al.explore(al.load(al.example("cache")), "CACHE_HIT_RATE")
view.show(estimate=("CACHE_HIT_RATE", "difference", "volatile"), run="0002-volatile")"""


def main() -> None:
    """Open a notebook, look at a run behind an estimate, take the picture."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    folder = Path(tempfile.mkdtemp(prefix="agentlab-picture-"))
    lab = Lab(folder)
    try:
        nbformat.write(notebook, lab.work / "look.ipynb")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-dev-shm-usage"]
            )
            context = browser.new_context(viewport={"width": 1000, "height": 2600}, device_scale_factor=1.5)
            page = NotebookPage(context.new_page(), lab, "look.ipynb")
            page.page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
            page.run(0)
            page.page.wait_for_timeout(6000)  # figures are drawn after the view is there
            kinds = {out["output_type"] for cell in page.save() for out in cell["outputs"]}
            assert "error" not in kinds, "the cell failed"
            box = page.output(0).locator(".jp-OutputArea-output:visible").last.bounding_box()
            assert box is not None
            clip = {"x": box["x"] - 8, "y": box["y"] - 4, "width": 826.0, "height": float(HEIGHT)}
            page.page.screenshot(path=TARGET, clip=clip)
            page.page.evaluate("async () => { await nb.sessionContext.shutdown(); }")
            browser.close()
    finally:
        lab.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
