from __future__ import annotations

import re
import threading
import time
from typing import Any

import pytest

from agentlab import progress
from agentlab.progress import Lines, OneLine, clock, duration, line, reasons, show, until


def state(finished: int = 0, status: str = "running", **arm: object) -> dict[str, Any]:
    counts = {
        "planned": 3,
        "finished": finished,
        "eligible": finished,
        "discarded": 0,
        "running": 0,
        "reasons": {},
    }
    return {
        "folder": "studies/a",
        "status": status,
        "planned": 3,
        "finished": finished,
        "elapsed_s": 7.9,
        "current": None,
        "arms": {"a": counts | arm},
    }


class FakeRunning:
    """Goes through given states, then stays at the last; cannot show what files or hosts do."""

    def __init__(self, *states: dict[str, Any]) -> None:
        self.states = list(states)
        self.n_asked = 0
        self.threads: set[str] = set()

    def state(self) -> dict[str, Any]:
        self.n_asked += 1
        self.threads.add(threading.current_thread().name)
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]


class FakeHandle:
    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> FakeHandle:
        assert raw and display_id
        self.shown.append(bundle)
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(bundle)


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LOOK_S", 0.0)


@pytest.fixture
def handle(monkeypatch: pytest.MonkeyPatch) -> FakeHandle:
    made = FakeHandle()
    monkeypatch.setattr("IPython.display.display", made.display)
    return made


class TestLine:
    def test_says_counts_reasons_and_time(self) -> None:
        said = line(state(2, eligible=1, discarded=1, reasons={"turn_error": 1}))
        assert said == "2 of 3 runs, 1 discarded (turn_error 1); 7 s"

    def test_names_few_arms(self) -> None:
        both = state(1)
        both["arms"]["b"] = both["arms"]["a"] | {"finished": 0}
        assert line(both) == "1 of 3 runs (a 1/3, b 0/3); 7 s"

    def test_names_no_arm_of_many(self) -> None:
        many = state(1)
        many["arms"] = {f"arm {n}": many["arms"]["a"] for n in range(5)}
        assert line(many) == "1 of 3 runs; 7 s"

    def test_the_last_one_says_how_it_ended_and_where(self) -> None:
        assert line(state(1, "cancelled")) == "cancelled: 1 of 3 runs; 7 s; studies/a"

    def test_a_failed_run_without_a_code(self) -> None:
        assert reasons([{"reasons": {}}]) == "failed"

    def test_reasons_are_summed_over_arms(self) -> None:
        assert reasons([{"reasons": {"b": 1, "a": 2}}, {"reasons": {"b": 3}}]) == "a 2, b 4"

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [(0, "0 s"), (59.9, "59 s"), (60, "1 min 00 s"), (3599, "59 min 59 s"), (7260, "2 h 01 min")],
    )
    def test_durations(self, seconds: float, text: str) -> None:
        assert duration(seconds) == text


def waits(finished: int, seconds: float, run_index: int = 0) -> dict[str, Any]:
    why = "CPU pressure 81 %, limit 25 %"
    about = {"arm": "a", "run_index": run_index, "why": why, "waited_s": seconds, "longest_s": 20}
    return state(finished) | {"waiting": about}


