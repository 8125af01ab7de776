"""The live view, with real widgets and without a front end: what is sent, and what clicks do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pytest
from ipywidgets.widgets.widget import _instances

import agentlab as al
from agentlab.testing.recordings import SyntheticArm, write_study
from agentlab.widgets.explore import Explorer, explore
from agentlab.widgets.explore.live import Live

from ...doubtful import doubtful_study
from .test_explore_pump import FakeLoop


@pytest.fixture(scope="module")
def recs(tmp_path_factory: pytest.TempPathFactory) -> al.Recordings:
    return al.load(doubtful_study(tmp_path_factory.mktemp("studies") / "cache"))


class FakeHandle:
    """Takes the place of a display's handle; cannot show that a front end replaces an output."""

    def __init__(self) -> None:
        self.updates: list[dict[str, str]] = []

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.updates.append(bundle)


KINDS = {"text/plain", "text/html", "image/png"}


def fake_picture(_: object, *, dpi: int = 0) -> bytes:
    """Stand in for a figure, which takes half a second; it cannot show that one is drawn."""
    return b"\x89PNG"


class Shown:
    """A live view on a fake loop."""

    def __init__(self, recs: al.Recordings, monkeypatch: pytest.MonkeyPatch, *, drawn: bool = False) -> None:
        if not drawn:
            for name in ("estimates_picture", "timeline_picture"):
                monkeypatch.setattr(f"agentlab.widgets.explore.pictures.{name}", fake_picture)
        self.loop, self.displayed, self.handles = FakeLoop(), list[dict[str, Any]](), list[FakeHandle]()
        self.view = explore(recs, "TTFT", "CACHE_HIT_RATE")

        def display(bundle: dict[str, Any], *, raw: bool, display_id: bool) -> FakeHandle:
            self.displayed.append(bundle)
            self.handles.append(FakeHandle())
            return self.handles[-1]

        monkeypatch.setattr("IPython.display.display", display)
        monkeypatch.setattr("agentlab.widgets.explore.explorer.front_end", lambda: "live")
        monkeypatch.setattr("asyncio.get_running_loop", lambda: self.loop)
        self.view._ipython_display_()
        self.live: Live = self.view._live  # type: ignore[assignment]
        self.loop.run(0.9)

    def widgets(self, kind: type = ipywidgets.Widget) -> list[Any]:
        def below(widget: object) -> list[Any]:
            return [widget, *(w for child in getattr(widget, "children", ()) for w in below(child))]

        return [w for w in below(self.live._parts.box) if isinstance(w, kind)]

    def text(self) -> str:
        return " ".join(w.value for w in self.widgets(ipywidgets.HTML))

    def button(self, text: str) -> Any:  # noqa: ANN401
        return next(b for b in self.widgets(ipywidgets.Button) if b.description == text)

    def box(self, text: str) -> Any:  # noqa: ANN401
        return next(b for b in self.widgets(ipywidgets.Checkbox) if b.description == text)


@pytest.fixture
def shown(recs: al.Recordings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shown]:
    yield Shown(recs, monkeypatch)
    ipywidgets.Widget.close_all()


def test_a_reader_without_widgets_gets_a_card(shown: Shown) -> None:
    live, card = shown.displayed
    assert set(live) == {"text/plain", "application/vnd.jupyter.widget-view+json"}
    assert card["text/plain"] == repr(shown.view) and set(card) == {"text/plain", "text/html"}
    assert "10 runs" not in live["text/plain"]  # it is not said twice


def test_the_card_follows_once_nothing_changes(shown: Shown) -> None:
    _, kept = shown.handles
    assert kept.updates == []
    shown.button("volatile").click()
    shown.loop.run(1.0)
    shown.button("stable").click()
    shown.loop.run(1.0)
    assert kept.updates == []  # somebody still clicks
    shown.loop.run(0.3)
    (card,) = kept.updates
    assert card["text/plain"] == repr(shown.view) and "median of stable: 8 runs" in card["text/html"]
    assert set(card) == KINDS
    shown.live.refresh()
    shown.loop.run(2.0)
    assert len(kept.updates) == 1 and shown.live._parts.message.value == ""


