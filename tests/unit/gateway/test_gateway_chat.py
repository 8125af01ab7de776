"""The chat dialect: what a request says, what a reply looks like, what of it is read back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.dialects.base import BadRequest, CacheUse, ModelRequest, Piece

CHAT = DIALECTS["chat"]
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be good."},
    {"role": "user", "content": [{"type": "text", "text": "Read "}, {"type": "text", "text": "it."}]},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "text"},
]
TOOLS = [
    {
        "type": "function",
        "function": {"name": "read", "parameters": {"properties": {"cache_control": {"type": "string"}}}},
    },
    {"type": "function", "function": {"name": "bash"}},
]


def parse(**fields: Any) -> ModelRequest:  # noqa: ANN401
    return CHAT.parse(json.dumps({"model": "m", "messages": MESSAGES, "tools": TOOLS, **fields}).encode())


def test_a_request_is_read() -> None:
    request = parse(stream=True, stream_options={"include_usage": True}, max_tokens=7)
    assert (request.model, request.stream, request.wants_usage) == ("m", True, True)
    assert request.tool_names == ("read", "bash")
    assert request.roles == ("user", "assistant", "tool")
    assert request.user_texts == ("Read it.",)
    assert request.result_of == "read"
    assert request.max_output_tokens == 7
    assert parse(max_completion_tokens=9).max_output_tokens == 9
    assert parse().max_output_tokens is None
    assert not parse().stream


def test_the_canonical_prompt_is_tools_system_history_without_closing_brackets() -> None:
    request = parse()
    compact = json.dumps([TOOLS, MESSAGES[:1], MESSAGES[1:]], separators=(",", ":"))
    compact = compact.replace('"id":"c1",', "").replace('"tool_call_id":"c1",', "")
    assert request.canonical.data == compact.encode()[:-2]
    assert [s.name for s in request.canonical.segments] == ["tools", "system", *["message"] * 3]
    # Beside the segments there are three brackets and two commas, and a comma between messages.
    between = 5 + 2 - 1
    assert sum(segment.n_bytes for segment in request.canonical.segments) + between == len(compact) - 2


def test_ids_of_calls_do_not_count() -> None:
    other = json.loads(json.dumps(MESSAGES).replace("c1", "c2"))
    assert parse(messages=other).canonical == parse().canonical
    assert parse(messages=[{"role": "assistant", "tool_calls": ["odd", {"id": 1}]}]).canonical.part(2) == (
        b'{"role":"assistant","tool_calls":["odd",{}]}'
    )


def test_cache_markers_do_not_count_but_a_tools_own_property_does() -> None:
    marked = json.loads(json.dumps(MESSAGES))
    marked[1]["content"][1]["cache_control"] = {"type": "ephemeral"}
    marked[0]["cache_control"] = {"type": "ephemeral"}
    tools = [{**tool, "cache_control": {}} for tool in TOOLS]
    tools[0] = {**TOOLS[0], "function": {**TOOLS[0]["function"], "cache_control": {}}}  # type: ignore[dict-item]
    assert parse(messages=marked, tools=tools).canonical == parse().canonical
    assert b'"cache_control":{"type":"string"}' in parse().canonical.data


def test_developer_messages_are_system_text_and_later_system_messages_are_history() -> None:
    messages = [{"role": "developer", "content": "a"}, *MESSAGES[1:], {"role": "system", "content": "late"}]
    request = parse(messages=messages)
    assert request.roles == ("user", "assistant", "tool", "system")
    assert request.result_of is None


def test_non_ascii_text_counts_as_utf8() -> None:
    text = "naïve 😀\u2028"
    request = parse(messages=[{"role": "user", "content": text}], tools=[])
    assert text.encode() in request.canonical.data


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[1]",
        b'{"messages": {}}',
        b'{"messages": []}',
        b'{"messages": ["x"]}',
        b'{"messages": [{"content": "x"}]}',
        b'{"messages": [{"role": 1}]}',
        b'{"messages": [{"role": "user"}], "tools": [{}]}',
        b'{"messages": [{"role": "user"}], "tools": 5}',
        b'{"messages": [{"role": "user"}], "temperature": NaN}',
        b"[" * 200_000,
        b"\xff\xfe\x00",
    ],
)
def test_what_is_no_request_is_refused_without_its_content(body: bytes) -> None:
    with pytest.raises(BadRequest) as error:
        CHAT.parse(body)
    assert len(str(error.value)) < 60


def test_odd_but_legal_values_are_unknown() -> None:
    request = parse(model=5, max_tokens=True, stream="yes", stream_options=[], messages=[{"role": "user"}])
    assert (request.model, request.max_output_tokens, request.stream) == (None, None, False)
    assert request.user_texts == ("",)


def frames(data: bytes) -> list[bytes]:
    return [frame.removeprefix(b"data: ") for frame in data.split(b"\n\n") if frame]


PIECES = [
    Piece("reasoning", "Hm\n\n"),
    Piece("text", "a\u2028b"),
    Piece("text", ""),
    Piece("tool", "", 0, ("c1", "read")),
    Piece("tool", '{"a"', 0),
    Piece("tool", ":1}", 0),
    Piece("tool", "x", 1, ("c2", "bash")),
]


def test_what_is_spelled_is_read_back() -> None:
    request = parse(stream=True, stream_options={"include_usage": True})
    renderer, reader = CHAT.renderer(request, 1), CHAT.reader()
    usage = CHAT.spell_usage(prompt=10, cache=CacheUse(), output=4, reasoning=1)
    spelled = [renderer.opening(), *map(renderer.piece, PIECES), renderer.closing("tool_calls", usage)]
    heard = [reader.event(frame) for part in spelled for frame in frames(part)]
    assert [piece for pieces, _ in heard for piece in pieces] == PIECES
    assert [only for _, only in heard] == [False] * (1 + len(PIECES) + 1) + [True, False]
    assert (reader.finish, reader.terminal_seen, reader.usage) == ("tool_calls", True, usage)
    assert not reader.error and not reader.malformed


def test_a_whole_reply_is_read_back() -> None:
    request = parse()
    reader = CHAT.reader()
    body = CHAT.renderer(request, 1).body(PIECES, "stop", None)
    assert reader.whole(body) == [
        Piece("reasoning", "Hm\n\n"),
        Piece("text", "a\u2028b"),
        Piece("tool", '{"a":1}', 0, ("c1", "read")),
        Piece("tool", "x", 1, ("c2", "bash")),
    ]
    assert reader.terminal_seen and reader.usage is None
    assert "usage" not in json.loads(body)


def test_usage_stays_away_when_it_was_not_asked_for() -> None:
    renderer = CHAT.renderer(parse(stream=True), 1)
    assert b"usage" not in renderer.closing(
        "stop", CHAT.spell_usage(prompt=1, cache=CacheUse(), output=1, reasoning=0)
    )


def test_a_provider_that_breaks_its_word() -> None:
    reader = CHAT.reader()
    assert reader.event(b'{"choices":[{"delta":{"content"') == ([], False)
    assert reader.malformed and not reader.terminal_seen
    reader = CHAT.reader()
    assert reader.event(b'{"error":{"code":529}}') == ([], False)
    assert reader.error
    reader = CHAT.reader()
    for odd in (
        b"1",
        b'{"choices":5}',
        b'{"choices":[1,{"delta":null}]}',
        b'{"choices":[{"delta":{"content":1}}]}',
    ):
        assert reader.event(odd) == ([], False)


def test_reasoning_in_both_spellings_and_empty_text() -> None:
    reader = CHAT.reader()

    def pieces(delta: dict[str, Any]) -> list[Piece]:
        return reader.event(json.dumps({"choices": [{"delta": delta}]}).encode())[0]

    assert pieces({"role": "assistant", "content": ""}) == []
    assert pieces({"reasoning": "a"}) == pieces({"reasoning_content": "a"}) == [Piece("reasoning", "a")]
    assert pieces({"content": ""}) == [Piece("text", "")]
    assert [piece.visible for piece in [*pieces({"content": "\n\n"}), *pieces({"content": "Hi"})]] == [
        False,
        True,
    ]


def test_usage_is_asked_for_only_where_the_agent_does_not() -> None:
    assert CHAT.asking_usage(parse(stream=True, stream_options={"include_usage": True})) is None
    assert CHAT.asking_usage(parse()) is None
    asking = json.loads(CHAT.asking_usage(parse(stream=True, stream_options={"x": 1})) or b"{}")
    assert asking["stream_options"] == {"x": 1, "include_usage": True}
    assert asking["messages"] == MESSAGES


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (429, "rate_limit_error"),
        (503, "server_error"),
    ],
)
def test_errors_are_typed_as_agents_expect(status: int, kind: str) -> None:
    assert json.loads(CHAT.error_body(status, "why"))["error"]["type"] == kind


def test_given_usage_keys_replace_counted_ones_and_the_total_follows() -> None:
    counted: dict[str, Any] = {"prompt": 10, "cache": CacheUse(), "output": 4, "reasoning": 1}
    usage = CHAT.spell_usage(**counted, given={"prompt_tokens": 199_000})
    assert (usage["prompt_tokens"], usage["total_tokens"]) == (199_000, 199_004)
    usage = CHAT.spell_usage(
        **counted, given={"total_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 3}}
    )
    assert usage["total_tokens"] == 1 and usage["completion_tokens_details"] == {"reasoning_tokens": 3}
    assert usage["prompt_tokens_details"] == {"cached_tokens": 0}
