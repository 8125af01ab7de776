"""The gateway's process on loopback: who may call, what is streamed when, and what is recorded."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from agentlab import Gateway, Price, PromptCache, ScriptedModel, Step
from agentlab.errors import ConfigError, GatewayError, RecordingError
from agentlab.gateway.live import Live

TOOLS = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]


def body(
    text: str = "hi", *, system: str = "You help.", tools: list[Any] | None = None, **more: object
) -> dict[str, Any]:
    return {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": text}],
        "tools": TOOLS if tools is None else tools,
        **more,
    }


@contextlib.asynccontextmanager
async def client(live: Live, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    login = {"authorization": f"Bearer {live.token}", **headers}
    async with httpx.AsyncClient(base_url=live.base_url("chat"), headers=login, timeout=20) as http:
        yield http


async def ask(http: httpx.AsyncClient, data: dict[str, Any], **headers: str) -> list[tuple[int, Any]]:
    """Return (receive stamp, frame) of a streamed reply."""
    frames: list[tuple[int, Any]] = []
    async with http.stream("POST", "/chat/completions", json=data, headers=headers) as reply:
        assert reply.status_code == 200
        rest = b""
        async for part in reply.aiter_raw():
            t = time.monotonic_ns()
            *whole, rest = (rest + part).split(b"\n\n")
            for frame in whole:
                data_part = frame.removeprefix(b"data: ")
                frames.append((t, "DONE" if data_part == b"[DONE]" else json.loads(data_part)))
        assert rest == b""
    return frames


def text_of(frames: list[tuple[int, Any]]) -> str:
    deltas = [f["choices"][0]["delta"] for _, f in frames if f != "DONE" and f["choices"]]
    return "".join(delta.get("content", "") for delta in deltas)


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


async def test_only_the_right_path_method_host_and_token_pass() -> None:
    async with Gateway(ScriptedModel([Step(text="yes")])) as live, client(live) as http:
        plain = body(stream=False)
        wrong = [
            await http.post("/embeddings", json=plain),
            await http.get("/chat/completions"),
            await http.post("/chat/completions", json=plain, headers={"host": "evil.example"}),
            await http.post("/chat/completions", json=plain, headers={"authorization": "Bearer no"}),
            await http.post("/chat/completions", json=plain, headers={"authorization": ""}),
        ]
        assert [reply.status_code for reply in wrong] == [403] * 5
        other = {"authorization": "", "x-api-key": live.token}
        assert (await http.post("/chat/completions", json=plain, headers=other)).status_code == 200
        await live.idle()
        assert live.refused == {"path": 1, "method": 1, "host": 1, "token": 2}
        assert len(live.requests) == 1
        assert live.token not in repr(live)


async def test_a_stream_opens_with_the_role_and_ends_with_usage_and_done() -> None:
    step = Step(reasoning="Think.", text="Hello there.", tools=[("read", {"filePath": "a"})])
    async with Gateway(ScriptedModel([step])) as live, client(live) as http:
        frames = [frame for _, frame in await ask(http, body())]
    assert frames[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert frames[-1] == "DONE"
    usage = frames[-2]["usage"]
    assert frames[-2]["choices"] == []
    assert frames[-3]["choices"][0]["finish_reason"] == "tool_calls"
    request = live.requests[0]
    assert usage["prompt_tokens"] == -(-request["canonical_bytes"] // 4)
    assert usage["completion_tokens"] == 2 + 3 + 4  # ceil of 6, 12 and 16 bytes over 4
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 2
    assert request["output_tokens"] == 9 and request["cache_read_tokens"] == 0
    assert request["input_uncached_tokens"] == request["input_total_tokens"] == usage["prompt_tokens"]
    assert request["status"] == 200 and request["terminal_seen"] and "reason" not in request
    calls = [f["choices"][0]["delta"].get("tool_calls") for f in frames if f != "DONE" and f["choices"]]
    arguments = "".join(call[0]["function"]["arguments"] for call in calls if call)
    assert json.loads(arguments) == {"filePath": "a"}


async def test_usage_is_unknown_when_it_was_not_asked_for_or_not_given() -> None:
    async with (
        Gateway(ScriptedModel([Step(text="a"), Step(text="b", usage=None)])) as live,
        client(live) as http,
    ):
        quiet = body()
        del quiet["stream_options"]
        await ask(http, quiet, **{"x-session-id": "s"})
        await ask(http, body("again"), **{"x-session-id": "s"})
    for request in live.requests:
        assert request["reason"] == "no_usage" and "usage" not in request
        assert not [key for key in request if key.endswith("_tokens") and key != "max_output_tokens"]


async def test_a_reply_that_is_not_streamed_is_whole() -> None:
    step = Step(text="Hello.", reasoning="Hm.", tools=[("read", {})], ttft_s=0.05, tokens_per_s=100)
    async with Gateway(ScriptedModel([step])) as live, client(live) as http:
        reply = (await http.post("/chat/completions", json=body(stream=False))).json()
    message = reply["choices"][0]["message"]
    assert message["content"] == "Hello." and message["reasoning_content"] == "Hm."
    assert message["tool_calls"][0]["function"] == {"name": "read", "arguments": "{}"}
    assert reply["usage"]["completion_tokens"] == live.requests[0]["output_tokens"] == 1 + 2 + 1
    assert live.requests[0]["n_chunks"] == 3


async def test_pieces_keep_their_deadlines_and_their_stamps_are_true(tmp_path: Path) -> None:
    n, rate, first = 60, 200.0, 0.1
    async with (
        Gateway(ScriptedModel([Step(text="abcd" * n, ttft_s=first, tokens_per_s=rate)])) as live,
        client(live) as http,
    ):
        await live.begin("r1", "arm", tmp_path / "gateway.jsonl")
        frames = await ask(http, body())
        await live.idle()
    events = lines(tmp_path / "gateway.jsonl")
    begin, chunks = events[0], [event for event in events if event["kind"] == "request.chunk"]
    got = [t for t, f in frames if f != "DONE" and f["choices"] and f["choices"][0]["delta"].get("content")]
    assert len(chunks) == len(got) == n
    late = [c["emit_ns"] - begin["t"] - (first + k / rate) * 1e9 for k, c in enumerate(chunks)]
    assert min(late) >= 0  # never early
    # The bounds are wide, for machines under load; benchmarks hold the figures.
    assert statistics.median(late) < 20e6
    # No drift: deadlines are absolute.
    assert statistics.median(late[-10:]) - statistics.median(late[:10]) < 20e6
    assert all(c["emit_ns"] <= c["t"] for c in chunks)
    assert all(c["emit_ns"] <= t for c, t in zip(chunks, got, strict=True))
    assert statistics.median(t - c["emit_ns"] for c, t in zip(chunks, got, strict=True)) < 20e6


async def test_prompts_are_written_only_when_asked_for(tmp_path: Path) -> None:
    model = ScriptedModel([Step(text="a secret answer")])
    for keep in ("numbers", "content"):
        folder = tmp_path / keep
        folder.mkdir()
        live = await Gateway(model).start(folder, keep=keep)
        async with client(live) as http:
            await ask(http, body("a secret prompt"))
        await live.close()
        file = folder / "gateway.jsonl"
        assert (b"secret" in file.read_bytes()) == (keep == "content")
        assert live.token.encode() not in file.read_bytes()
        assert file.stat().st_mode & 0o777 == 0o600


async def test_sessions_stay_with_the_run_they_were_first_seen_in(tmp_path: Path) -> None:
    live = await Gateway(ScriptedModel([Step(text="ok")], match="rule")).start(tmp_path)
    async with client(live) as http:
        await ask(http, body(), **{"x-session-id": "warm"})
        await live.begin("r1", "a", tmp_path / "r1.jsonl")
        await ask(http, body(), **{"x-session-id": "warm"})
        await ask(http, body(), **{"session-id": "one"})
        await ask(http, body())
        await live.idle()
        await live.begin("r2", "a", tmp_path / "r2.jsonl")
        await ask(http, body("late"), **{"session-id": "one"})
        await ask(http, body(), **{"x-claude-code-session-id": "two"})
    await live.close()

    def sessions(name: str) -> list[str | None]:
        return [e.get("session") for e in lines(tmp_path / name) if e["kind"] == "request.begin"]

    assert sessions("gateway.jsonl") == ["warm", "warm"]
    assert sessions("r1.jsonl") == ["one", None, "one"]
    assert sessions("r2.jsonl") == ["two"]
    assert [r["request"] for r in live.requests] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("scope", "shared"), [("run", "own"), ("arm", "arm"), ("study", "study")])
async def test_the_cache_is_shared_as_its_scope_says(
    tmp_path: Path, scope: Literal["run", "arm", "study"], shared: str
) -> None:
    model = ScriptedModel([Step(text="ok")], match="rule", cache=PromptCache(scope=scope))
    seen: dict[str, int] = {}
    live = await Gateway(model).start(tmp_path)
    async with client(live) as http:
        long = body(system="x" * 6000)
        await ask(http, long, **{"x-session-id": "warm"})
        for run, arm in [("r1", "a"), ("r2", "a"), ("r3", "b")]:
            await live.begin(run, arm, tmp_path / f"{run}.jsonl")
            for again in ("", "again"):
                await ask(http, long, **{"x-session-id": run + again})
                await live.sync()
                seen[run + again] = live.requests[-1]["cache_read_tokens"]
    await live.close()
    served = {run for run, n in seen.items() if n > 0}
    always = {"r1again", "r2again", "r3again"}
    more: dict[str, set[str]] = {"own": set(), "arm": {"r2"}, "study": {"r2", "r3"}}
    assert served == always | more[shared]
    assert all(n == 0 or (n >= 1024 and n % 128 == 0) for n in seen.values())


async def test_eight_sessions_at_once_do_not_mix() -> None:
    steps = [Step(text=f"step {k} " * 20, ttft_s=0.02, tokens_per_s=400) for k in range(3)]

    async def converse(http: httpx.AsyncClient, name: str) -> list[str]:
        said: list[str] = []
        messages: list[dict[str, str]] = [{"role": "user", "content": name}]
        for _ in range(3):
            answer = text_of(await ask(http, {**body(), "messages": messages}, **{"x-session-id": name}))
            said.append(answer)
            messages = [
                *messages,
                {"role": "assistant", "content": answer},
                {"role": "user", "content": "on"},
            ]
        return said

    async with Gateway(ScriptedModel(steps)) as live, client(live) as http:
        all_said = await asyncio.gather(*(converse(http, f"s{k}") for k in range(8)))
        await live.sync()
        requests = live.requests
    assert all(said == [f"step {k} " * 20 for k in range(3)] for said in all_said)
    assert sorted(r["request"] for r in requests) == list(range(1, 25))
    for k in range(8):
        mine = [r for r in requests if r["session"] == f"s{k}"]
        assert [r["n_messages"] for r in mine] == [1, 3, 5]
        assert [r.get("append_only") for r in mine] == [None, True, True]
        assert [r.get("prefix_bytes") for r in mine[1:]] == [r["canonical_bytes"] for r in mine[:-1]]


async def test_the_gateway_adds_little_to_a_reply() -> None:
    async with Gateway(ScriptedModel([Step(text="ok")], match="rule")) as live, client(live) as http:
        data = body(system="x" * 30_000)
        took: list[float] = []
        for _ in range(30):
            start = time.perf_counter()
            await ask(http, data)
            took.append((time.perf_counter() - start) * 1e3)
        await live.sync()
        inside = [(r["t_first"] - r["t_begin"]) / 1e6 for r in live.requests]
    assert statistics.median(took) < 60
    assert statistics.median(inside) < 20


async def test_what_agents_break_is_refused_and_recorded() -> None:
    async with (
        Gateway(
            ScriptedModel([Step(text="ok")]),
        ) as live,
        client(live) as http,
    ):
        for content in (
            b"{",
            b"[]",
            b'{"messages": []}',
            b'{"messages": [{"content": 1}]}',
            b"[" * 100_000,
            b"\xff",
        ):
            reply = await http.post("/chat/completions", content=content)
            assert reply.status_code == 400
            assert reply.json()["error"]["type"] == "invalid_request_error"
        surrogate = b'{"model":"m","messages":[{"role":"user","content":"cut \\ud83d"}],"tools":[]}'
        assert (await http.post("/chat/completions", content=surrogate)).status_code == 200
        await live.sync()
        requests = live.requests
    assert all(r["status"] == 400 and r["reason"].startswith("invalid_body") for r in requests[:-1])


async def test_limits_refuse_with_the_one_status_that_is_not_repeated() -> None:
    async with (
        Gateway(ScriptedModel([Step(text="ok")], match="rule"), max_requests=2) as live,
        client(live) as http,
    ):
        replies = [await http.post("/chat/completions", json=body(stream=False)) for _ in range(3)]
        assert [reply.status_code for reply in replies] == [200, 200, 400]
        assert replies[2].json()["error"]["type"] == "invalid_request_error"
        await live.sync()
        assert [r.get("reason") for r in live.requests] == [None, None, "limit"]
    model = ScriptedModel([Step(text="ok")], match="rule")
    async with Gateway(model, max_seconds=0.001) as live, client(live) as http:
        assert (await http.post("/chat/completions", json=body())).status_code == 400


async def test_lines_that_cannot_be_written_are_told_and_the_agent_goes_on(tmp_path: Path) -> None:
    async with Gateway(ScriptedModel([Step(text="ok")], match="rule")) as live, client(live) as http:
        with pytest.raises(RecordingError, match="ENOENT"):
            await live.begin("r1", "a", tmp_path / "missing" / "gateway.jsonl")
    async with Gateway(ScriptedModel([Step(text="ok")], match="rule")) as live, client(live) as http:
        await live.begin("r1", "a", "/dev/full")
        assert text_of(await ask(http, body())) == "ok"
        with pytest.raises(RecordingError, match="ENOSPC"):
            await live.idle()


async def test_a_cache_rule_of_ones_own_is_found_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_rules.py").write_text(
        "def every_64(prompt):\n    return range(64, prompt.n_tokens + 1, 64)\n"
        "def broken(prompt):\n    return [10**9]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    model = ScriptedModel([Step(text="ok")], match="rule", cache=PromptCache(rule="my_rules:every_64"))
    async with Gateway(model) as live, client(live) as http:
        for _ in range(2):
            await ask(http, body(system="x" * 1000))
        await live.sync()
        total = live.requests[0]["input_total_tokens"]
        assert live.requests[1]["cache_read_tokens"] == total // 64 * 64 > 0
    with pytest.raises(ConfigError, match="my_rules"):
        await Gateway(ScriptedModel([Step()], cache=PromptCache(rule="my_rules:absent"))).start()
    async with (
        Gateway(ScriptedModel([Step()], cache=PromptCache(rule="my_rules:broken"))) as live,
        client(live) as http,
    ):
        reply = await http.post("/chat/completions", json=body())
        await live.sync()
        assert reply.status_code == 400 and "gateway_error" in reply.text
        assert "gave the boundary 1000000000" in live.requests[0]["reason"]
        await live.sync()
        assert live.requests[0]["reason"].startswith("gateway_error")


async def test_one_setting_is_entered_once_and_started_often() -> None:
    gateway = Gateway(ScriptedModel([Step(text="ok")], match="rule"))
    async with gateway as live:
        with pytest.raises(GatewayError, match=r"gateway\.start"):
            await gateway.__aenter__()
        other = await gateway.start()
        assert other.base_url() != live.base_url() and other.token != live.token
        await other.close()
    async with gateway as again, client(again) as http:
        assert text_of(await ask(http, body())) == "ok"


async def test_a_gateway_that_is_gone_says_so() -> None:
    live = await Gateway(ScriptedModel([Step(text="ok")])).start()
    os.kill(live.pid, 9)
    with pytest.raises(GatewayError, match="gone"):
        await live.idle()
    await live.close()
    await live.close()


async def test_closing_ends_what_is_open_and_keeps_what_was_recorded() -> None:
    model = ScriptedModel([Step(text="abcd" * 50, tokens_per_s=5)])
    live = await Gateway(model, price=Price(3, 15)).start()
    async with client(live) as http, http.stream("POST", "/chat/completions", json=body()) as reply:
        parts = reply.aiter_raw()
        await anext(parts)
        await live.close()
        with pytest.raises(httpx.TransportError):
            [part async for part in parts]
    assert live.requests[0]["reason"] == "gateway_closed"
    assert live.ledger.uncertain == 1 and live.ledger.charged_usd == live.ledger.uncertain_usd > 0
    assert not live.requests[0]["terminal_seen"]
    assert not Path(f"/proc/{live.pid}").exists()