class TestWaiting:
    SAID = (
        r"at \d\d:\d\d:\d\d a, run {} waits for a quiet machine: "
        r"CPU pressure 81 %, limit 25 %; 2 s of at most 20 s"
    )

    def test_a_terminal_is_told_once_a_wait(
        self, capsys: pytest.CaptureFixture[str], no_waiting: None
    ) -> None:
        waiting = [waits(0, s) for s in (0.5, 1.9, 2.1, 2.6, 19.0)]
        more = [state(1), waits(1, 1.0, 1), waits(1, 2.0, 1), state(2), state(3, "done")]
        show(FakeRunning(*waiting, state(), *more), "auto")()
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 5
        assert re.fullmatch(rf"agentlab: 0 of 3 runs; 7 s; {self.SAID.format(1)}", lines[0])
        assert lines[1] == "agentlab: 1 of 3 runs; 7 s"
        assert re.fullmatch(rf"agentlab: 1 of 3 runs; 7 s; {self.SAID.format(2)}", lines[2])

    def test_a_headless_notebook_too_in_place(
        self, handle: FakeHandle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(progress, "_HEADLESS_S", 0.0)
        view = OneLine(state())
        for one in (waits(0, 1.0), waits(0, 2.0), waits(0, 3.0), state(), state(1), state(1)):
            view.update(one)
        shown = [bundle["text/plain"] for bundle in handle.shown]
        assert len(shown) == 3 and shown[2] == "1 of 3 runs; 7 s"
        assert re.fullmatch(rf"0 of 3 runs; 7 s; {self.SAID.format(1)}", shown[1])


class TestTerminal:
    def test_one_line_a_finished_run_and_one_at_the_end(
        self, capsys: pytest.CaptureFixture[str], no_waiting: None
    ) -> None:
        running = FakeRunning(state(), state(), state(1), state(1), state(2), state(3), state(3, "done"))
        show(running, "auto")()
        out, err = capsys.readouterr()
        assert out == ""
        assert err.splitlines() == [
            "agentlab: 1 of 3 runs; 7 s",
            "agentlab: 2 of 3 runs; 7 s",
            "agentlab: done: 3 of 3 runs; 7 s; studies/a",
        ]

    def test_a_widget_that_nobody_could_see_is_text(
        self, capsys: pytest.CaptureFixture[str], no_waiting: None
    ) -> None:
        show(FakeRunning(state(3, "done")), "widget")()
        assert "done" in capsys.readouterr().err

    def test_none_asks_and_says_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        running = FakeRunning(state())
        show(running, "none")()
        assert running.n_asked == 0
        assert capsys.readouterr() == ("", "")

    def test_it_looks_from_a_thread_of_its_own(self, no_waiting: None) -> None:
        running = FakeRunning(state(), state(), state(3, "done"))
        show(running, "text")()
        assert running.threads == {threading.current_thread().name, "agentlab-progress"}

    def test_the_end_is_shown_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(progress, "_LOOK_S", 3600.0)
        running = FakeRunning(state(), state(), state(3, "done"))
        finish = show(running, "text")
        finish()
        assert running.states[0]["status"] == "done"
        assert running.n_asked == 3

    def test_a_resumed_study_begins_with_its_first_new_run(self, capsys: pytest.CaptureFixture[str]) -> None:
        lines = Lines(state(1))
        lines.update(state(1))
        assert capsys.readouterr().err == ""


class TestFailures:
    def test_a_broken_state_never_breaks_the_study(
        self, capsys: pytest.CaptureFixture[str], no_waiting: None
    ) -> None:
        show(FakeRunning({"status": "running"}), "text")()
        assert "cannot be shown (KeyError" in capsys.readouterr().err

    def test_a_view_that_cannot_be_made_never_breaks_the_study(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def broken(running: object, mode: str) -> object:
            raise RuntimeError("no display")

        monkeypatch.setattr(progress, "_view", broken)
        show(FakeRunning(state()), "auto")()
        assert "no display" in capsys.readouterr().err


class TestHeadlessNotebook:
    @pytest.fixture(autouse=True)
    def headless(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(progress, "front_end", lambda: "headless")

    @pytest.mark.parametrize("mode", ["auto", "text", "widget"])
    def test_one_output_without_widgets_whatever_is_asked(
        self, handle: FakeHandle, mode: str, no_waiting: None
    ) -> None:
        show(FakeRunning(state(), state(), state(3, "done")), mode)()
        assert len(handle.shown) == 2
        assert handle.shown[0] == {"text/plain": "0 of 3 runs; 7 s"}
        assert set(handle.shown[-1]) == {"text/plain", "text/html"}
        assert handle.shown[-1]["text/plain"] == "done: 3 of 3 runs; 7 s; studies/a"

    def test_at_most_four_changes_for_three_runs(
        self, handle: FakeHandle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = [0.0]
        monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
        view = OneLine(state())
        for finished in (0, 0, 1, 1, 2, 2, 3, 3):
            clock[0] += 5
            view.update(state(finished))
        view.close(state(3, "done"))
        assert len(handle.shown) == 4

    def test_at_most_one_change_a_second(self, handle: FakeHandle, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = [0.0]
        monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
        view = OneLine(state())
        clock[0] = 0.9
        view.update(state(1))
        assert len(handle.shown) == 1
        clock[0] = 1.1
        view.update(state(1))
        assert handle.shown[-1]["text/plain"].startswith("1 of 3")

    def test_a_remark_is_no_error_there(self, capsys: pytest.CaptureFixture[str]) -> None:
        progress.say("3 of 3 already recorded")
        assert capsys.readouterr() == ("agentlab: 3 of 3 already recorded\n", "")


def test_when_a_detached_study_ends_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    now = time.time_ns()
    detached = state(1) | {"until_unix_ns": now}
    assert until(state()) is None and until(detached | {"status": "done"}) is None
    assert (
        until(detached)
        == f"goes on by itself, until {time.strftime('%H:%M', time.localtime(now // 10**9))} at the latest"
    )
    assert re.fullmatch(r"20..-..-.. ..:..", clock(now + 3 * 86_400 * 10**9))
    Lines(detached)
    said = capsys.readouterr().err
    assert "1 of 3 runs" in said and "agentlab.attach('studies/a') shows it" in said


def test_a_view_is_closed_when_nobody_waits_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class FakeView:
        def update(self, state: dict[str, Any]) -> None:
            shown.append("update")

        def close(self, state: dict[str, Any]) -> None:
            shown.append(f"close {state['status']}")

    monkeypatch.setattr(progress, "_view", lambda running, mode: FakeView())
    finish = show(FakeRunning(state(0)), "text")
    finish()
    assert shown[-1] == "close running"
