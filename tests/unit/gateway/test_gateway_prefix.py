"""How a prompt follows the one before it: append-only, the same in other bytes, or changed, and where."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentlab.gateway.canonical import Canonical
from agentlab.gateway.chains import Chains
from agentlab.gateway.dialects import DIALECTS, route
from agentlab.gateway.prefix import compare

MARK = {"cache_control": {"type": "ephemeral"}}
TOOLS = [{"name": "read", "input_schema": {}}, {"name": "edit", "input_schema": {}}]
SYSTEM = [{"type": "text", "text": "You work."}]


def messages(*history: Any, tools: Any = TOOLS, system: Any = SYSTEM) -> Canonical:  # noqa: ANN401
    body = {"model": "m", "messages": history, "tools": tools, "system": system}
    return DIALECTS["messages"].parse(json.dumps(body).encode()).canonical


def user(text: str, **marker: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"role": "user", "content": [{"type": "text", "text": text, **marker}]}


CALL = {"type": "tool_use", "id": "1", "name": "read", "input": {"a": 1}}
REPLY: dict[str, Any] = {"role": "assistant", "content": [CALL]}


def test_a_prompt_that_grows_loses_nothing() -> None:
    change = compare(messages(user("a")), messages(user("a"), REPLY))
    assert (change.state, change.append_only, change.lost_bytes, change.changed) == (
        "append_only", True, 0, None,
    )  # fmt: skip


def test_another_order_of_keys_means_the_same_and_loses_the_bytes() -> None:
    """Case v: same content, other key order."""
    before, turned = messages(user("a"), REPLY), {"content": user("a")["content"], "role": "user"}
    change = compare(before, messages(turned, REPLY, user("b")))
    assert (change.state, change.first_changed, change.append_only) == ("same_meaning", "message 1", False)
    assert change.lost_bytes == len(before.data) - change.prefix_bytes > 0


@pytest.mark.parametrize("after", [[user("a"), REPLY, user("b", **MARK)], [user("a"), REPLY, user("b")]])
def test_moved_cache_markers_mean_the_same_and_lose_nothing(after: list[Any]) -> None:
    """Case v: same text, another cache_control marker."""
    change = compare(messages(user("a", **MARK)), messages(*after))
    assert (change.state, change.append_only, change.lost_bytes) == ("same_meaning", True, 0)


def test_a_marker_that_is_added_to_an_earlier_message_is_seen() -> None:
    change = compare(messages(user("a")), messages(user("a", **MARK), REPLY))
    assert (change.state, change.lost_bytes) == ("same_meaning", 0)
    again = compare(messages(user("a", **MARK)), messages(user("a", **MARK), REPLY))
    assert again.state == "append_only"


def test_a_lone_text_block_and_null_mean_what_the_short_spelling_means() -> None:
    short = {"role": "user", "content": "a"}
    assert compare(messages(short), messages(user("a"))).state == "same_meaning"
    assert compare(messages({**short, "name": None}), messages(short)).state == "same_meaning"
    assert compare(messages(user("1")), messages(user("a"))).state == "changed"
    one, true = ({**REPLY, "content": [{**CALL, "input": {"a": v}}]} for v in (1, True))
    assert compare(messages(user("a"), one), messages(user("a"), true)).state == "changed"


def test_the_first_changed_segment_is_described_in_numbers() -> None:
    result = {"type": "tool_result", "tool_use_id": "1", "content": "long output"}
    cut = {**result, "content": "cut"}
    before = messages(user("a"), REPLY, {"role": "user", "content": [user("x")["content"][0], result]})
    change = compare(
        before, messages(user("a"), REPLY, {"role": "user", "content": [user("x")["content"][0], cut]})
    )
    assert change.first_changed == "message 3" and change.changed is not None
    fields = change.changed.fields()
    assert (fields["role"], fields["type"], fields["item"]) == ("user", "tool_result", 2)
    assert fields["before_bytes"] - fields["after_bytes"] == len("long output") - len("cut")  # type: ignore[operator]
    assert before.part(4)[: fields["at_bytes"]].endswith(b'"content":"')  # type: ignore[misc]


def test_a_changed_tool_a_changed_system_and_a_dropped_message() -> None:
    before = messages(user("a"), REPLY)
    tools = compare(before, messages(user("a"), REPLY, tools=[TOOLS[0], {**TOOLS[1], "description": "x"}]))
    assert tools.first_changed == "tools" and tools.changed is not None and tools.changed.item == 2
    fewer = compare(before, messages(user("a"), REPLY, tools=TOOLS[:1]))
    assert fewer.changed is not None and fewer.changed.item == 2
    system = compare(before, messages(user("a"), REPLY, system=[{"type": "text", "text": "Day 2."}]))
    assert system.first_changed == "system" and system.state == "changed"
    dropped = compare(before, messages(user("a")))
    assert dropped.first_changed == "message 2" and dropped.changed is not None
    assert dropped.changed.fields() == {
        "before_bytes": len(before.part(3)), "at_bytes": 0, "role": "assistant",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["chat", "responses", "gemini"])
def test_each_wire_names_the_part(name: str) -> None:
    bodies: dict[str, Any] = {
        "chat": lambda text: {"messages": [{"role": "tool", "tool_call_id": "1", "content": text}]},
        "responses": lambda text: {
            "input": [{"type": "function_call_output", "call_id": "1", "output": text}]
        },
        "gemini": lambda text: {
            "contents": [{"role": "user", "parts": [{"functionResponse": {"name": "r", "response": text}}]}]
        },
    }
    one, other = (
        DIALECTS[name].parse(json.dumps({"model": "m", **bodies[name](text)}).encode()).canonical
        for text in ("SECRET one", "SECRET two")
    )
    change = compare(one, other)
    wanted = {
        "chat": ("tool", None),
        "responses": (None, "function_call_output"),
        "gemini": ("user", "functionResponse"),
    }
    assert change.changed is not None and (change.changed.role, change.changed.type) == wanted[name]
    assert "SECRET" not in json.dumps(change.fields())


def test_words_that_are_no_wires_words_are_not_written() -> None:
    one, other = ({"role": "SECRET", "content": [{"type": "SECRET", "text": t}]} for t in "ab")
    chat = DIALECTS["chat"]
    prompts = [chat.parse(json.dumps({"messages": [m]}).encode()).canonical for m in (one, other)]
    change = compare(*prompts)
    assert change.changed is not None and (change.changed.role, change.changed.type) == ("other", "other")


def test_surrogates_that_agents_send_are_compared() -> None:
    one, other = (messages(user(text)) for text in ("\ud83d", "\ud83d!"))
    assert compare(one, other).state == "changed"


def test_what_is_nested_too_deep_is_compared_by_bytes_alone() -> None:
    deep = '{"a":' * 700 + "1" + "}" * 700
    said = ['"role":"user","content":"a","x":' + deep, '"content":"a","role":"user","x":' + deep]
    bodies = ['{"messages":[{' + message + "}]}" for message in said]
    change = compare(*(DIALECTS["chat"].parse(body.encode()).canonical for body in bodies))
    assert (change.state, change.first_changed, change.changed) == ("changed", "message 1", None)
    assert change.lost_bytes > 700


def test_a_link_says_what_it_was_compared_with() -> None:
    chains, chat = Chains(), DIALECTS["chat"]
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "a"}]}
    first = chains.link("s", 4, chat.parse(json.dumps(body).encode()))
    assert "prefix_state" not in first.fields()
    body["messages"].append({"role": "assistant", "content": "b"})
    fields = chains.link("s", 7, chat.parse(json.dumps(body).encode())).fields()
    assert (fields["follows"], fields["prefix_state"], fields["lost_bytes"]) == (4, "append_only", 0)


@pytest.mark.parametrize("mark", ["", '"cache_control": {"type": "ephemeral"}, '])
@pytest.mark.parametrize("path", ["chat/completions", "responses", "messages"])
def test_tools_that_are_equal_to_python_are_told_apart_whatever_came_before(path: str, mark: str) -> None:
    wire = route("POST", f"/v1/{path}")
    assert wire is not None
    seen: dict[str, tuple[bytes, str, object]] = {}
    for _ in range(2):
        for value in ("1", "1.0", "true", '"\\u00e4"', '"ä"'):
            tool = f'{{{mark}"name": "n", "parameters": {{"a": {value}}}, "input_schema": {{"a": {value}}}}}'
            told = f'{{"tools": [{tool}], "messages": [{{"role": "user", "content": "hi"}}], "input": "hi"}}'
            request = wire.parse(told.encode())
            one = (
                request.canonical.part(0),
                request.canonical.segments[0].hash,
                request.tools[0].schema["a"],
            )
            assert path == "responses" or b"cache_control" not in one[0]
            assert seen.setdefault(value, one) == one and type(one[2]) is type(json.loads(value))
    assert len({data for data, _, _ in seen.values()}) == 4  # a letter is one however it is escaped
