"""Parts of WebChat that need no browser: likeness of texts, what is seen in a trace, gates, places."""

from __future__ import annotations

from typing import Any

import pytest

from agentlab.drivers.webchat.appcalls import filled, look_up
from agentlab.drivers.webchat.counters import tell_app
from agentlab.drivers.webchat.gates import Gates
from agentlab.drivers.webchat.likeness import shown_ratio
from agentlab.drivers.webchat.listening import Listening
from agentlab.drivers.webchat.page import AppCounters
from agentlab.drivers.webchat.presets import PRESETS
from agentlab.drivers.webchat.samples import named
from agentlab.drivers.webchat.traceeye import TraceEye
from agentlab.wire.cdp import ScriptFailed, TraceEnd

MARKDOWN = """# Title
Some **bold**, _thin_ and `code`, see [a link](http://not.shown/x "no").

```python
def f(x): return x
```

| a | b |
|---|---|
| 1 | 2 &amp; 3 |
<br> end ![picture](p.png)
"""
RENDERED = """Title
Some bold, thin and code, see a link.
python Copy
def f(x): return x
a	b
1	2 & 3
end picture"""


TAGS = '<p class="row" id="box"></p>\n' * 30


class FakeRun:
    """Keeps what is told; nothing is written."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.codes: list[tuple[str, bool]] = []

    def emit(self, kind: str, *, t: int | None = None, content: Any = None, **fields: Any) -> None:  # noqa: ANN401
        self.events.append((kind, fields))

    def issue(self, code: str, detail: str | None = None, *, discard: bool = False) -> None:
        self.codes.append((code, discard))


@pytest.mark.parametrize(
    ("answer", "shown", "low", "high"),
    [
        (MARKDOWN, RENDERED, 1, 1),
        (MARKDOWN, MARKDOWN, 1, 1),  # not yet rendered: its own marks stand on the page
        ("one two three four", "", 0, 0),
        ("one two three four", "one two", 0.5, 0.5),
        ("one two three four", "four three two one", 0.25, 0.25),
        ("last answer here", "an earlier answer of another kind " * 50 + "last answer here", 1, 1),
        ("word " * 500, "cat " * 500, 0, 0),
        ("The fox sleeps. " * 100, "The fox sleeps. " * 90, 0.89, 0.91),
        (
            "1. A fox\n2) A cat\n   - [x] fed\n" * 9,
            "A fox\nA cat\nfed\n" * 9,
            1,
            1,
        ),  # a list's marks are drawn
        ("これは**強調**です。un**believ**able " * 9, "これは強調です。unbelievable " * 9, 1, 1),
        (r"caf&eacute; `a`s a\*b &amp;c " * 9, "café as a*b &c " * 9, 1, 1),
        ("See [a][one].\n\n[one]: http://x/y 'Title here'\n" * 9, "See a.\n" * 9, 1, 1),
        ("Before.\n```html\n" + TAGS + "\n```\nAfter.", "Before.\nhtml Copy\n" + TAGS + "\nAfter.", 1, 1),
        ("これは**強調**です。" * 9, "これは違う文です。" * 9, 0, 0),
    ],
)
def test_likeness(answer: str, shown: str, low: float, high: float) -> None:
    ratio = shown_ratio(answer, shown)
    assert ratio is not None and low <= ratio <= high


def test_an_answer_without_words_has_no_likeness() -> None:
    assert shown_ratio("**\n---", "x") is None


def task(pid: int, tid: int) -> bytes:
    return b'{"args":{},"cat":"c","name":"RunTask","ph":"X","pid":%d,"tdur":7,"tid":%d,"ts":1}' % (pid, tid)


def test_the_eye_counts_tasks_of_the_marked_thread_only() -> None:
    eye = TraceEye(lambda line: None if b'"pid":2' in line else line)
    mark = (
        b'{"args":{"data":{"startTime":1}},"name":"agentlab:begin","ph":"I","pid":1,"s":"t","tid":7,"ts":3}'
    )
    other = b'{"args":{"mark_name":"agentlab:end"},"name":"Other","ph":"X","pid":1,"tid":7,"ts":3}'
    lines = [task(1, 7), task(2, 7), task(1, 8), mark, task(1, 7), other]
    assert [eye(line) for line in lines] == [lines[0], None, *lines[2:]]
    assert eye.marks == {"agentlab:begin": (1, 7)}
    assert (eye.tasks_of((1, 7)), eye.tasks_of((2, 7)), eye.tasks_of((3, 7))) == (2, 1, 0)


def ended(**how: Any) -> TraceEnd:  # noqa: ANN401
    about: dict[str, Any] = {
        "complete": True, "data_loss": False, "n_bytes": 9, "n_events": 9, "n_dropped": 0, "seconds": 1.0,
    }  # fmt: skip
    return TraceEnd(**about | how)


def verdicts(run: FakeRun) -> dict[str, Any]:
    return {fields["name"]: fields["passed"] for kind, fields in run.events if kind == "page.gate"}


def test_gates_of_a_trace() -> None:
    good = TraceEye()
    good.marks = {"agentlab:begin": (1, 7), "agentlab:end": (1, 7)}
    good(task(1, 7))
    cases: list[tuple[TraceEnd | None, TraceEye, dict[str, bool | None]]] = [
        (ended(), good, {"trace_incomplete": True, "trace_data_loss": True, "page_no_mark": True,
                         "page_no_tasks": True}),
        (ended(data_loss=None), good, {"trace_incomplete": True, "trace_data_loss": None,
                                       "page_no_mark": True, "page_no_tasks": True}),
        (ended(data_loss=True), TraceEye(), {"trace_incomplete": True, "trace_data_loss": False,
                                             "page_no_mark": False, "page_no_tasks": None}),
        (ended(complete=False, data_loss=None, reason="timeout"), good,
         {"trace_incomplete": False, "trace_data_loss": None}),
        (None, good, {"trace_incomplete": False}),
    ]  # fmt: skip
    for trace, eye, expected in cases:
        run = FakeRun()
        Gates(run).trace(PRESETS["light"], trace, eye)  # type: ignore[arg-type]
        assert verdicts(run) == expected
        assert run.codes == [(name, True) for name, passed in expected.items() if passed is False]
    silent = FakeRun()
    Gates(silent).trace(PRESETS["off"], None, TraceEye())  # type: ignore[arg-type]
    assert silent.events == []


def heard(*, answer: str | None, seconds: float = 0.0, idle: bool = True) -> Listening:
    listening = Listening(FakeRun())  # type: ignore[arg-type]
    listening.emit("session.open", session="s", role="main")
    listening.emit("turn.send", session="s", turn=1)
    for t in (10, 10 + int(seconds * 1e9)):
        listening.emit("chunk", t=t, session="s", chunk="text", visible=True)
    if idle:
        content = None if answer is None else {"text": answer}
        listening.emit("turn.reply", session="s", content=content)
        listening.emit("idle", t=99, session="s")
    return listening


@pytest.mark.parametrize(
    ("listening", "growths", "text", "expected"),
    [
        (heard(answer="a b c"), 1, "a b c", (True, True, True)),
        (heard(answer="a b c", seconds=5), 1, "a b c", (True, False, True)),
        (heard(answer="a b c", seconds=5), 3, "a b c", (True, True, True)),
        (heard(answer="a b c"), 0, "", (True, False, False)),
        (heard(answer=" "), 0, "", (True, None, None)),
        (heard(answer=None), 4, "x", (True, True, None)),
        (heard(answer="a", idle=False), 4, "x", (False, "absent", "absent")),
    ],
)
def test_gates_of_an_answer(listening: Listening, growths: int, text: str, expected: tuple[Any, ...]) -> None:
    run = FakeRun()
    Gates(run).answer(listening, {"n_growths": growths, "text": text})  # type: ignore[arg-type]
    names = ("page_not_idle", "page_text_not_growing", "page_text_mismatch")
    assert tuple(verdicts(run).get(name, "absent") for name in names) == expected


def test_a_hidden_page_has_no_frames_to_judge() -> None:
    run = FakeRun()
    Gates(run).alive({"hidden": 1}, {"visibility": "visible", "frames": 0, "seconds": 1.0})  # type: ignore[arg-type]
    assert verdicts(run) == {"page_hidden": False, "page_frames_dead": None}
    run = FakeRun()
    Gates(run).alive({"hidden": 0}, {"visibility": "visible", "frames": 1, "seconds": 1.0})  # type: ignore[arg-type]
    assert run.codes == [("page_frames_dead", True)]


def test_what_another_session_says_is_not_heard() -> None:
    listening = heard(answer="mine", seconds=1)
    listening.emit("session.open", session="child", role="child")
    listening.emit("idle", t=7, session="child")
    listening.emit("turn.reply", session="child", content={"text": "its"})
    assert (listening.answer, listening.idle_ns, listening.chunks_ns) == ("mine", 99, [10, 10 + 10**9])
    listening.emit("turn.send", session="s", turn=2)
    assert (listening.answer, listening.idle_ns, listening.chunks_ns) == (None, None, [])


def test_counters_that_a_browser_does_not_tell_are_left_out() -> None:
    assert named({"Nodes": 3, "Timestamp": 1.0, "TaskDuration": 0.5}) == {"nodes": 3, "task_s": 0.5}


def test_places_of_commands() -> None:
    values = {"session": "s 1", "agent": None}
    assert filled(["x", "--agent", "{agent}", "--id={session}", "{agent}"], values) == ["x", "--id=s 1"]
    assert look_up({"a": [{"b": 1}]}, "a.0.b") == 1
    for key in ("a.1.b", "a.-2.b", "b", "a.b", "a.0.b.c"):
        assert look_up({"a": [{"b": 1}]}, key) is None


class FakePage:
    """Answers scripts with what it was given."""

    def __init__(self, answer: Any) -> None:  # noqa: ANN401
        self.answer = answer

    async def evaluate(self, script: str, *, timeout_s: float = 1.0) -> Any:  # noqa: ANN401
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


COUNTERS = AppCounters(begin="b()", read="r()", lists="ui.list")


@pytest.mark.parametrize(
    ("told", "gates", "codes"),
    [
        ([{"metric": "ui.list", "count": 2, "total": 1.5, "max": 1}], {"page_text_not_growing": True}, []),
        ([{"metric": "ui.list.row", "count": 0}, {"metric": "other", "count": 9}],
         {"page_text_not_growing": False}, [("page_text_not_growing", True)]),
        ([{"count": 1}, None, 3, {"metric": "What was\nsaid?", "count": 4}], {"page_text_not_growing": False},
         [("page_text_not_growing", True)]),
        ("nothing of the kind", {"page_text_not_growing": False}, [("page_text_not_growing", True)]),
        (ScriptFailed("it threw"), {}, [("app_counters_failed", False)]),
    ],
)  # fmt: skip
async def test_counters_of_an_app_are_never_trusted(
    told: Any,  # noqa: ANN401
    gates: dict[str, bool],
    codes: list[tuple[str, bool]],
) -> None:
    run = FakeRun()
    await tell_app(FakePage(told), COUNTERS, run, Gates(run), timeout_s=1.0)  # type: ignore[arg-type]
    assert verdicts(run) == gates and run.codes == codes
    stored = [
        entry for kind, fields in run.events if kind == "page.app_counters" for entry in fields["entries"]
    ]
    assert all(set(entry) <= {"metric", "total", "count", "max"} for entry in stored)
    assert "said" not in str(stored)
