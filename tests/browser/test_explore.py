"""The comparison view in real JupyterLab and real Notebook 7: look, choose, drill down, take out, close."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

import agentlab as al

from ..doubtful import doubtful_study
from .conftest import Lab, NotebookPage
from .explore_server import Notebook7, Notebook7Page, notebook

CELLS = (
    'import agentlab as al\nview = al.explore(al.load("studies/cache"))\nview',
    "exec(view.code())\nbool(estimates.equals(view.estimates)), view.view.reference, len(estimates)",
    "view.close()",
)
expect.set_options(timeout=20_000)  # a small machine with a lab, a kernel and a browser on it
_PICTURE = "img => img.complete && img.naturalWidth > 0 ? img.src : ''"


@pytest.fixture(scope="session")
def notebook7(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook7]:
    made = Notebook7(tmp_path_factory.mktemp("notebook7"))
    yield made
    made.close()


@pytest.fixture(params=["lab", "notebook7"])
def opened(request: pytest.FixtureRequest, browser: Browser) -> Iterator[NotebookPage]:
    """A notebook with the view's cells, in a folder of its own, beside a study."""
    server: Lab = request.getfixturevalue(request.param)
    folder = server.work / request.node.originalname
    doubtful_study(folder / "studies" / "cache")
    notebook(folder / "look.ipynb", *CELLS)
    context = browser.new_context(viewport={"width": 1280, "height": 2000})
    kind = NotebookPage if request.param == "lab" else Notebook7Page
    made = kind(context.new_page(), server, f"{folder.name}/look.ipynb")
    yield made
    made.page.evaluate("async () => { await nb.sessionContext.shutdown(); }")
    assert made.strange == [], "requests that left this machine"
    context.close()


def pictures(output: Any) -> list[str]:  # noqa: ANN401
    """Return the sources of the pictures that can be seen."""
    return [img.evaluate(_PICTURE) for img in output.locator("img").all() if img.is_visible()]


def another_picture(page: Any, output: Any, before: list[str]) -> list[str]:  # noqa: ANN401
    """Wait until other pictures are seen."""
    for _ in range(200):
        now = pictures(output)
        if now and all(now) and set(now) - set(before):
            return now
        page.wait_for_timeout(50)
    raise AssertionError("no other picture within 10 s")


def shoot(opened: NotebookPage, shots: Path, name: str) -> None:
    """Take pictures in both themes; for people."""
    for theme in ("Dark", "Light"):
        opened.theme(theme)
        where = "lab" if type(opened) is NotebookPage else "notebook7"
        opened.page.screenshot(path=shots / f"explore-{name}-{where}-{theme.lower()}.png")


def test_look_choose_drill_down_take_out_close(opened: NotebookPage, shots: Path) -> None:
    opened.run(0)
    page, output = opened.page, opened.output(0)
    button: Callable[[str], Any] = lambda text: output.get_by_role("button", name=text, exact=True)  # noqa: E731
    figure = another_picture(page, output, [])
    assert len(figure) == 1
    buttons = output.get_by_role("button").count()
    shoot(opened, shots, "first")

    # choose: metrics, reference, filter
    output.get_by_label("turn latency, median").uncheck()
    expect(button("volatile − stable")).to_have_count(2)
    output.locator("select").first.select_option("volatile")
    expect(button("stable − volatile").first).to_be_visible()
    output.get_by_label("not_quiet (3 runs)").check()
    expect(output.get_by_text("6 runs, 2 left out").first).to_be_visible()
    expect(output.get_by_text("are left out (stable")).to_be_visible()
    figure = another_picture(page, output, figure)

    # drill down: an estimate, its runs, one run in time
    button("stable − volatile").first.click()
    expect(
        output.get_by_text("time to first token, median of stable and volatile: 16 runs, 8 used")
    ).to_be_visible()
    output.locator("select", has_text="worst first").select_option("as recorded")
    button("Next").click()
    expect(output.get_by_text("11 to 16 of 16")).to_be_visible()
    run = al.load(opened.folder / "studies" / "cache")[12]
    button(run.run_id).click()
    expect(output.get_by_text(f"Run {run.run_id}: arm {run.arm}")).to_be_visible()
    expect(output.locator("img:visible")).to_have_count(2)
    assert len(another_picture(page, output, figure)) == 2
    output.get_by_text("events besides chunks").click()
    expect(output.get_by_text("turn.send").first).to_be_visible()
    shoot(opened, shots, "run")
    output.get_by_text("events besides chunks").click()

    # a failure is said in place, and the next choice works
    for metric in ("time to first token, median", "cached share of input tokens"):
        output.get_by_label(metric).uncheck()
    expect(output.get_by_text("choose at least one metric")).to_be_visible()
    output.get_by_label("time to first token, median").check()
    expect(output.get_by_text("choose at least one metric")).to_be_hidden()
    assert output.get_by_role("button", include_hidden=True).count() >= buttons

    # take out: the figure's files, the code that makes it
    output.get_by_label("Save as").fill("figures/mine")
    output.get_by_label("Save as").press("Tab")
    output.locator("button", has_text="Save figure").click()  # with an icon in its name
    expect(output.get_by_text("Saved figures/mine.pdf")).to_be_visible(timeout=20_000)
    saved = opened.folder / "figures"
    assert "not_quiet" in al.figure_info(saved / "mine.svg")["drawn_by"][0]["notes"][0]
    output.get_by_text("Code cell").click()
    code = output.locator("textarea").input_value()
    assert code.startswith("import agentlab as al") and 'reference="volatile"' in code
    shoot(opened, shots, "code")
    opened.run(1)
    expect(opened.output(1).get_by_text("(True, 'volatile', 8)")).to_be_visible()

    # close: a card stays, and a saved notebook holds no widget
    output.locator("button", has_text="Close: keep a card").click()
    expect(output.get_by_role("button")).to_have_count(0, timeout=20_000)
    expect(output.get_by_text("6 runs, 2 left out").first).to_be_visible()
    shoot(opened, shots, "closed")
    kinds = {kind for out in opened.save()[0]["outputs"] for kind in out.get("data", {})}
    assert kinds == {"text/plain", "text/html", "image/png"}


def test_a_view_left_open_is_a_card_when_its_kernel_has_gone(opened: NotebookPage, shots: Path) -> None:
    opened.run(0)
    live, card = (opened.output(0).locator(".jp-OutputArea-child").nth(i) for i in (0, 1))
    opened.output(0).get_by_role("button", name="volatile", exact=True).first.click()
    about = card.get_by_text("time to first token, median of volatile: 8 runs, 7 used")
    expect(about).to_be_attached()
    expect(card).to_be_hidden()
    expect(live).to_be_visible()
    opened.page.evaluate("async () => { await nb.sessionContext.session.kernel.restart(); }")
    expect(about).to_be_visible()
    expect(live).to_be_hidden()
    opened.save()
    opened.open()
    expect(live.get_by_text("model not found")).to_be_attached()
    expect(live).to_be_hidden()
    expect(about).to_be_visible()
    assert len(pictures(card)) == 1
    shoot(opened, shots, "left")
    mine = (opened.folder / "look.ipynb").read_text()
    (opened.folder / "theirs.ipynb").write_text(mine.replace("view.close()", "view"))
    opened.open("theirs.ipynb")
    expect(about).to_be_visible()  # a notebook that is not trusted keeps no style sheet
    expect(live.get_by_text("A live view")).to_be_visible()
