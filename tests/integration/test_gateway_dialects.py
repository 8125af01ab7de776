"""All four wires on real sockets: answered by a script, and passed on to a provider of the same wire."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any, Literal

import httpx
import pytest

from agentlab import Gateway, PromptCache, ScriptedModel, Step
from agentlab.gateway import Fault
from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.live import Live
from agentlab.wire.sse import SSEParser

NAMES = tuple(DIALECTS)
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
Name = Literal["chat", "responses", "messages", "gemini"]
#: Path below the base URL, of a streamed request and of one that is not.
PATHS = {
    "chat": ("/chat/completions", "/chat/completions"),
    "responses": ("/responses", "/responses"),
    "messages": ("/v1/messages?beta=true", "/v1/messages?beta=true"),
    "gemini": (
        "/v1beta/models/m:streamGenerateContent?alt=sse",
        "/v1beta/models/m:generateContent",
    ),
}
LOGINS = {
    "chat": "authorization",
    "responses": "authorization",
    "messages": "x-api-key",
    "gemini": "x-goog-api-key",
}
ANSWER = Step(reasoning="Hm, so.", text="Hello there.", tools=[("read", {"path": "a"})])


def body(name: str, text: str = "hi", *, stream: bool = True, system: str = "You help.") -> dict[str, Any]:
    if name == "chat":
        messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
        tools = [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}]
        more = {"stream": stream, **({"stream_options": {"include_usage": True}} if stream else {})}
        return {"model": "m", "messages": messages, "tools": tools, **more}
    if name == "responses":
        tools = [{"type": "function", "name": "read", "parameters": SCHEMA}]
        said = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}]
        return {"model": "m", "instructions": system, "input": said, "tools": tools, "stream": stream}
    if name == "messages":
        marked = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
        tools = [{"name": "read", "input_schema": SCHEMA}]
        said = [{"role": "user", "content": text}]
        return {
            "model": "m",
            "max_tokens": 99,
            "system": marked,
            "messages": said,
            "tools": tools,
            "stream": stream,
        }
    return {
        "contents": [{"role": "user", "parts": [{"text": text}]}],
        "systemInstruction": {"parts": [{"text": system}]},
        "tools": [{"functionDeclarations": [{"name": "read", "parametersJsonSchema": SCHEMA}]}],
    }


def login(name: str, token: str) -> dict[str, str]:
    header = LOGINS[name]
    return {header: f"Bearer {token}" if header == "authorization" else token}


async def post(live: Live, name: str, data: dict[str, Any], *, stream: bool = True) -> httpx.Response:
    path = PATHS[name][0 if stream else 1]
    async with httpx.AsyncClient(timeout=20) as http:
        return await http.post(live.base_url(name) + path, json=data, headers=login(name, live.token))


def heard(name: str, reply: bytes, *, stream: bool = True) -> tuple[Any, list[Any]]:
    reader = DIALECTS[name].reader()
    if not stream:
        return reader, reader.whole(reply)
    events = SSEParser().feed(reply, 0)
    return reader, [piece for event in events for piece in reader.event(event.data)[0]]


@contextlib.asynccontextmanager
async def behind(
    name: str, monkeypatch: pytest.MonkeyPatch, *steps: Step
) -> AsyncIterator[tuple[Live, Live]]:
    """Agent -> gateway under test -> scripted gateway as the provider of the same wire."""
    async with Gateway(ScriptedModel(steps)) as provider:
        monkeypatch.setenv("LAB_KEY", provider.token)
        async with Gateway(provider.base_url(name), key_env="LAB_KEY") as live:
            yield provider, live


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", NAMES)
async def test_one_step_answers_on_every_wire(name: str, stream: bool) -> None:
    async with Gateway(ScriptedModel([ANSWER])) as live:
        reply = await post(live, name, body(name, stream=stream), stream=stream)
        await live.sync()
        row = live.requests[0]
    assert reply.status_code == 200
    kind = "text/event-stream" if stream else "application/json"
    assert reply.headers["content-type"].startswith(kind)
    reader, pieces = heard(name, reply.content, stream=stream)
    said = {
        part: "".join(piece.text for piece in pieces if piece.kind == part)
        for part in ("text", "reasoning", "tool")
    }
    assert (said["text"], said["reasoning"], json.loads(said["tool"])) == (
        "Hello there.",
        "Hm, so.",
        {"path": "a"},
    )
    assert [piece.call[1] for piece in pieces if piece.call] == ["read"]
    assert reader.terminal_seen and not reader.error and not reader.malformed
    assert (row["dialect"], row["model"], row["stream"], row["terminal_seen"]) == (name, "m", stream, True)
    assert row["finish"] == reader.finish == DIALECTS[name].finish("tool_calls")
    assert row["usage"] == reader.usage
    assert row["input_total_tokens"] == -(-row["canonical_bytes"] // 4)
    assert (row["output_tokens"], row["reasoning_tokens"]) == (2 + 3 + 3, 2)
    assert "reason" not in row and "unknown_usage_keys" not in row
    assert [segment[0] for segment in row["segments"]] == ["tools", "system", "message"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", NAMES)
async def test_a_providers_reply_goes_on_as_it_is(
    name: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with behind(name, monkeypatch, ANSWER) as (provider, live):
        reply = await post(live, name, body(name, stream=stream), stream=stream)
        await provider.sync()
        await live.sync()
        there, here = provider.requests[0], live.requests[0]
        assert provider.refused == {}
    reader, _ = heard(name, reply.content, stream=stream)
    assert reply.status_code == 200 and reader.terminal_seen
    times = {"t_begin", "t_first", "t_end", "emit_ns"}
    assert {k: v for k, v in here.items() if k not in times} == {
        k: v for k, v in there.items() if k not in times
    }


@pytest.mark.parametrize("name", NAMES)
async def test_a_stream_without_its_end_is_reset(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with behind(name, monkeypatch, Step(text="abcd" * 8, fault=Fault("cut", after=3))) as (_, live):
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            await post(live, name, body(name))
        await live.sync()
        row = live.requests[0]
    assert (row["terminal_seen"], row["fault"], row["n_chunks"]) == (False, "cut", 3)
    assert "output_tokens" not in row
    # The other two say nothing before their end.
    assert row["reason"] == ("usage_partial" if name in ("messages", "gemini") else "no_usage")


@pytest.mark.parametrize("kind", ["cut", "reset", "garbage", "error"])
@pytest.mark.parametrize("name", NAMES)
async def test_faults_break_every_wire(name: str, kind: Literal["cut", "reset", "garbage", "error"]) -> None:
    step = Step(text="abcdefgh", fault=Fault(kind, after=1, code=529))
    async with Gateway(ScriptedModel([step])) as live:
        broken = None
        try:
            broken = await post(live, name, body(name))
        except httpx.HTTPError:
            assert kind == "reset"
        await live.sync()
        row = live.requests[0]
        again = await post(live, name, body(name))
    assert (row["fault"], row["terminal_seen"], row["status"]) == (kind, False, 200)
    assert heard(name, again.content)[0].terminal_seen
    if broken is None:
        return
    reader, pieces = heard(name, broken.content)
    assert "".join(piece.text for piece in pieces if piece.kind == "text").startswith("abcd")
    assert reader.error == (kind == "error") and reader.malformed == (kind == "garbage")
    assert reader.terminal_seen == (kind == "error" and name == "responses")  # response.failed is its end


@pytest.mark.parametrize(
    ("name", "path", "kind"),
    [
        ("chat", ("error", "type"), "invalid_request_error"),
        ("responses", ("error", "type"), "invalid_request_error"),
        ("messages", ("error", "type"), "invalid_request_error"),
        ("gemini", ("error", "status"), "INVALID_ARGUMENT"),
    ],
)
async def test_a_refusal_is_a_typed_400_of_the_wire(name: str, path: tuple[str, str], kind: str) -> None:
    async with Gateway(ScriptedModel([Step(text="a")]), max_requests=1) as live:
        await post(live, name, body(name))
        over = await post(live, name, body(name, "more"))
        wrong = await post(live, name, {"nothing": 1})
        await live.sync()
        rows = live.requests
    assert [over.status_code, wrong.status_code] == [400, 400]
    assert over.json()[path[0]][path[1]] == wrong.json()[path[0]][path[1]] == kind
    assert rows[1]["reason"] == "limit" and rows[2]["status"] == 400


@pytest.mark.parametrize("name", NAMES)
async def test_a_wrong_token_is_refused_in_the_wires_own_words(name: str) -> None:
    async with Gateway(ScriptedModel([Step(text="a")])) as live, httpx.AsyncClient() as http:
        url = live.base_url(name) + PATHS[name][0]
        reply = await http.post(url, json=body(name), headers=login(name, "wrong"))
        parts = url.partition("?")
        keyed = await http.post(f"{parts[0]}?key={live.token}&{parts[2]}", json=body(name))
        alive = await http.head(live.base_url("messages") + "/")
        await live.sync()
        assert live.refused == {"token": 1} and len(live.requests) == 1
    assert reply.status_code == 403 and keyed.status_code == 200
    assert "PERMISSION_DENIED" in reply.text if name == "gemini" else "permission_error" in reply.text
    assert (alive.status_code, alive.content) == (200, b"")


async def test_the_query_goes_on_without_the_gateways_token(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 500 Broken\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    monkeypatch.setenv("LAB_KEY", "provider-key")
    root = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        for name, base in {"messages": "/v1", "gemini": "", "responses": "/v1"}.items():
            async with Gateway(root + base, key_env="LAB_KEY") as live, httpx.AsyncClient() as http:
                path = PATHS[name][0]
                url = f"{live.base_url(name)}{path}{'&' if '?' in path else '?'}key={live.token}"
                reply = await http.post(url, json=body(name))
                assert reply.status_code == 500
                assert live.token.encode() not in heads[-1]
    finally:
        server.close()
        await server.wait_closed()
    lines = [head.split(b"\r\n")[0] for head in heads]
    assert lines == [
        b"POST /v1/messages?beta=true HTTP/1.1",
        b"POST /v1beta/models/m:streamGenerateContent?alt=sse HTTP/1.1",
        b"POST /v1/responses HTTP/1.1",
    ]
    keys = [
        b"x-api-key: provider-key",
        b"x-goog-api-key: provider-key",
        b"authorization: Bearer provider-key",
    ]
    assert all(key in head for key, head in zip(keys, heads, strict=True))


async def test_anthropics_marks_are_written_and_then_read() -> None:
    script = ScriptedModel([Step(text="a"), Step(text="b")], cache=PromptCache(rule="anthropic"))
    long = "abcd" * 1100
    async with Gateway(script) as live:
        for text in ("hi", "and more"):
            data = body("messages", text, system=long) | {"model": "claude-sonnet-4-5"}
            await post(live, "messages", data)
        await live.sync()
        first, second = live.requests
    written = first["cache_write_tokens"]
    assert 1100 < written < 1200 and first["cache_read_tokens"] == 0
    assert (second["cache_read_tokens"], second["cache_write_tokens"]) == (written, 0)
    assert first["input_total_tokens"] == first["input_uncached_tokens"] + written
    assert second["usage"]["cache_creation"] == {
        "ephemeral_5m_input_tokens": 0,
        "ephemeral_1h_input_tokens": 0,
    }
