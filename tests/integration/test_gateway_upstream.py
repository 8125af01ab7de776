"""The gateway in front of a provider: another gateway plays it, and a raw socket where it misbehaves."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import statistics
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from agentlab import Gateway, Price, ScriptedModel, Step
from agentlab.errors import ConfigError
from agentlab.gateway import Fault
from agentlab.gateway.live import Live

BODY = {
    "model": "m",
    "stream": True,
    "stream_options": {"include_usage": True},
    "messages": [{"role": "user", "content": "hi"}],
    "tools": [{"type": "function", "function": {"name": "read"}}],
}


@contextlib.asynccontextmanager
async def agent(live: Live) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": f"Bearer {live.token}", "x-session-id": "s"}
    async with httpx.AsyncClient(base_url=live.base_url(), headers=headers, timeout=10) as http:
        yield http


@contextlib.asynccontextmanager
async def behind(
    monkeypatch: pytest.MonkeyPatch, *steps: Step
) -> AsyncIterator[tuple[Live, Live, httpx.AsyncClient]]:
    """Agent -> gateway under test -> scripted gateway as the provider."""
    async with Gateway(ScriptedModel(steps)) as provider:
        monkeypatch.setenv("LAB_KEY", provider.token)
        async with Gateway(provider.base_url(), key_env="LAB_KEY") as live, agent(live) as http:
            yield provider, live, http


@contextlib.asynccontextmanager
async def raw_provider(reply: bytes) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Answer every request with the same bytes, then close."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(
            next(
                v
                for k, _, v in (h.partition(b": ") for h in head.split(b"\r\n"))
                if k.lower() == b"content-length"
            )
        )
        heard.append(head + await reader.readexactly(length))
        writer.write(reply)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", heard
    finally:
        server.close()
        await server.wait_closed()


def event_stream(*frames: dict[str, Any], done: bool = True) -> bytes:
    body = b"".join(b"data: " + json.dumps(frame).encode() + b"\n\n" for frame in frames)
    body += b"data: [DONE]\n\n" if done else b""
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )


def delta(finish: str | None = None, **fields: object) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


async def test_a_stream_is_passed_on_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    step = Step(reasoning="Hm.", text="abcd" * 30, tools=[("read", {"a": 1})], ttft_s=0.1, tokens_per_s=100)
    async with behind(monkeypatch, step) as (provider, live, http):
        times: list[float] = []
        async with http.stream("POST", "/chat/completions", json=BODY) as reply:
            text = b""
            async for part in reply.aiter_raw():
                times.append(time.monotonic())
                text += part
        await provider.sync()
        await live.sync()
        there, here = provider.requests[0], live.requests[0]
    assert text.count(b"data: ") == 1 + 1 + 30 + 3 + 2 + 1 and text.endswith(b"data: [DONE]\n\n")
    assert times[-1] - times[0] > 0.3 and len(times) > 20  # no burst at the end
    assert here["n_chunks"] == there["n_chunks"]
    assert here["answered_model"] == "m"
    for key in (
        "usage",
        "finish",
        "answered_model",
        "output_tokens",
        "reasoning_tokens",
        "input_total_tokens",
        "canonical_bytes",
    ):
        assert here[key] == there[key]
    assert here["terminal_seen"] and "reason" not in here and "emit_ns" not in here
    # The provider's stamp follows its write, so it may be a little later than ours.
    assert here["t_first"] > there["t_first"] - 20e6


async def test_what_passing_on_adds_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    step = Step(text="abcd" * 40, ttft_s=0.05, tokens_per_s=200)
    async with behind(monkeypatch, step) as (provider, live, http):
        for _ in range(3):
            await http.post("/chat/completions", json=BODY)
        await provider.sync()
        await live.sync()
        pairs = list(zip(provider.requests, live.requests, strict=True))
    assert statistics.median((b["t_first"] - a["t_first"]) / 1e6 for a, b in pairs) < 30
    assert statistics.median((b["t_end"] - a["t_end"]) / 1e6 for a, b in pairs) < 30


async def test_a_whole_reply_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async with behind(monkeypatch, Step(text="Hello.", tools=[("read", {})])) as (_, live, http):
        reply = await http.post("/chat/completions", json={**BODY, "stream": False})
        await live.sync()
    assert reply.json()["choices"][0]["message"]["content"] == "Hello."
    assert live.requests[0]["n_chunks"] == 2 and live.requests[0]["terminal_seen"]
    assert live.requests[0]["output_tokens"] == reply.json()["usage"]["completion_tokens"]


async def test_usage_is_asked_for_and_taken_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = {key: value for key, value in BODY.items() if key != "stream_options"}
    async with behind(monkeypatch, Step(text="Hello.")) as (_, live, http):
        reply = await http.post("/chat/completions", json=quiet)
        await live.sync()
    frames = [f.removeprefix("data: ") for f in reply.text.split("\n\n") if f]
    assert frames[-1] == "[DONE]" and all("usage" not in frame for frame in frames)
    assert live.requests[0]["output_tokens"] == 2


async def test_only_the_status_crosses_back_and_the_key_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = Fault("status", code=429, retry_after_s=7)
    async with behind(monkeypatch, Step(fault=fault)) as (provider, live, http):
        reply = await http.post("/chat/completions", json=BODY)
        await live.sync()
        assert reply.status_code == 429 and "retry-after" not in reply.headers
        assert "script" not in reply.text and provider.token not in reply.text
        assert (live.requests[0]["fault"], live.requests[0]["status"]) == ("status", 429)
        assert provider.token not in json.dumps(Gateway(provider.base_url(), key_env="LAB_KEY").to_dict())


@pytest.mark.parametrize(("kind", "seen"), [("cut", "cut"), ("reset", "reset"), ("garbage", "garbage")])
async def test_a_stream_without_its_end_resets_the_agent(
    monkeypatch: pytest.MonkeyPatch,
    kind: Literal["cut", "reset", "garbage"],
    seen: str,
) -> None:
    async with behind(monkeypatch, Step(text="abcd" * 4, fault=Fault(kind, after=2))) as (_, live, http):
        with pytest.raises(httpx.ReadError):
            await http.post("/chat/completions", json=BODY)
        await live.sync()
    request = live.requests[0]
    assert (request["fault"], request["terminal_seen"], request["reason"]) == (seen, False, "no_usage")


async def test_redirects_are_refused_and_foreign_headers_stay_here() -> None:
    redirect = (
        b"HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/v1\r\ncontent-length: 0\r\n\r\n"
    )
    async with raw_provider(redirect) as (url, heard), Gateway(url) as live, agent(live) as http:
        reply = await http.post("/chat/completions", json=BODY, headers={"cookie": "a=b", "x-api-key": "zzz"})
        await live.sync()
        assert reply.status_code == 400, "an address that leads elsewhere is for good"
        assert live.requests[0]["reason"] == "upstream_redirect: the provider answered with HTTP 307"
        sent = heard[0].lower()
        assert live.token.encode() not in heard[0] and b"cookie" not in sent and b"zzz" not in sent
        assert b"x-session-id: s" in sent and b"accept-encoding: identity" in sent
        assert heard[0].partition(b"\r\n\r\n")[2] == json.dumps(BODY, separators=(",", ":")).encode()


async def test_a_sign_of_life_goes_on_where_usage_is_taken_out() -> None:
    whole = event_stream(delta(content="x"), delta("stop"))
    head, _, body = whole.partition(b"\r\n\r\n")
    alive = head.partition(b"content-length")[0] + b"connection: close\r\n\r\n: processing\n\n"
    asked = {key: value for key, value in BODY.items() if key != "stream_options"}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(alive)
        await heard.wait()
        writer.write(body)
        writer.close()

    heard = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with (
        Gateway(url) as live,
        agent(live) as http,
        http.stream("POST", "/chat/completions", json=asked) as reply,
    ):
        parts = reply.aiter_bytes()
        assert await anext(parts) == b":\n\n"
        heard.set()
        rest = b"".join([part async for part in parts])
    server.close()
    assert rest.endswith(b"data: [DONE]\n\n")


async def test_a_packed_body_goes_on_unpacked_and_says_so() -> None:
    packed = gzip.compress(json.dumps(BODY).encode())
    whole = event_stream(delta(content="x"), delta("stop"))
    async with raw_provider(whole) as (url, heard), Gateway(url) as live, agent(live) as http:
        headers = {"content-encoding": "gzip"}
        assert (await http.post("/chat/completions", content=packed, headers=headers)).status_code == 200
        for bad in (b"{}", packed[:40]):
            reply = await http.post("/chat/completions", content=bad, headers=headers)
            assert reply.status_code == 400 and "invalid_body" in reply.json()["error"]["message"]
        reply = await http.post("/chat/completions", content=b"?", headers={"content-encoding": "zstd"})
        assert "of packed bodies gzip and deflate are read" in reply.json()["error"]["message"]
        await live.sync()
        first, *junk = live.requests
        assert first["status"] == 200 and junk
        assert all(row["status"] == 400 and "invalid_body" in row["reason"] for row in junk)
        head, _, body = heard[0].partition(b"\r\n\r\n")
    assert b"content-encoding" not in head.lower() and json.loads(body) == BODY


async def test_the_token_in_a_query_stays_here_however_it_is_spelled() -> None:
    whole = event_stream(delta(content="x"), delta("stop"))
    async with raw_provider(whole) as (url, heard), Gateway(url) as live, httpx.AsyncClient() as http:
        for name in ("key", "k%65y"):
            there = f"{live.base_url()}/chat/completions?a=b&{name}={live.token}"
            assert (await http.post(there, json=BODY)).status_code == 200
            assert (
                heard[-1].startswith(b"POST /v1/chat/completions?a=b HTTP")
                and live.token.encode() not in heard[-1]
            )


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:9/v1", "connection refused"),
        ("http://no-such-host.invalid/v1", "the name of the host is not known"),
    ],
)
async def test_nobody_at_the_providers_address_is_said_at_once_and_costs_nothing(
    url: str, why: str, tmp_path: Path
) -> None:
    async with Gateway(url, price=Price(3, 15), budget_usd=1) as live, agent(live) as http:
        await live.begin("r1", "a", tmp_path / "gateway.jsonl")
        reply = await http.post("/chat/completions", json=BODY)
        await live.sync()
        ledger, endings, request = live.ledger, live.endings, live.requests[0]
    assert reply.status_code == 400, "no agent asks again"
    assert reply.json()["error"]["type"] == "invalid_request_error"
    assert "upstream_unreachable: nobody answers" in reply.json()["error"]["message"]
    assert why not in reply.text, "OpenCode asks again when it reads of a connection"
    assert request["reason"] == f"upstream_unreachable: {why}"
    assert ledger.charged_usd == ledger.uncertain == ledger.reserved_usd == 0
    assert ledger.refused == {"upstream_unreachable": 1} and ledger.halted is None
    assert endings == {"r1": "upstream"}


async def test_an_address_that_swallows_connections_is_given_up() -> None:
    """A full backlog drops what asks to connect, as a firewall does."""
    with contextlib.ExitStack() as stack:
        hole = stack.enter_context(socket.socket())
        hole.bind(("127.0.0.1", 0))
        hole.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(hole.getsockname())
        url = f"http://127.0.0.1:{hole.getsockname()[1]}/v1"
        async with Gateway(url) as live, agent(live) as http:
            began = time.monotonic()
            reply = await http.post("/chat/completions", json=BODY, timeout=30)
            assert 9 < time.monotonic() - began < 15
            await live.sync()
            assert live.requests[0]["reason"] == "upstream_unreachable: no connection within 10 s"
    assert reply.status_code == 400


async def test_a_provider_that_has_answered_may_be_away_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    async with behind(monkeypatch, Step(text="a")) as (provider, live, http):
        assert (await http.post("/chat/completions", json=BODY)).status_code == 200
        await provider.close()
        reply = await http.post("/chat/completions", json=BODY)
        await live.sync()
        last = live.requests[-1]
    assert reply.status_code == 502, "agents ask again"
    assert last["reason"] == "upstream_away: connection refused" and last["refused"]
    assert live.endings == {}


async def test_a_provider_that_hangs_up_without_an_answer_may_have_charged_for_it() -> None:
    async with (
        raw_provider(b"") as (url, _),
        Gateway(url, price=Price(3, 15)) as live,
        agent(live) as http,
    ):
        reply = await http.post("/chat/completions", json=BODY)
        await live.sync()
        request = live.requests[0]
    assert reply.status_code == 502
    assert (request["fault"], request["reason"], request["uncertain"]) == ("reset", "upstream_lost", True)


async def test_reasoning_blank_text_and_odd_usage_are_read_as_they_are() -> None:
    stream = event_stream(
        delta(role="assistant", content=""),
        delta(reasoning="Think"),
        delta(content="\n\n"),
        delta(content="Hi"),
        delta("stop"),
        {
            "choices": [],
            "usage": {
                "prompt_tokens": 2006,
                "completion_tokens": 10,
                "prompt_tokens_details": {"cached_tokens": 1920, "cache_write_tokens": 40},
                "new_tokens": 3,
                "note": "text that may be anything",
            },
        },
    )
    async with raw_provider(stream) as (url, _), Gateway(url) as live, agent(live) as http:
        await http.post("/chat/completions", json=BODY)
        await live.sync()
    request = live.requests[0]
    assert request["n_chunks"] == 3
    assert request["input_uncached_tokens"] == 46 and request["cache_write_tokens"] == 40
    assert request["unknown_usage_keys"] == ["new_tokens", "note"]
    assert "note" not in request["usage"]


async def test_an_error_frame_after_tokens_is_no_success() -> None:
    stream = event_stream(delta(content="a"), {"error": {"code": 529, "message": "overloaded"}}, done=False)
    async with raw_provider(stream) as (url, _), Gateway(url) as live, agent(live) as http:
        with contextlib.suppress(httpx.ReadError):
            await http.post("/chat/completions", json=BODY)
        await live.sync()
    assert live.requests[0]["fault"] == "error" and not live.requests[0]["terminal_seen"]


async def test_an_agent_that_goes_away_is_not_the_providers_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    async with behind(monkeypatch, Step(text="abcd" * 200, tokens_per_s=100)) as (provider, live, http):
        async with http.stream("POST", "/chat/completions", json=BODY) as reply:
            async for part in reply.aiter_raw():
                if b"abcd" in part:
                    break
        deadline = time.monotonic() + 5
        while not (live.requests and provider.requests) and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        # The provider is let go too: it must not go on producing tokens that are paid for.
        for request in (live.requests[0], provider.requests[0]):
            assert (request["fault"], request["reason"]) == ("client_gone", "no_usage")
            assert not request["terminal_seen"]


async def test_a_key_that_is_not_set_is_said_before_anything_starts() -> None:
    with pytest.raises(ConfigError, match="not set"):
        await Gateway("https://api.example.com/v1", key_env="LAB_KEY_THAT_IS_NOT_SET").start()
