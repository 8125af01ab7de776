"""Faults of the scripted model as an agent meets them, and what the gateway writes about them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from agentlab import Gateway, ScriptedModel, Step
from agentlab.gateway import Fault
from agentlab.gateway.live import Live

BODY = {
    "model": "m",
    "stream": True,
    "stream_options": {"include_usage": True},
    "messages": [{"role": "user", "content": "hi"}],
    "tools": [{"type": "function", "function": {"name": "read"}}],
}
TEXT = "abcd" * 6


@contextlib.asynccontextmanager
async def gateway(*faults: Fault) -> AsyncIterator[tuple[Live, httpx.AsyncClient]]:
    steps = [Step(text=TEXT, tokens_per_s=500, fault=fault) for fault in faults]
    async with Gateway(ScriptedModel(steps)) as live:
        headers = {"authorization": f"Bearer {live.token}", "x-session-id": "s"}
        async with httpx.AsyncClient(base_url=live.base_url(), headers=headers, timeout=10) as http:
            yield live, http


async def post(http: httpx.AsyncClient, **more: object) -> httpx.Response:
    return await http.post("/chat/completions", json={**BODY, **more})


async def last(live: Live) -> dict[str, Any]:
    await live.sync()
    return live.requests[-1]


async def test_a_status_comes_as_often_as_said_and_the_repeat_succeeds() -> None:
    async with gateway(Fault("status", code=429, retry_after_s=1.5, times=2)) as (live, http):
        replies = [await post(http) for _ in range(3)]
        await live.sync()
        requests = live.requests
    assert [reply.status_code for reply in replies] == [429, 429, 200]
    assert replies[0].headers["retry-after"] == "1.5"
    assert replies[0].json()["error"]["type"] == "rate_limit_error"
    assert [r["status"] for r in requests] == [429, 429, 200]
    assert [r.get("fault") for r in requests] == ["status", "status", None]
    assert [r.get("retry_of") for r in requests] == [None, 1, 2]
    assert [r.get("reason") for r in requests] == ["no_usage", "no_usage", None]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("kind", ["cut", "garbage", "error"])
async def test_a_reply_that_breaks_under_http_200(
    kind: Literal["cut", "garbage", "error"], stream: bool
) -> None:
    async with gateway(Fault(kind, after=2, code=529)) as (live, http):
        broken, whole = await post(http, stream=stream), await post(http, stream=stream)
        await live.sync()
        first, second = live.requests
    assert broken.status_code == 200
    assert "[DONE]" not in broken.text and '"stop"' not in broken.text
    if kind == "error":
        error = json.loads(broken.text.rpartition("data: ")[2])["error"]
        assert error["type"] == "server_error" and error.get("code") in (529, None)
    else:
        with pytest.raises(ValueError):
            json.loads(broken.text.rpartition("data: ")[2] if kind == "garbage" else broken.text)
    assert ("[DONE]" if stream else '"stop"') in whole.text
    assert (first["fault"], first["terminal_seen"], first["reason"]) == (kind, False, "no_usage")
    assert first["n_chunks"] == (2 if stream else 0)
    assert "output_tokens" not in first and second["output_tokens"] == 6
    assert "fault" not in second and second["terminal_seen"]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_reset_is_a_reset(stream: bool) -> None:
    async with gateway(Fault("reset", after=2)) as (live, http):
        with pytest.raises(httpx.ReadError):
            await post(http, stream=stream)
        assert (await last(live))["fault"] == "reset"
        assert (await post(http, stream=stream)).status_code == 200


@pytest.mark.parametrize("after", [0, 2])
async def test_a_hang_lasts_until_the_agent_goes(after: int) -> None:
    async with gateway(Fault("hang", after=after)) as (live, http):
        with pytest.raises(httpx.ReadTimeout):
            await http.post("/chat/completions", json=BODY, timeout=0.4)
        deadline = time.monotonic() + 5
        while not live.requests and time.monotonic() < deadline:
            await live.sync()
            await asyncio.sleep(0.01)
        request = live.requests[0]
    assert (request["fault"], request["n_chunks"], request["reason"]) == ("hang", after, "no_usage")
    assert request["t_end"] - request["t_begin"] > 0.3e9


async def test_an_agent_that_goes_away_leaves_unknown_usage() -> None:
    async with Gateway(ScriptedModel([Step(text="abcd" * 100, tokens_per_s=50)])) as live:
        headers = {"authorization": f"Bearer {live.token}"}
        async with httpx.AsyncClient(base_url=live.base_url(), headers=headers) as http:
            async with http.stream("POST", "/chat/completions", json=BODY) as reply:
                async for part in reply.aiter_raw():
                    if b"abcd" in part:
                        break
            deadline = time.monotonic() + 5
            while not live.requests and time.monotonic() < deadline:
                await asyncio.sleep(0.01)
            request = live.requests[0]
    assert (request["fault"], request["reason"]) == ("client_gone", "no_usage")
    assert not request["terminal_seen"] and 1 <= request["n_chunks"] < 100
    assert not [key for key in request if key.endswith("_tokens")]


async def test_past_its_end_the_script_says_so() -> None:
    async with gateway(Fault("cut")) as (live, http):
        await post(http)
        reply = await post(http, messages=[{"role": "user", "content": "more"}], stream=False)
        side = await post(http, tools=[])
        await live.sync()
        requests = live.requests
    assert reply.json()["choices"][0]["message"]["content"] == "The script has ended."
    assert [r.get("reason") for r in requests[1:]] == ["script_ended", None]
    assert requests[2]["n_tools"] == 0 and side.status_code == 200


OWNER = """
import asyncio, sys
from agentlab import Gateway, ScriptedModel, Step
async def main():
    live = await Gateway(ScriptedModel([Step(text="x")])).start()
    print(live.pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM])
async def test_the_process_ends_with_its_owner(sig: signal.Signals) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, stdout=asyncio.subprocess.PIPE, env=dict(os.environ)
    )
    assert owner.stdout is not None
    pid = int(await asyncio.wait_for(owner.stdout.readline(), 30))
    owner.send_signal(sig)
    await owner.wait()
    deadline = time.monotonic() + 5
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()


async def test_the_process_alone_ends_at_the_end_of_its_stdin() -> None:
    settings = {"gateway": Gateway(ScriptedModel([Step()])).to_dict()}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agentlab.gateway.server"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(settings).encode() + b"\n")
    ready = json.loads(await asyncio.wait_for(process.stdout.readline(), 30))
    assert ready["pid"] == process.pid and len(ready["token"]) >= 32
    process.stdin.write(b'not json\n{"op": "dance"}\n')
    answers = [json.loads(await process.stdout.readline()) for _ in range(2)]
    assert [answer["ok"] for answer in answers] == [False, False]
    start = time.monotonic()
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 5) == 0
    assert time.monotonic() - start < 2
