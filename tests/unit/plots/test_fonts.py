"""Letters of any script: with what fonts there are, and without a complaint where there are none."""

import logging

import matplotlib.font_manager
import pytest

from agentlab.plots import fonts
from agentlab.plots.canvas import new_figure, wrap
from agentlab.plots.export import save
from agentlab.plots.style import style


@pytest.fixture(autouse=True)
def _anew(monkeypatch):
    manager = matplotlib.font_manager.fontManager
    monkeypatch.setattr(manager, "ttflist", [*manager.ttflist])
    fonts.families.cache_clear()
    yield
    fonts.families.cache_clear()


def draw(path):
    with style():
        ax = new_figure(3, 2).add_subplot()
        ax.set_title("測定 한국어 Ω 🙂", fontweight="bold")
        ax.set_yticks([0, 1], labels=["コーデックス", "开放"])
        ax.text(0, 0, "日本語 $x$")
    save(ax, path)  # outside of the style, as a notebook draws it


@pytest.mark.parametrize("installed", [True, False])
def test_letters_of_any_script_are_drawn_without_a_complaint(tmp_path, monkeypatch, caplog, installed):
    if not installed:
        monkeypatch.setattr(fonts, "_OTHERS", ("nowhere",))
    with caplog.at_level(logging.WARNING):
        draw(tmp_path / "figure")
    assert not caplog.records
    assert {file.suffix for file in tmp_path.iterdir()} >= {".pdf", ".svg", ".png"}


def test_the_usual_letters_come_first_and_only_what_is_installed_is_named():
    found = fonts.families()
    assert found[0] == "DejaVu Sans"
    assert set(found) <= {font.name for font in matplotlib.font_manager.fontManager.ttflist}


def test_a_font_of_that_script_is_taken_where_there_is_one(monkeypatch):
    manager = matplotlib.font_manager.fontManager
    plain = next(font for font in manager.ttflist if font.name == "DejaVu Sans Mono")
    manager.ttflist.append(matplotlib.font_manager.FontEntry(fname=plain.fname, name="IPAGothic", weight=400))
    monkeypatch.setattr(fonts, "_OTHERS", ("Noto Sans CJK of nowhere", "IPAGothic"))
    assert fonts.families()[:2] == ["DejaVu Sans", "IPAGothic"]
    assert {font.weight for font in manager.ttflist if font.name == "IPAGothic"} == {400, 700}


def test_a_caption_of_wide_letters_is_broken_at_half_as_many():
    usual, wide = (max(map(len, wrap([letter * 500], 5).split("\n"))) for letter in "a測")
    assert wide == usual // 2
