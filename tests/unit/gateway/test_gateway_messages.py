"""The Messages dialect: what a request says, what a reply looks like, what of it is read back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.dialects.base import BadRequest, CacheUse, ModelRequest, Piece

DIALECT = DIALECTS["messages"]
MARK = {"type": "ephemeral"}
HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "Read "}, {"type": "text", "text": "it."}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"a": 1}}]},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "x"}]},
            {"type": "text", "text": "reminder", "cache_control": MARK},
        ],
    },
]
TOOLS = [
    {"name": "Read", "input_schema": {"properties": {"cache_control": {"type": "string"}}}},
    {"name": "B"},
]
SYSTEM = [{"type": "text", "text": "Be "}, {"type": "text", "text": "good.", "cache_control": MARK}]


def parse(**fields: Any) -> ModelRequest:  # noqa: ANN401
    body = {"model": "m", "max_tokens": 9, "system": SYSTEM, "messages": HISTORY, "tools": TOOLS, **fields}
    return DIALECT.parse(json.dumps(body).encode())


def test_a_request_is_read() -> None:
    request = parse(stream=True, metadata={"user_id": "u"})
    assert (request.model, request.stream, request.max_output_tokens) == ("m", True, 9)
    assert request.tool_names == ("Read", "B") and request.session == "u"
    assert request.roles == ("user", "assistant", "tool")
    assert (request.user_texts, request.result_of) == (("Read it.",), "Read")
    assert parse(messages=HISTORY[:1]).result_of is None


def test_a_system_text_may_be_a_string_and_counts_the_same() -> None:
    assert parse(system="Hi").canonical == parse(system=[{"type": "text", "text": "Hi"}]).canonical
    assert parse(system=None).canonical.segments[1].n_bytes == 2


def test_marks_and_ids_of_calls_do_not_count_but_a_tools_own_property_does() -> None:
    plain = json.loads(json.dumps(HISTORY).replace("t1", "t2"))
    del plain[2]["content"][1]["cache_control"]
    unmarked = [{"type": "text", "text": "Be "}, {"type": "text", "text": "good."}]
    tools = [TOOLS[0], {**TOOLS[1], "cache_control": MARK}]
    assert parse(messages=plain, system=unmarked, tools=tools).canonical == parse().canonical
    assert b'"cache_control":{"type":"string"}' in parse().canonical.data


def test_blocks_end_where_their_bytes_end() -> None:
    hour = {"type": "ephemeral", "ttl": "1h"}
    history = [{"role": "user", "content": "plain é"}, {"content": HISTORY[0]["content"], "role": "user"}]
    request = parse(messages=[*history, HISTORY[2]], system=[{**SYSTEM[0], "cache_control": hour}])
    blocks = request.blocks()
    data = request.canonical.data
    ends = [data[: block.end] for block in blocks]
    assert all(end.endswith(b"}") for end in ends)
    assert ends[1].endswith(b',{"name":"B"}')
    assert [block.lifetime_s for block in blocks] == [None, None, 3600, None, None, None, None, 300]
    assert (
        ends[3].endswith('"plain é"}'.encode())
        and ends[4].endswith(b'"Read "}')
        and ends[5].endswith(b'"it."}')
    )
    assert ends[-1].endswith(b'"reminder"}') and data[len(ends[-1]) :] == b"]}"


def test_an_automatic_mark_is_on_the_last_block() -> None:
    blocks = parse(messages=HISTORY[:1], system="Hi", cache_control=MARK).blocks()
    assert [block.lifetime_s for block in blocks] == [None, None, None, None, 300]
    assert [block.lifetime_s for block in parse(messages=HISTORY[:1], system="Hi").blocks()] == [None] * 5


def test_empty_parts_have_no_blocks() -> None:
    request = parse(tools=[], system=[], messages=[{"role": "user", "content": "a"}])
    (only,) = request.blocks()
    assert request.canonical.data[: only.end] == b'[[],[],[{"role":"user","content":"a"}'


@pytest.mark.parametrize(
    "body",
    [b"[]", b"{}", b'{"messages": []}', b'{"messages": [{"content": "x"}]}', b'{"messages": 1}',
     b'{"messages": [{"role": "user"}], "tools": [{}]}', b'{"messages": [{"role": "user"}], "system": 1}'],
)  # fmt: skip
def test_what_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        DIALECT.parse(body)


def spell(*pieces: Piece) -> list[dict[str, Any]]:
    usage = DIALECT.spell_usage(prompt=100, cache=CacheUse(40, 30, 10), output=7, reasoning=2)
    renderer = DIALECT.renderer(parse(), 1)
    data = (
        renderer.opening(usage) + b"".join(map(renderer.piece, pieces)) + renderer.closing("end_turn", usage)
    )
    parts = [part.partition(b"\ndata: ") for part in data.split(b"\n\n") if part]
    return [json.loads(part[2]) for part in parts]


def test_the_events_of_a_reply_come_in_order() -> None:
    said = spell(
        Piece("reasoning", "Hm"),
        Piece("text", "a"),
        Piece("tool", "", 0, ("t", "Read")),
        Piece("tool", "{}", 0),
    )
    assert [(one["type"], one.get("index")) for one in said] == [
        ("message_start", None),
        ("content_block_start", 0), ("content_block_delta", 0), ("content_block_delta", 0),
        ("content_block_stop", 0),
        ("content_block_start", 1), ("content_block_delta", 1), ("content_block_stop", 1),
        ("content_block_start", 2), ("content_block_delta", 2), ("content_block_stop", 2),
        ("message_delta", None), ("message_stop", None),
    ]  # fmt: skip
    assert said[3]["delta"]["type"] == "signature_delta"
    start, end = said[0]["message"]["usage"], said[-2]["usage"]
    assert start["output_tokens"] == 1 and end["output_tokens"] == 7
    for usage in (start, end):
        assert (usage["input_tokens"], usage["cache_read_input_tokens"]) == (30, 40)
        assert usage["cache_creation_input_tokens"] == 30
        assert usage["cache_creation"] == {
            "ephemeral_5m_input_tokens": 20,
            "ephemeral_1h_input_tokens": 10,
        }


def test_the_last_count_of_each_key_holds_and_the_first_output_is_none() -> None:
    said = spell(Piece("text", "a"))
    reader = DIALECT.reader()
    for one in said[:-2]:
        reader.event(json.dumps(one).encode())
    early = DIALECT.read_usage(reader.usage)
    assert (early.input_total_tokens, early.output_tokens, early.reason) == (100, None, "usage_partial")
    for one in said[-2:]:
        reader.event(json.dumps(one).encode())
    usage = DIALECT.read_usage(reader.usage)
    assert (usage.input_uncached_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (30, 40, 30)
    assert (usage.cache_write_1h_tokens, usage.input_total_tokens) == (10, 100)
    assert (usage.output_tokens, usage.reasoning_tokens, usage.reason) == (7, 2, None)
    assert (reader.terminal_seen, reader.finish) == (True, "end_turn")


def test_a_delta_that_counts_only_output_keeps_the_input() -> None:
    reader = DIALECT.reader()
    start = {"input_tokens": 3, "cache_creation_input_tokens": 12304, "cache_read_input_tokens": 0}
    begun = {"type": "message_start", "message": {"usage": {**start, "output_tokens": 4}}}
    reader.event(json.dumps(begun).encode())
    reader.event(b'{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":550}}')
    usage = DIALECT.read_usage(reader.usage)
    assert (usage.input_uncached_tokens, usage.cache_write_tokens, usage.output_tokens) == (3, 12304, 550)
    assert usage.input_total_tokens == 12307


def test_a_whole_reply_is_read_back() -> None:
    pieces = [
        Piece("reasoning", "Hm"),
        Piece("text", "a"),
        Piece("text", "b"),
        Piece("tool", "{", 0, ("t", "Read")),
    ]
    reader = DIALECT.reader()
    body = DIALECT.renderer(parse(), 1).body([*pieces, Piece("tool", "}", 0)], "tool_use", None)
    assert reader.whole(body) == [
        Piece("reasoning", "Hm"),
        Piece("text", "ab"),
        Piece("tool", "{}", 0, ("t", "Read")),
    ]
    assert reader.terminal_seen and reader.usage is None


def test_errors_pings_and_odd_events() -> None:
    reader = DIALECT.reader()
    assert reader.event(b'{"type":"ping"}') == ([], False)
    reader.event(DIALECT.error_frame(529, "busy").partition(b"data: ")[2])
    assert reader.error and not reader.terminal_seen
    assert json.loads(DIALECT.error_body(529, "busy"))["error"]["type"] == "overloaded_error"
    assert json.loads(DIALECT.error_body(400, "why")) == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "why"},
    }
    assert DIALECT.login("k") == {"x-api-key": "k"}


def test_a_cap_is_injected_where_there_is_none() -> None:
    capped = DIALECT.with_output_cap(parse(max_tokens=None), 50)
    assert capped is not None and DIALECT.parse(capped).max_output_tokens == 50
    assert DIALECT.with_output_cap(parse(), 50) is None


def test_usage_keys_of_a_script_are_said_in_this_spelling() -> None:
    counted: dict[str, Any] = {"prompt": 10, "cache": CacheUse(4), "output": 5, "reasoning": 1}
    usage = DIALECT.spell_usage(
        **counted, given={"prompt_tokens": 999, "completion_tokens": 2, "total_tokens": 1}
    )
    assert (usage["input_tokens"], usage["output_tokens"]) == (995, 2)
    assert "prompt_tokens" not in usage and "total_tokens" not in usage
