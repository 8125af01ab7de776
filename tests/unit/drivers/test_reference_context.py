"""What the reference agent says, wire by wire, and what a window takes out of it."""

import json
from typing import Any
from urllib.parse import unquote

import pytest

from agentlab.drivers.reference.context import Assistant, Context, Item, Result, ToolCall, User
from agentlab.drivers.reference.wires import Wire
from agentlab.gateway.dialects import DIALECTS, route
from agentlab.tools import TOOLS, Observation


def seen(text: str, name: str = "o1") -> Observation:
    return Observation.whole(text, name=name, max_chars=10_000)


def step(number: int, text: str) -> list[Item]:
    call = ToolCall(f"c{number}", "read", '{"path": "a.txt"}')
    return [Assistant("", (call,)), Result(call, seen(text, f"o{number}"))]


def wire(dialect: str = "chat") -> Wire:
    return Wire(dialect=dialect, model="m/1", system="Be brief.", max_output_tokens=99)


ITEMS: list[Item] = [
    User("Do it."),
    Assistant("First.", (ToolCall("c1", "ls", "{}"), ToolCall("c2", "read", '{"path": 3'))),
    Result(ToolCall("c1", "ls", "{}"), seen("a.txt")),
    Result(ToolCall("c2", "read", '{"path": 3'), Observation.failure("no JSON")),
]


@pytest.mark.parametrize("name", list(DIALECTS))
def test_each_wire_is_read_by_its_own_dialect(name: str) -> None:
    path = wire(name).path
    found = route("POST", DIALECTS[name].base + unquote(path.partition("?")[0]))
    assert found is not None
    assert found.dialect.name == name
    request = found.parse(wire(name).body(ITEMS))
    assert request.model == "m/1"
    assert request.stream
    assert request.wants_usage
    assert request.max_output_tokens == 99
    assert request.tool_names == tuple(tool["name"] for tool in TOOLS)
    assert [dict(tool.schema) for tool in request.tools] == [tool["parameters"] for tool in TOOLS]
    assert request.user_texts[0] == "Do it."
    assert request.result_of == "read"
    assert [s.name for s in request.canonical.segments][:2] == ["tools", "system"]


@pytest.mark.parametrize("name", list(DIALECTS))
def test_a_grown_conversation_keeps_its_prefix(name: str) -> None:
    def canonical(items: list[Item]) -> bytes:
        found = route("POST", DIALECTS[name].base + unquote(wire(name).path.partition("?")[0]))
        assert found is not None
        return found.parse(wire(name).body(items)).canonical.data

    before = canonical([User("Do it.")])
    after = canonical([User("Do it."), *step(1, "text")])
    assert after.startswith(before)


def test_messages_mark_what_is_to_be_cached() -> None:
    body: dict[str, Any] = json.loads(wire("messages").body(ITEMS))
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
    results = body["messages"][-1]["content"]
    assert [("is_error" in block, "cache_control" in block) for block in results] == [
        (False, False),
        (True, True),
    ]
    assert body["messages"][1]["content"][2]["input"] == {}


def test_a_continuous_context_only_grows() -> None:
    context = Context(None)
    context.items += [User("x"), *step(1, "y" * 9000)]
    assert context.fit(wire().tokens) is None


def test_a_window_takes_out_the_oldest_until_three_quarters() -> None:
    context = Context(3000)
    context.items += [User("x")]
    for number in range(1, 5):
        context.items += step(number, f"{number}" * 2500)
    before = wire().tokens(context.items)
    assert before > 3000
    cut = context.fit(wire().tokens)
    assert cut is not None
    assert (cut.n_observations, cut.before_tokens) == (3, before)
    assert cut.after_tokens == wire().tokens(context.items) <= 2250
    results = [item for item in context.items if isinstance(item, Result)]
    assert [r.taken_out for r in results] == [True, True, True, False]
    assert "query(observation='o1')" in results[0].text
    assert len(results[3].text) == 2500
    assert context.fit(wire().tokens) is None


def test_the_last_replys_observations_stay() -> None:
    context = Context(100)
    context.items += [User("x"), *step(1, "y" * 5000)]
    assert context.fit(wire().tokens) is None
    assert not any(isinstance(item, Result) and item.taken_out for item in context.items)


def test_what_is_shorter_than_its_note_stays() -> None:
    context = Context(100)
    context.items += [User("x"), *step(1, "tiny"), *step(2, "y" * 5000)]
    assert context.fit(wire().tokens) is None
