"""The Responses dialect: what a request says, what a reply looks like, what of it is read back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentlab.gateway.dialects import DIALECTS, route
from agentlab.gateway.dialects.base import BadRequest, CacheUse, ModelRequest, Piece

DIALECT = DIALECTS["responses"]
INPUT: list[dict[str, Any]] = [
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Rules."}]},
    {"type": "message", "role": "user", "id": "m1", "content": [{"type": "input_text", "text": "Read it."}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "exec_command", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "text"},
]
TOOLS = [
    {"type": "function", "name": "exec_command", "parameters": {"type": "object"}},
    {"type": "web_search"},
]


def parse(**fields: Any) -> ModelRequest:  # noqa: ANN401
    body = {"model": "m", "instructions": "Be good.", "input": INPUT, "tools": TOOLS, **fields}
    return DIALECT.parse(json.dumps(body).encode())


def frames(data: bytes) -> list[dict[str, Any]]:
    parts = [part.partition(b"\ndata: ") for part in data.split(b"\n\n") if part]
    said = [json.loads(part[2]) for part in parts]
    assert [part[0].removeprefix(b"event: ").decode() for part in parts] == [one["type"] for one in said]
    return said


def test_a_request_is_read() -> None:
    request = parse(stream=True, max_output_tokens=7, prompt_cache_key="k")
    assert (request.model, request.stream, request.wants_usage, request.session) == ("m", True, True, "k")
    assert request.tool_names == ("exec_command", "web_search")
    assert request.roles == ("user", "assistant", "assistant", "tool")
    assert (request.user_texts, request.result_of) == (("Read it.",), "exec_command")
    assert request.max_output_tokens == 7
    assert parse(input="Hi").user_texts == ("Hi",)


def test_what_names_an_item_does_not_count_and_what_it_says_does() -> None:
    other = json.loads(json.dumps(INPUT).replace("m1", "m2").replace("c1", "c9").replace("rs_1", "rs_7"))
    assert parse(input=other, prompt_cache_key="x", metadata={"a": "b"}).canonical == parse().canonical
    assert b"gAAA" in parse().canonical.data
    assert parse(instructions="Be bad.").canonical.segments[1] != parse().canonical.segments[1]
    assert [s.name for s in parse().canonical.segments] == ["tools", "system", *["message"] * 4]
    assert b"Be good." in parse().canonical.data and b"Rules." in parse().canonical.data


@pytest.mark.parametrize(
    "body",
    [b"{", b"{}", b'{"input": ""}', b'{"input": []}', b'{"input": [{}]}', b'{"input": ["x"]}',
     b'{"input": "x", "tools": [{}]}', b'{"input": 5}'],
)  # fmt: skip
def test_what_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        DIALECT.parse(body)


def test_the_events_of_a_reply_come_in_order() -> None:
    renderer = DIALECT.renderer(parse(), 3)
    pieces = [
        Piece("reasoning", "Hm"),
        Piece("text", "Hi "),
        Piece("text", "you"),
        Piece("tool", "", 0, ("c1", "a")),
        Piece("tool", "{}", 0),
        Piece("tool", "", 1, ("c2", "b")),
    ]
    usage = DIALECT.spell_usage(prompt=10, cache=CacheUse(4), output=5, reasoning=1)
    data = renderer.opening() + b"".join(map(renderer.piece, pieces)) + renderer.closing("completed", usage)
    said = frames(data)
    assert [one["sequence_number"] for one in said] == list(range(len(said)))
    assert [one["type"].removeprefix("response.") for one in said] == [
        "created", "in_progress",
        "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta",
        "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
        "output_item.added", "content_part.added", "output_text.delta", "output_text.delta",
        "output_text.done", "content_part.done", "output_item.done",
        "output_item.added", "function_call_arguments.delta", "function_call_arguments.done",
        "output_item.done",
        "output_item.added", "function_call_arguments.done", "output_item.done",
        "completed",
    ]  # fmt: skip
    response = said[-1]["response"]
    assert response["usage"] == usage and response["status"] == "completed"
    assert [item["type"] for item in response["output"]] == [
        "reasoning",
        "message",
        "function_call",
        "function_call",
    ]
    assert response["output"][1]["content"][0]["text"] == "Hi you"
    assert (response["output"][2]["call_id"], response["output"][2]["arguments"]) == ("c1", "{}")


def test_a_reply_that_was_cut_by_its_cap_is_incomplete() -> None:
    finish = DIALECT.finish("length")
    last = frames(DIALECT.renderer(parse(), 1).closing(finish, None))[-1]
    assert last["type"] == "response.incomplete"
    assert last["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
    reader = DIALECT.reader()
    reader.event(json.dumps(last).encode())
    assert (reader.terminal_seen, reader.finish, reader.usage) == (True, "max_output_tokens", None)


def test_a_provider_that_fails_or_sends_items_whole() -> None:
    reader = DIALECT.reader()
    item = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
    call = {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin"}
    done = {"type": "response.output_item.done"}
    assert reader.event(json.dumps({**done, "output_index": 0, "item": item}).encode())[0] == [
        Piece("text", "Hi")
    ]
    assert reader.event(json.dumps({**done, "output_index": 1, "item": call}).encode())[0] == [
        Piece("tool", "*** Begin", 0, ("c", "apply_patch"))
    ]
    assert reader.event(b"[DONE]") == ([], False)
    assert not reader.terminal_seen and not reader.malformed
    reader.event(DIALECT.error_frame(429, "slow").partition(b"data: ")[2])
    assert (reader.error, reader.terminal_seen, reader.finish) == (True, True, "failed")
    reader = DIALECT.reader()
    reader.event(b'{"type":"error","message":"x"}')
    assert reader.error and not reader.terminal_seen


def test_a_cap_is_injected_where_there_is_none() -> None:
    capped = DIALECT.with_output_cap(parse(), 50)
    assert capped is not None and DIALECT.parse(capped).max_output_tokens == 50
    assert DIALECT.with_output_cap(parse(max_output_tokens=7), 50) is None


def test_errors_are_typed() -> None:
    assert json.loads(DIALECT.error_body(400, "why"))["error"]["type"] == "invalid_request_error"
    assert json.loads(DIALECT.error_body(503, "why"))["error"]["type"] == "server_error"
    assert DIALECT.login("k") == {"authorization": "Bearer k"}


def test_usage_keys_of_a_script_are_said_in_this_spelling() -> None:
    counted: dict[str, Any] = {"prompt": 10, "cache": CacheUse(4, 3), "output": 5, "reasoning": 1}
    assert DIALECT.spell_usage(**counted, given={"prompt_tokens": 999}) == {
        "input_tokens": 999,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 1},
        "total_tokens": 1004,
    }


def test_paths_lead_to_their_dialects() -> None:
    found = {
        path: (said.dialect.name, said.target, said.model, said.stream)
        for path in (
            "/v1/chat/completions",
            "/v1/responses",
            "/v1/messages",
            "/v1beta/models/gemini-2.5-pro:streamGenerateContent",
            "/v1/models/x:generateContent",
        )
        if (said := route("POST", path))
    }
    assert list(found.values()) == [
        ("chat", "/chat/completions", None, None),
        ("responses", "/responses", None, None),
        ("messages", "/v1/messages", None, None),
        ("gemini", "/v1beta/models/gemini-2.5-pro:streamGenerateContent", "gemini-2.5-pro", True),
        ("gemini", "/v1/models/x:generateContent", "x", False),
    ]
    for path in (
        "/v1/messages/count_tokens",
        "/v1beta/models/x:countTokens",
        "/v1/models",
        "/",
        "/v1/responses/",
    ):
        assert route("POST", path) is None
    assert route("GET", "/v1/messages") is None
