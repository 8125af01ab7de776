"""A report as its reader gets it: one file in a real Chromium, light, dark and on paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import agentlab as al
from agentlab.errors import AgentlabError
from agentlab.notebook import to_html
from agentlab.reporting import make, pages
from agentlab.testing.recordings import SyntheticArm, write_study

sync_api = pytest.importorskip("playwright.sync_api")


@pytest.fixture(scope="module")
def page(tmp_path_factory, chromium_executable):
    return al.report(al.example("cache"), tmp_path_factory.mktemp("report") / "deep" / "cache.html")


@pytest.fixture(scope="module")
def seen(page, chromium_executable):
    """What Chromium makes of the page in both themes."""
    found = {}
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_executable, args=["--no-sandbox"])
        for theme in ("light", "dark"):
            context = browser.new_context(color_scheme=theme, viewport={"width": 1100, "height": 900})
            tab = context.new_page()
            asked, said = [], []
            tab.on("request", lambda request, asked=asked: asked.append(request.url))
            tab.on("console", lambda message, said=said: said.append(message.text))
            tab.goto(page.as_uri())
            found[theme] = tab.evaluate(
                """() => ({
                    paper: getComputedStyle(document.body).backgroundColor,
                    ink: getComputedStyle(document.body).color,
                    cell: getComputedStyle(document.querySelector('td')).color,
                    wide: document.documentElement.scrollWidth > innerWidth,
                    cut: [...document.querySelectorAll('.output_subarea')]
                        .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 60)),
                    images: [...document.images].map(i => [i.naturalWidth, i.alt]),
                    headings: [...document.querySelectorAll('h1, h2')].map(h => h.textContent.trim()),
                })"""
            )
            found[theme] |= {"asked": [url for url in asked if not url.startswith("data:")], "said": said}
        browser.close()
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_but_the_file_is_asked_for(seen, page, theme):
    assert seen[theme]["asked"] == [page.as_uri()]
    assert seen[theme]["said"] == []


def test_it_follows_the_readers_theme(seen):
    def grey(color: str) -> float:
        return sum(map(int, re.findall(r"\d+", color)[:3])) / 3

    assert grey(seen["light"]["paper"]) > 240 > 80 > grey(seen["light"]["ink"])
    assert grey(seen["dark"]["paper"]) < 40 < 180 < grey(seen["dark"]["ink"])
    assert all(seen[theme]["cell"] == seen[theme]["ink"] for theme in seen)


def test_everything_is_there_and_fits(seen):
    for shown in seen.values():
        assert not shown["wide"]
        assert shown["cut"] == []
        assert len(shown["images"]) >= 4
        assert all(width > 500 and alt for width, alt in shown["images"]), shown["images"]
        assert shown["headings"] == [
            "cache", "What was measured", "Which runs count", "Estimates", "When the answer began",
            "Requests, tokens and cache", "One run", "Issues", "Provenance",
        ]  # fmt: skip


def test_the_file_is_small_and_says_nothing_private(page):
    text = page.read_text()
    assert page.stat().st_size < 2_000_000
    for private in (str(Path.home()), str(page.parent), str(al.example("cache").parent), "file:"):
        assert private not in text
    for active in ("<script", "<iframe", "<link", "http://", "https://", "widget-view"):
        assert active not in text
    assert "cannot be made" not in text
    assert "Warning" not in text
    assert sorted(path.name for path in page.parent.iterdir()) == ["cache.html", "cache.pdf"]


def test_it_is_printed(page):
    printed = page.with_suffix(".pdf").read_bytes()
    assert printed.startswith(b"%PDF-")
    assert len(printed) > 50_000
    assert 3 <= len(re.findall(rb"/Type /Page\b", printed)) <= 12


def test_an_older_report_is_replaced_and_a_selection_says_so(tmp_path):
    study = write_study(tmp_path / "s", arms={"a": SyntheticArm(), "b": SyntheticArm()}, runs=2)
    target = tmp_path / "page.html"
    pages.write_page(make.TEMPLATE, target, title="older", code=False)
    assert pages.is_ours(target)
    al.report(al.load(study).where(arm="b"), target, pdf=False, metrics=["TTFT"])
    text = target.read_text()
    assert "a selection of the runs" in text
    assert "2 of 2 runs can be used, in 1 arm: b." in text
    assert "TURN_LATENCY" not in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "s"]


def test_a_report_that_fails_leaves_no_page(tmp_path, monkeypatch):
    broken = tmp_path / "broken.ipynb"
    text = make.TEMPLATE.read_text().replace("facts.measured(recs)", "1 / 0")
    broken.write_text(text)
    monkeypatch.setattr(make, "TEMPLATE", broken)
    with pytest.raises(AgentlabError, match=r"out\.html was not written: .*ZeroDivisionError"):
        al.report(al.example("cache"), tmp_path / "out.html", pdf=False)
    assert [path.name for path in tmp_path.iterdir()] == ["broken.ipynb"]


def test_a_browser_that_prints_nothing_is_told(tmp_path):
    browser = tmp_path / "chromium"
    browser.write_text("#!/bin/sh\necho no display\nexit 1\n")
    browser.chmod(0o755)
    page = tmp_path / "page.html"
    page.write_text("<p>x</p>")
    with pytest.raises(AgentlabError, match=r"chromium printed no PDF of page\.html: no display"):
        pages.print_page(page, tmp_path / "page.pdf", chromium=str(browser))
    assert not (tmp_path / "page.pdf").exists()


def test_a_notebook_with_a_widget_shows_its_text_on_a_page(tmp_path):
    from nbformat import v4, write

    widget = {"application/vnd.jupyter.widget-view+json": {"model_id": "gone"}, "text/plain": "Panel(3 of 4)"}
    script = {"application/javascript": "alert(1)", "text/plain": "only text"}
    outputs = [v4.new_output("display_data", data) for data in (widget, script)]
    cell = v4.new_code_cell("show()", outputs=outputs, execution_count=1)
    write(v4.new_notebook(cells=[v4.new_markdown_cell("# Words"), cell]), tmp_path / "in.ipynb")
    text = to_html(tmp_path / "in.ipynb", tmp_path / "out.html").read_text()
    assert "Panel(3 of 4)" in text and "only text" in text
    assert "show" in text and "Words" in text
    assert "Error displaying widget" not in text and "alert(1)" not in text and "<script" not in text
