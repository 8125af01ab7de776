"""The Gemini dialect: what a request says, what a reply looks like, what of it is read back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentlab.gateway.dialects import DIALECTS, route
from agentlab.gateway.dialects.base import BadRequest, CacheUse, ModelRequest, Piece
from agentlab.gateway.dialects.gemini_reply import frame

DIALECT = DIALECTS["gemini"]
CONTENTS: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "Read "}, {"text": "it."}]},
    {"role": "model", "parts": [{"functionCall": {"id": "1", "name": "read_file", "args": {"a": 1}}}]},
    {
        "role": "user",
        "parts": [{"functionResponse": {"id": "1", "name": "read_file", "response": {"o": "x"}}}],
    },
]
TOOLS = [
    {
        "functionDeclarations": [
            {"name": "read_file", "parametersJsonSchema": {"type": "object"}},
            {"name": "b"},
        ]
    },
    {"googleSearch": {}},
]
SYSTEM = {"role": "user", "parts": [{"text": "Be good."}]}


def parse(**fields: Any) -> ModelRequest:  # noqa: ANN401
    body = {"contents": CONTENTS, "systemInstruction": SYSTEM, "tools": TOOLS, **fields}
    return DIALECT.parse(json.dumps(body).encode())


def test_a_request_is_read_and_the_path_says_the_rest() -> None:
    request = parse(generationConfig={"maxOutputTokens": 7})
    assert request.tool_names == ("read_file", "b", "googleSearch")
    assert request.tools[0].schema == {"type": "object"}
    assert request.roles == ("user", "assistant", "tool")
    assert (request.user_texts, request.result_of) == (("Read it.",), "read_file")
    assert (request.max_output_tokens, request.model, request.stream) == (7, None, False)
    found = route("POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent")
    assert found is not None
    whole = found.parse(json.dumps({"contents": CONTENTS}).encode())
    assert (whole.model, whole.stream) == ("gemini-2.5-pro", True)


def test_a_model_is_no_way_to_another_address() -> None:
    for model in ("../../admin", "x/../y", "..", "./x", "x?a=b", "x#", "x%2f", "x y", "x\\y"):
        assert route("POST", f"/v1beta/models/{model}:generateContent") is None, model
    assert route("POST", "/v1beta/models/tuned/a..b-1.5:generateContent") is not None


def test_both_spellings_of_keys_are_read() -> None:
    body = {"contents": CONTENTS, "system_instruction": SYSTEM, "generation_config": {"max_output_tokens": 7}}
    body["tools"] = [{"function_declarations": [{"name": "a", "parameters": {"type": "OBJECT"}}]}]
    request = DIALECT.parse(json.dumps(body).encode())
    assert request.max_output_tokens == 7 and request.tool_names == ("a",)
    body["generation_config"] = {"max_output_tokens": "many"}
    capped = DIALECT.with_output_cap(DIALECT.parse(json.dumps(body).encode()), 5)
    assert capped is not None and json.loads(capped)["generation_config"] == {"maxOutputTokens": 5}
    assert b"Be good." in request.canonical.data


def test_ids_of_calls_do_not_count() -> None:
    other = json.loads(json.dumps(CONTENTS).replace('"1"', '"2"'))
    assert parse(contents=other).canonical == parse().canonical
    assert [s.name for s in parse().canonical.segments] == ["tools", "system", *["message"] * 3]


@pytest.mark.parametrize(
    "body",
    [b"[]", b"{}", b'{"contents": []}', b'{"contents": "x"}', b'{"contents": [{"role": 1}]}',
     b'{"contents": [{}], "tools": [{"functionDeclarations": [{}]}]}'],
)  # fmt: skip
def test_what_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        DIALECT.parse(body)


def test_every_event_is_a_reply_and_the_last_one_says_the_end() -> None:
    usage = DIALECT.spell_usage(prompt=100, cache=CacheUse(40), output=7, reasoning=2)
    assert usage == {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 40,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 2,
        "totalTokenCount": 107,
    }
    renderer = DIALECT.renderer(parse(), 1)
    assert renderer.opening(usage) == b""
    pieces = [Piece("reasoning", "Hm"), Piece("text", "a"), Piece("tool", '{"p":1}', 0, ("c", "read_file"))]
    data = b"".join(map(renderer.piece, pieces)) + renderer.closing("STOP", usage)
    said = [json.loads(part.removeprefix(b"data: ")) for part in data.split(b"\r\n\r\n") if part]
    parts = [one["candidates"][0]["content"]["parts"][0] for one in said]
    assert parts == [
        {"text": "Hm", "thought": True},
        {"text": "a"},
        {"functionCall": {"id": "c", "name": "read_file", "args": {"p": 1}}},
        {"text": ""},
    ]
    assert ["finishReason" in one["candidates"][0] for one in said] == [False, False, False, True]
    reader = DIALECT.reader()
    for one in said[:-1]:
        reader.event(json.dumps(one).encode())
    early = DIALECT.read_usage(reader.usage)
    assert (early.input_total_tokens, early.output_tokens, reader.terminal_seen) == (100, None, False)
    reader.event(json.dumps(said[-1]).encode())
    counts = DIALECT.read_usage(reader.usage)
    assert (counts.output_tokens, counts.reasoning_tokens, counts.input_uncached_tokens) == (7, 2, 60)
    assert (reader.terminal_seen, reader.finish) == (True, "STOP")


def test_usage_comes_in_every_event_and_the_last_one_wins() -> None:
    reader = DIALECT.reader()
    for output, finish in ((1, {}), (4, {}), (9, {"finishReason": "MAX_TOKENS"})):
        usage = {"promptTokenCount": 10, "candidatesTokenCount": output, "totalTokenCount": 10 + output}
        reader.event(json.dumps({"candidates": [finish], "usageMetadata": usage}).encode())
    assert DIALECT.read_usage(reader.usage).output_tokens == 9
    assert reader.finish == DIALECT.finish("length")


def test_thoughts_lie_outside_the_candidates_and_zeros_are_left_out_by_this_wire() -> None:
    raw = {"promptTokenCount": 100, "thoughtsTokenCount": 30, "totalTokenCount": 130}
    counts = DIALECT.read_usage(raw)
    assert (counts.output_tokens, counts.reasoning_tokens) == (30, 30)
    assert DIALECT.read_usage({"promptTokenCount": 100, "thoughtsTokenCount": 30}).output_tokens is None
    details = {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}], "trafficType": "ON_DEMAND"}
    assert DIALECT.read_usage({**raw, **details}).unknown_keys == ()


def test_a_blocked_prompt_is_an_end_and_a_list_is_a_whole_reply() -> None:
    reader = DIALECT.reader()
    reader.event(b'{"promptFeedback":{"blockReason":"SAFETY"}}')
    assert (reader.terminal_seen, reader.finish) == (True, "SAFETY")
    reader = DIALECT.reader()
    end = {"candidates": [{"content": {"parts": [{"text": "b"}]}, "finishReason": "STOP"}]}
    start = {"candidates": [{"content": {"parts": [{"text": "a"}]}}]}
    assert reader.whole(json.dumps([start, end]).encode()) == [Piece("text", "a"), Piece("text", "b")]
    assert reader.terminal_seen and not reader.malformed


def test_a_whole_reply_is_read_back() -> None:
    pieces = [Piece("text", "a"), Piece("text", "b"), Piece("tool", "no json", 0, ("c", "x"))]
    reader = DIALECT.reader()
    body = DIALECT.renderer(parse(), 1).body(pieces, "STOP", None)
    assert reader.whole(body) == [
        Piece("text", "ab"),
        Piece("tool", '{"arguments":"no json"}', 0, ("c", "x")),
    ]
    assert reader.terminal_seen and reader.usage is None


def test_line_separators_are_escaped_as_google_does() -> None:
    sent = frame({"text": "a\u2028b\u2029c\u0085"})
    assert b"a\\u2028b\\u2029c" in sent
    assert json.loads(sent.removeprefix(b"data: "))["text"] == "a\u2028b\u2029c\u0085"


def test_errors_are_typed() -> None:
    assert json.loads(DIALECT.error_body(400, "why"))["error"] == {
        "code": 400,
        "message": "why",
        "status": "INVALID_ARGUMENT",
    }
    reader = DIALECT.reader()
    reader.event(DIALECT.error_frame(503, "busy").removeprefix(b"data: "))
    assert reader.error and not reader.terminal_seen
    assert DIALECT.login("k") == {"x-goog-api-key": "k"}


def test_a_cap_is_injected_where_there_is_none() -> None:
    capped = DIALECT.with_output_cap(parse(generationConfig={"temperature": 0}), 50)
    assert capped is not None and DIALECT.parse(capped).max_output_tokens == 50
    assert json.loads(capped)["generationConfig"]["temperature"] == 0
    assert DIALECT.with_output_cap(parse(generationConfig={"maxOutputTokens": 7}), 50) is None