def test_a_figure_is_drawn_once_for_view_and_card(
    recs: al.Recordings, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = Shown(recs, monkeypatch)
    drawn: list[int] = []

    def picture(_: object, *, dpi: int) -> bytes:
        drawn.append(dpi)
        return b"\x89PNG"

    monkeypatch.setattr("agentlab.widgets.explore.pictures.estimates_picture", picture)
    shown.box("turn latency, median").value = True
    shown.loop.run(3.0)
    shown.button("stable").click()
    shown.loop.run(3.0)
    shown.view.close()
    assert len(drawn) == 1
    ipywidgets.Widget.close_all()


def test_a_click_only_asks(shown: Shown) -> None:
    before = shown.view.view
    shown.button("volatile − stable").click()
    assert shown.view.view == before
    shown.loop.run()
    assert shown.view.view.estimate == ("TTFT", "difference", "volatile")


def test_from_an_estimate_to_its_runs_to_one_run(
    recs: al.Recordings, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = Shown(recs, monkeypatch, drawn=True)
    parts = shown.live._parts
    assert parts.runs_box.layout.display == "none" and parts.timeline.layout.display == "none"
    shown.button("stable").click()
    shown.loop.run(1.0)
    assert parts.runs_box.layout.display is None
    assert "8 runs, 8 used" in parts.about_runs.value
    run = shown.view.scene.page[0].key[1]
    shown.button(run).click()
    shown.loop.run()
    assert f"Run {run}" in parts.run.value and "TTFT ms" in parts.tables.value
    assert "events besides chunks" in parts.tables.value
    shown.loop.run(1.0)
    assert parts.timeline.layout.display is None and parts.figure.layout.display is None
    for picture in (parts.timeline, parts.figure):
        assert bytes(picture.value).startswith(b"\x89PNG") and len(picture.value) > 5_000
    ipywidgets.Widget.close_all()


def test_widgets_are_changed_in_place(shown: Shown) -> None:
    shown.button("stable").click()
    shown.loop.run(1.0)
    before = [w.model_id for w in shown.widgets()]
    shown.box("not_quiet (3 runs)").value = True
    shown.box("cached share of input tokens").value = False
    shown.button("volatile").click()
    shown.loop.run(1.0)
    assert [w.model_id for w in shown.widgets()] == before
    assert "6 runs, 2 left out" in shown.text()


def test_what_did_not_change_is_not_sent(shown: Shown) -> None:
    sent: list[Any] = []
    for widget in shown.widgets():
        widget.observe(sent.append)
    shown.live.refresh()
    shown.loop.run(1.0)
    assert sent == []


def test_every_choice_changes_the_view(shown: Shown) -> None:
    choices = shown.live._parts.choices
    for field, text, value in (
        ("reference", "volatile", "volatile"),
        ("paired", "unpaired", False),
        ("level", "99 %", 0.99),
        ("interval", "bca", "bca"),
        ("order", "best first", "best first"),
        ("listed", "used", "used"),
    ):
        choices[field]._drop.value = text
        shown.loop.run(1.0)
        assert getattr(shown.view.view, field) == value
    assert shown.live._parts.code.value == shown.view.code()


def test_leaving_the_reference_out_chooses_another(shown: Shown) -> None:
    shown.box("stable").value = False
    shown.loop.run(1.0)
    assert (shown.view.view.arms, shown.view.view.reference) == (("volatile",), "volatile")
    shown.box("volatile").value = False
    shown.loop.run(1.0)
    assert "choose at least one arm" in shown.live._parts.message.value
    assert shown.box("volatile").value is True


def test_a_view_changed_by_code_is_shown(shown: Shown) -> None:
    shown.view.show(reference="volatile", without=("not_quiet",))
    shown.loop.run(1.0)
    assert shown.box("not_quiet (3 runs)").value is True
    assert shown.live._parts.choices["reference"]._drop.value == "volatile"


def test_names_of_arms_are_never_mathematics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "a <b>$x$"
    recs = al.load(write_study(tmp_path / "s", arms={name: SyntheticArm(), "b": SyntheticArm()}, runs=2))
    shown = Shown(recs, monkeypatch)
    (box,) = (b for b in shown.widgets(ipywidgets.Checkbox) if b.tooltip == name)
    assert box.description == "a <b>\N{FULLWIDTH DOLLAR SIGN}x\N{FULLWIDTH DOLLAR SIGN}"
    assert not box.description_allow_html
    ipywidgets.Widget.close_all()


def test_a_failure_is_said_in_place_and_the_view_lives(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("time to first token, median", "cached share of input tokens"):
        shown.box(name).value = False
        shown.loop.run(1.0)
    assert "choose at least one metric" in shown.live._parts.message.value
    assert shown.box("cached share of input tokens").value is True

    def broken(_: object, *, dpi: int) -> bytes:
        raise RuntimeError("no <ink>")

    with monkeypatch.context() as patch:
        patch.setattr("agentlab.widgets.explore.pictures.estimates_picture", broken)
        shown.box("turn latency, median").value = True
        shown.loop.run(1.0)
    assert "RuntimeError: no &lt;ink&gt;" in shown.live._parts.message.value
    shown.live.refresh()
    shown.loop.run(1.0)
    assert shown.live._parts.message.value == ""
    assert shown.live._parts.figure.value and len(shown.view.scene.groups) == 2


def test_the_figure_is_saved_where_the_field_says(shown: Shown, tmp_path: Path) -> None:
    shown.live._parts.stem.value = str(tmp_path / "mine")
    shown.button("Save figure").click()
    shown.loop.run(1.0)
    assert {path.suffix for path in tmp_path.iterdir()} == {".pdf", ".svg", ".png", ".csv", ".parquet"}
    assert "mine.pdf" in shown.live._parts.saved.value
    shown.live._parts.stem.value = "mine.pdf"
    shown.button("Save figure").click()
    shown.loop.run(1.0)
    assert "give it without" in shown.live._parts.message.value


def test_at_the_end_a_card_takes_its_place_and_no_widget_is_left(
    recs: al.Recordings, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(_instances)
    shown = Shown(recs, monkeypatch)
    shown.button("stable").click()
    shown.loop.run(1.0)
    shown.button("Close: keep a card").click()
    shown.loop.run(1.0)
    live, kept = (handle.updates[-1] for handle in shown.handles)
    assert set(live) == KINDS and kept == {}
    assert set(_instances) == before
    n = len(shown.handles[0].updates)
    shown.view.close()  # nothing more to do
    assert len(shown.handles[0].updates) == n == 1


def test_shown_again_the_first_one_becomes_a_card(shown: Shown) -> None:
    shown.view._ipython_display_()
    assert len(shown.handles[0].updates) == 1 and len(shown.displayed) == 4


def test_many_runs_are_turned_page_by_page(shown: Shown) -> None:
    shown.button("volatile − stable").click()
    shown.loop.run(1.0)
    parts = shown.live._parts
    assert (parts.back.disabled, parts.on.disabled, parts.place.value) == (True, False, "1 to 10 of 16")
    parts.on.click()
    shown.loop.run(1.0)
    assert (parts.back.disabled, parts.on.disabled, parts.place.value) == (False, True, "11 to 16 of 16")


def test_without_a_loop_it_is_a_card(recs: al.Recordings, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: shown.append(bundle))
    monkeypatch.setattr("agentlab.widgets.explore.explorer.front_end", lambda: "live")
    view: Explorer = explore(recs, "TTFT")
    view._ipython_display_()
    assert set(shown[0]) == KINDS
