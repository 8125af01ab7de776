from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import ipywidgets
import pytest
from ipywidgets.widgets.widget import _instances

from agentlab.widgets.panel import Panel


def state(status: str = "running", **more: object) -> dict[str, Any]:
    arm = {
        "planned": 4,
        "finished": 2,
        "eligible": 1,
        "discarded": 1,
        "running": 1,
        "reasons": {"turn_error": 1},
    }
    return {
        "folder": "studies/a",
        "status": status,
        "planned": 4,
        "finished": 2,
        "elapsed_s": 75.0,
        "current": {"run_id": "0002-a", "arm": "a <b>", "run_index": 2, "started_unix_ns": 0},
        "arms": {"a <b>": arm},
    } | more


class FakeRunning:
    """The part of a Running that a panel uses; cannot show what cancelling does."""

    def __init__(self) -> None:
        self.study = SimpleNamespace(planned={"a <b>": 4})
        self.cancelled = self.blocking = False

    def cancel(self) -> None:
        self.cancelled = True

    def state(self) -> dict[str, Any]:
        return state(finished=0)


class FakeHandle:
    def __init__(self, updates: list[dict[str, str]] | None = None) -> None:
        self.updates: list[dict[str, str]] = [] if updates is None else updates

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.updates.append(bundle)


@pytest.fixture
def handle(monkeypatch: pytest.MonkeyPatch) -> FakeHandle:
    made = FakeHandle()

    def display(bundle: dict[str, Any], *, raw: bool, display_id: bool) -> FakeHandle:
        assert raw and display_id
        live = "application/vnd.jupyter.widget-view+json" in bundle
        made.updates += [] if live else [bundle]
        return made if live else FakeHandle(made.updates)

    monkeypatch.setattr("IPython.display.display", display)
    return made


@pytest.fixture
def running() -> FakeRunning:
    return FakeRunning()


@pytest.fixture
def panel(running: FakeRunning, handle: FakeHandle) -> Iterator[Panel]:
    yield Panel(running)
    ipywidgets.Widget.close_all()


def widgets(panel: Panel, kind: type) -> list[Any]:
    def below(widget: object) -> list[Any]:
        return [widget, *(w for child in getattr(widget, "children", ()) for w in below(child))]

    return [w for w in below(panel._box) if type(w) is kind]


def text(panel: Panel) -> str:
    return " ".join(w.value for w in widgets(panel, ipywidgets.HTML))


def test_it_shows_each_arm_the_run_under_way_and_the_folder(panel: Panel) -> None:
    panel.update(state())
    (bar,) = widgets(panel, ipywidgets.IntProgress)
    assert (bar.value, bar.max) == (2, 4)
    shown = text(panel)
    assert "2/4, 1 eligible, 1 discarded (turn_error 1)" in shown
    assert "now: a &lt;b&gt;, run 3" in shown
    assert "1 min 15 s" in shown and "studies/a" in shown
    assert "<b>a" not in shown and "a <b>" not in shown  # a name is text


def test_a_run_that_waits_for_a_quiet_machine(panel: Panel) -> None:
    why = {"why": "CPU pressure 81 %, limit 25 %", "waited_s": 3.0, "longest_s": 20.0}
    panel.update(state(current=None, waiting={"arm": "a <b>", "run_index": 2, **why}))
    said = "a &lt;b&gt;, run 3 waits for a quiet machine: CPU pressure 81 %, limit 25 %; 3 s of at most 20 s"
    assert said in text(panel)


def test_a_time_that_is_not_known(panel: Panel) -> None:
    panel.update(state(elapsed_s=None))
    assert "<b>2 of 4 runs</b> &nbsp; <code>studies/a</code>" in text(panel)


def test_it_changes_in_place(panel: Panel) -> None:
    before = [id(w) for w in (*widgets(panel, ipywidgets.HTML), *widgets(panel, ipywidgets.IntProgress))]
    panel.update(state())
    panel.update(state(finished=3))
    after = [id(w) for w in (*widgets(panel, ipywidgets.HTML), *widgets(panel, ipywidgets.IntProgress))]
    assert before == after


@pytest.mark.parametrize("blocking", [False, True])
def test_what_did_not_change_is_not_sent(panel: Panel, running: FakeRunning, blocking: bool) -> None:
    running.blocking = blocking
    panel.update(state())
    sent: list[Any] = []
    for widget in (*widgets(panel, ipywidgets.HTML), *widgets(panel, ipywidgets.IntProgress)):
        widget.observe(sent.append)
    panel.update(state())
    assert sent == []


def test_cancel_only_sets_a_flag(panel: Panel, running: FakeRunning) -> None:
    (button,) = widgets(panel, ipywidgets.Button)
    button.click()
    assert running.cancelled
    assert not button.disabled  # the handler may run on any thread: it touches no widget
    panel.update(state())
    assert button.disabled and button.description == "Cancelling"


def test_a_blocking_wait_says_how_to_cancel(panel: Panel, running: FakeRunning) -> None:
    (button,) = widgets(panel, ipywidgets.Button)
    running.blocking = True
    panel.update(state())
    assert button.disabled and "interrupt the kernel" in text(panel)
    running.blocking = False
    panel.update(state())
    assert not button.disabled and "interrupt the kernel" not in text(panel)


@pytest.mark.parametrize(("finished", "said"), [(0, "starting"), (2, "between runs")])
def test_no_run_under_way(panel: Panel, finished: int, said: str) -> None:
    panel.update(state(current=None, finished=finished))
    assert said in text(panel)


def test_at_the_end_a_card_without_widgets_takes_its_place(handle: FakeHandle, running: FakeRunning) -> None:
    before = set(_instances)
    panel = Panel(running)
    panel.close(state("cancelled"))
    left, bundle, kept = handle.updates
    assert "recording when this notebook was left" in left["text/plain"] and kept == {}
    assert set(bundle) == {"text/plain", "text/html"}
    assert "cancelled" in bundle["text/plain"]
    assert set(_instances) == before  # layouts and styles too


def test_a_notebook_that_is_left_says_how_far_it_was(panel: Panel, handle: FakeHandle) -> None:
    (first,) = handle.updates
    assert "a: recording when this notebook was left, 0 of 4 runs" in first["text/plain"]
    panel.update(state())
    panel.update(state(elapsed_s=76.0))
    *_, last = handle.updates
    assert len(handle.updates) == 2  # once a run
    assert "2 of 4 runs" in last["text/html"] and "agentlab.load(&#x27;studies/a&#x27;)" in last["text/html"]
    assert "The same record(...) call makes the runs that are missing." in last["text/plain"]


def test_many_arms_scroll(running: FakeRunning, handle: FakeHandle) -> None:
    names = [f"arm {n}" for n in range(40)]
    running.study = SimpleNamespace(planned=dict.fromkeys(names, 4))
    arms = {name: state()["arms"]["a <b>"] for name in names}
    running.state = lambda: state(arms=arms)  # type: ignore[method-assign]
    panel = Panel(running)
    assert len(widgets(panel, ipywidgets.IntProgress)) == 40
    assert panel._box.children[1].layout.max_height == "22em"
    ipywidgets.Widget.close_all()


def test_a_detached_study_says_until_when_it_goes_on(panel: Panel, running: FakeRunning) -> None:
    running.blocking = True
    panel.update(state(until_unix_ns=1_000_000_000 * 10**9))
    assert "goes on by itself, until 2001-09-" in text(panel)
    assert "an interrupt stops only the waiting" in text(panel) and "to cancel" not in text(panel)
