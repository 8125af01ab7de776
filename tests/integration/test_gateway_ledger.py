"""Money and refusals at the real gateway: on its wire, in its files, and after it was killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from agentlab import Gateway, Pin, Price, PromptCache, ScriptedModel, Step
from agentlab.errors import ConfigError, RecordingError
from agentlab.gateway import Fault, book
from agentlab.gateway.admission import Asked
from agentlab.gateway.inputs import UNSEEN
from agentlab.gateway.live import Live

D = Decimal
PRICE = Price(100, 1000, cache_write=100)  # round figures: 0.0001 USD an input token, 0.001 an output token
READ = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
BASH = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}


def body(text: str = "hi", **more: object) -> dict[str, Any]:
    return {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 200,
        "messages": [{"role": "user", "content": text}],
        "tools": [READ],  # without tools a scripted model takes it for a title
        **more,
    }


def size(data: dict[str, Any]) -> int:
    return len(httpx.Request("POST", "http://x", json=data).content)


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


@contextlib.asynccontextmanager
async def agent(live: Live, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    login = {"authorization": f"Bearer {live.token}", **headers}
    async with httpx.AsyncClient(base_url=live.base_url(), headers=login, timeout=20) as http:
        yield http


class Provider:
    """A provider on a raw socket; ``hold`` keeps its answers back after ``n_first`` chunks."""

    def __init__(self, *, usage: dict[str, Any] | None, n_first: int = 0, status: int = 200) -> None:
        self.usage, self.n_first, self.status = usage, n_first, status
        self.heard: list[dict[str, Any]] = []
        self.headers: list[bytes] = []
        self.go = asyncio.Event()
        self.go.set()
        self.url = ""
        self.tasks: set[asyncio.Task[Any] | None] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.add(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(h[15:]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length"))
            self.heard.append(json.loads(await reader.readexactly(length)))
            self.headers.append(head)
            if self.status != 200:
                writer.write(b"HTTP/1.1 %d No\r\ncontent-length: 2\r\n\r\nno" % self.status)
            else:
                kind = b"content-type: text/event-stream\r\nconnection: close\r\n\r\n"
                writer.write(b"HTTP/1.1 200 OK\r\n" + kind)
                chunk = {"choices": [{"index": 0, "delta": {"content": "x"}}]}
                for _ in range(self.n_first):
                    writer.write(b"data: %s\n\n" % json.dumps(chunk).encode())
                await writer.drain()
                await self.go.wait()
                end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
                usage = {"choices": [], "usage": self.usage}
                frames = [json.dumps(end), *([json.dumps(usage)] if self.usage else []), "[DONE]"]
                writer.write(b"".join(b"data: %s\n\n" % frame.encode() for frame in frames))
            await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def provider(**how: Any) -> AsyncIterator[Provider]:  # noqa: ANN401
    fake = Provider(**how)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield fake
    finally:
        server.close()
        fake.go.set()
        await asyncio.gather(*(task for task in fake.tasks if task is not None))


@contextlib.asynccontextmanager
async def metered(**how: Any) -> AsyncIterator[tuple[Provider, Live, httpx.AsyncClient]]:  # noqa: ANN401
    async with provider(**how) as fake, Gateway(fake.url, price=PRICE) as live, agent(live) as http:
        yield fake, live, http


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.01)


async def test_a_request_is_reserved_and_settled_to_the_last_decimal(tmp_path: Path) -> None:
    live = await Gateway(ScriptedModel([Step(text="abcd" * 5)]), price=PRICE, budget_usd=1).start(tmp_path)
    async with agent(live) as http:
        assert (await http.post("/chat/completions", json=body())).status_code == 200
        await live.sync()
        request, state = live.requests[0], live.ledger
    tokens = request["input_total_tokens"]
    charge = D(tokens) * D("0.0001") + 5 * D("0.001")
    assert request["measured_usd"] == request["charged_usd"] == format(charge, "f")
    assert request["committed_usd"] == format(charge, "f")
    bound = (size(body()) + UNSEEN) * D("0.0001") + D("0.2")
    assert D(request["reserved_usd"]) == bound and request["bound"] == "hard"
    assert (request["output_cap"], request["output_cap_tokens"]) == ("agent", 200)
    assert state.charged_usd == charge and state.reserved_usd == 0 and state.uncertain == 0
    assert state.left_usd == 1 - charge and state.halted is None and state.ending is None
    opened, reserved, settled = rows(tmp_path / "ledger.jsonl")
    assert [row["kind"] for row in (opened, reserved, settled)] == ["opened", "reserved", "settled"]
    assert Price.from_dict(opened["price"]) == PRICE and opened["budget_usd"] == "1"
    assert D(reserved["reserved_usd"]) == bound and D(settled["charged_usd"]) == charge
    assert "hi" not in (tmp_path / "ledger.jsonl").read_text().split()
    await live.close()
    assert live.ledger == state


async def test_a_calibrated_bound_counts_what_was_counted_before_and_the_rest_by_bytes(
    tmp_path: Path,
) -> None:
    text = "some words that are long enough to make a difference " * 40
    longer = body(text)
    longer["messages"] += [{"role": "assistant", "content": "a"}, {"role": "user", "content": text[:50]}]
    model = ScriptedModel([Step(text="a"), Step(text="b"), Step(text="c")])
    for bound in ("calibrated", "hard"):
        (tmp_path / bound).mkdir()
        live = await Gateway(model, price=PRICE, bound=bound).start(tmp_path / bound)
        async with agent(live, **{"x-session-id": "s"}) as http:
            for asked in (body(text), longer, body(text, model="other")):
                await http.post("/chat/completions", json=asked)
        await live.close()
        first, second, other = live.requests
        assert (first["bound"], second["bound"], other["bound"]) == ("hard", bound, "hard")
        hard = [size(body(text)), size(longer)]
        inputs = [(D(r["reserved_usd"]) - D("0.2")) / D("0.0001") - UNSEEN for r in (first, second)]
        assert inputs[0] == hard[0]
        rest = inputs[1] - first["input_total_tokens"]
        assert inputs[1] == hard[1] if bound == "hard" else 100 < rest < 300  # its own keys are in it
        assert D(second["measured_usd"]) < D(second["reserved_usd"])


@pytest.mark.parametrize(("first", "second"), [("1h", "5m"), ("5m", "5m"), ("1h", "1h")])
async def test_each_write_to_a_cache_is_charged_by_its_lifetime(first: str, second: str) -> None:
    def said(text: str, ttl: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral", "ttl": ttl}}]

    model = ScriptedModel(
        [Step(text="abcd" * 5)], match="rule", side=None, cache=PromptCache(rule="anthropic")
    )
    price = Price(3, 15, "0.3", "3.75", 6)
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 50, "system": said("abcd" * 2000, first)}
    asked["messages"] = [{"role": "user", "content": said("efgh" * 1500, second)}]
    async with Gateway(model, price=price, budget_usd=1) as live, agent(live) as http:
        for _ in range(2):
            reply = await http.post(live.base_url("messages") + "/v1/messages", json=asked)
            assert reply.status_code == 200
        await live.sync()
        wrote, read = live.requests
    hour = {"1h5m": range(2000, 2100), "5m5m": range(1), "1h1h": range(3500, 3600)}[first + second]
    counts = wrote["usage"]["cache_creation"]
    assert counts["ephemeral_1h_input_tokens"] in hour and 3500 < sum(counts.values()) < 3600
    fresh, output = wrote["usage"]["input_tokens"], 5
    dear = counts["ephemeral_5m_input_tokens"] * D("3.75") + counts["ephemeral_1h_input_tokens"] * 6
    assert D(wrote["measured_usd"]) == (fresh * 3 + dear + output * 15) / 10**6
    cheap = sum(counts.values()) * D("0.3")
    assert D(read["measured_usd"]) == (fresh * 3 + cheap + output * 15) / 10**6


async def test_eight_at_once_never_pass_the_budget() -> None:
    """Each may cost at most 0.30; only three fit into 1.00, and only three reach the provider."""
    usage = {"prompt_tokens": 1, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}
    async with provider(usage=usage) as fake:
        fake.go.clear()
        cap = 300 - 1
        price = Price("0.001", 1000)
        asked = body(max_tokens=cap)
        async with Gateway(fake.url, price=price, budget_usd="1.00") as live, agent(live) as http:
            calls = [asyncio.create_task(http.post("/chat/completions", json=asked)) for _ in range(8)]
            await until(lambda: sum(call.done() for call in calls) == 5 and len(fake.heard) == 3)
            assert D("0.89") < live.ledger.reserved_usd <= 1
            assert live.ledger.refused == {"budget": 5} and live.ledger.ending == "budget"
            fake.go.set()
            replies = await asyncio.gather(*calls)
            refused = [reply for reply in replies if reply.status_code == 400]
            assert len(refused) == 5 and len(fake.heard) == 3
            error = refused[0].json()["error"]
            assert error["type"] == "invalid_request_error" and "budget" in error["message"]
            await live.sync()
            state = live.ledger
            assert state.charged_usd is not None and 0 < state.charged_usd < D("0.0001")
            assert state.reserved_usd == 0 and state.uncertain == 0 and state.halted is None
            assert [r.get("reason") for r in live.requests].count("budget") == 5


async def test_a_stream_that_the_agent_leaves_keeps_its_reservation() -> None:
    async with provider(usage=None, n_first=5) as fake:
        fake.go.clear()
        async with Gateway(fake.url, price=PRICE, budget_usd=5) as live, agent(live) as http:
            async with http.stream("POST", "/chat/completions", json=body()) as reply:
                text = b""
                async for part in reply.aiter_raw():
                    text += part
                    if text.count(b"data: ") == 5:
                        break
            await until(lambda: live.requests)
            request, state = live.requests[0], live.ledger
        assert request["n_chunks"] == 5 and request["fault"] == "client_gone"
        assert request["uncertain"] and "measured_usd" not in request and "usage" not in request
        assert request["charged_usd"] == request["reserved_usd"]
        assert state.uncertain == 1 and state.charged_usd == D(request["reserved_usd"])
        assert "1 uncertain" in str(state) and state.halted is None


@pytest.mark.parametrize(
    ("step", "uncertain"),
    [
        (Step(text="a", usage=None), True),
        (Step(text="a", usage={"prompt_tokens": 3, "completion_tokens": -1}), True),
        (Step(text="aaaaaaaaaa", fault=Fault("cut", after=1)), True),
        (Step(text="a", fault=Fault("status", code=500)), True),
        (Step(text="a", fault=Fault("status", code=502)), True),
        (Step(text="a", fault=Fault("status", code=429)), False),
        (Step(text="a", fault=Fault("status", code=503)), False),
        (Step(text="a", fault=Fault("status", code=529)), False),
    ],
)
async def test_what_a_request_cost_is_known_or_kept(step: Step, uncertain: bool) -> None:
    async with Gateway(ScriptedModel([step]), price=PRICE, budget_usd=1) as live, agent(live) as http:
        with contextlib.suppress(httpx.HTTPError):
            await http.post("/chat/completions", json=body())
        await live.sync()
        request, state = live.requests[0], live.ledger
    assert state.uncertain == int(uncertain) and state.halted is None and state.reserved_usd == 0
    assert D(request["charged_usd"]) == (D(request["reserved_usd"]) if uncertain else 0)


async def test_an_input_of_no_tokens_is_not_believed() -> None:
    async with metered(usage={"prompt_tokens": 0, "completion_tokens": 0}) as (_, live, http):
        await http.post("/chat/completions", json=body())
        await live.sync()
        request = live.requests[0]
    assert request["uncertain"] is True and request["charged_usd"] == request["reserved_usd"]


async def test_an_empty_account_halts_and_a_charge_above_its_reservation_too() -> None:
    async with metered(usage=None, status=402) as (fake, live, http):
        await live.begin("r1", "a", "/dev/null")
        codes = [(await http.post("/chat/completions", json=body())).status_code for _ in range(3)]
        await live.sync()
        assert codes == [402, 400, 400] and len(fake.heard) == 1
        assert live.ledger.halted == live.ledger.ending == "balance" and live.ledger.charged_usd == 0
        assert live.endings == {"r1": "balance"} and live.ledger.refused == {"balance": 2}
    usage = {"prompt_tokens": 10, "completion_tokens": 10**6, "total_tokens": 10**6 + 10}
    async with metered(usage=usage) as (fake, live, http):
        codes = [(await http.post("/chat/completions", json=body())).status_code for _ in range(2)]
        await live.sync()
        assert codes == [200, 400] and len(fake.heard) == 1
        assert live.ledger.halted == "error" and live.ledger.charged_usd == D("1000.001")
        assert live.ledger.refused == {"ledger": 1}


async def test_caps_count_per_run_and_not_between_runs(tmp_path: Path) -> None:
    model = ScriptedModel([Step(text="ok")], match="rule")
    async with Gateway(model, max_requests=2, max_total_requests=6) as live, agent(live) as http:

        async def ask() -> int:
            return (await http.post("/chat/completions", json=body(stream=False))).status_code

        await live.idle()
        assert [await ask() for _ in range(3)] == [200] * 3  # warm-up: no run to limit
        await live.begin("r1", "a", tmp_path / "1.jsonl")
        assert [await ask() for _ in range(3)] == [200, 200, 400]
        await live.begin("r2", "a", tmp_path / "2.jsonl")
        assert [await ask() for _ in range(2)] == [200, 400]  # six in all
        await live.idle()
        assert live.endings == {"r1": "limit", "r2": "limit"}
        assert live.ledger.charged_usd is None and live.ledger.refused == {"limit": 2}
    ends = [row for row in rows(tmp_path / "1.jsonl") if row["kind"] == "request.end"]
    assert [end.get("reason") for end in ends] == [None, None, "limit"]
    assert "charged_usd" not in ends[0] and ends[2]["status"] == 400


async def test_a_run_has_its_own_clock(tmp_path: Path) -> None:
    model = ScriptedModel([Step(text="ok")], match="rule")
    async with Gateway(model, max_seconds=0.4) as live, agent(live) as http:
        await asyncio.sleep(0.5)
        for name, wait, code in (("r1", 0, 200), ("r2", 0.5, 400)):
            await live.begin(name, "a", tmp_path / f"{name}.jsonl")
            await asyncio.sleep(wait)
            assert (await http.post("/chat/completions", json=body(stream=False))).status_code == code


async def test_pinned_tools_are_the_only_ones_and_a_title_passes() -> None:
    model = ScriptedModel([Step(text="ok")], match="rule")
    gateway = Gateway(model, tools=["read", "bash"], price=PRICE, budget_usd=9)
    async with gateway as live, agent(live) as http:
        replies = [
            await http.post("/chat/completions", json=body(tools=tools, stream=False))
            for tools in ([BASH, READ], [READ], [BASH, READ, READ], [])
        ]
        assert [reply.status_code for reply in replies] == [200, 400, 400, 200]
        await live.sync()
        assert [r.get("reason") for r in live.requests] == [None, "tools", "tools", None]
        assert live.ledger.refused == {"tools": 2} and live.ledger.n_settled == 2
        assert "reserved_usd" not in live.requests[1]


ASKED: list[Asked] = []


def two_stages(asked: Asked) -> bool | str:
    """Admit two requests with tools, refuse a third with words, and fail at "boom"."""
    if asked.max_output_tokens == 13:
        raise RuntimeError("secret-of-the-function")
    if asked.max_output_tokens == 14:
        sys.exit("secret-of-the-function")
    if asked.n_before >= 2:
        return "the research stage is over"
    return asked.tool_names == ("read",)


async def test_a_function_admits_and_its_refusal_spends_nothing() -> None:
    model = ScriptedModel([Step(text="ok")], match="rule")
    gateway = Gateway(model, admit=two_stages, price=PRICE, budget_usd=9)
    async with gateway as live, agent(live) as http:
        asks = [body(tools=[]), body(), body(max_tokens=13), body(max_tokens=14), body(), body()]
        replies = [await http.post("/chat/completions", json=ask) for ask in asks]
        assert [reply.status_code for reply in replies] == [400, 200, 400, 400, 200, 400]
        assert "the research stage is over" in replies[5].text
        assert "RuntimeError" in replies[2].text and "SystemExit" in replies[3].text
        assert not any("secret" in reply.text for reply in replies)
        await live.sync()
        assert live.ledger.refused == {"admission": 4} and live.ledger.n_settled == 2
        assert live.ledger.halted is None
    with pytest.raises(ConfigError, match="cannot be imported"):
        await Gateway(model, admit="json:absent").start()


async def test_a_model_without_a_price_is_refused() -> None:
    model = ScriptedModel([Step(text="ok")], match="rule")
    async with Gateway(model, price={"m": PRICE}) as live, agent(live) as http:
        replies = [await http.post("/chat/completions", json=body(model=name)) for name in ("m", "n")]
        await live.sync()
        assert [reply.status_code for reply in replies] == [200, 400]
        assert "no price for the model 'n': add it to Gateway(price=...)" in replies[1].text
        assert live.ledger.refused == {"price": 1}


async def test_a_missing_output_cap_is_written_into_the_request() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 1}
    async with provider(usage=usage) as fake:
        gateway = Gateway(fake.url, price=PRICE, budget_usd=9, max_output_tokens=500)
        async with gateway as live, agent(live) as http:
            asked = body()
            del asked["max_tokens"], asked["stream_options"]
            assert (await http.post("/chat/completions", json=asked)).status_code == 200
            await live.sync()
            request = live.requests[0]
    sent = fake.heard[0]
    assert 500 in (sent.get("max_tokens"), sent.get("max_completion_tokens"))
    assert sent["stream_options"] == {"include_usage": True}  # both were added
    assert (request["output_cap"], request["output_cap_tokens"]) == ("injected", 500)
    assert "max_output_tokens" not in request  # what the agent itself said
    assert D(request["reserved_usd"]) > D("0.5")


async def test_every_agent_says_the_same_in_the_pinned_mode() -> None:
    deepseek = {"prompt_tokens": 10, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}
    tool = {"name": "read", "description": "Read.", "parameters": {"type": "object"}}
    pin = Pin(
        system="Use the supplied tools.", tools=[tool], sampling={"temperature": 0}, empty_reasoning=True
    )
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]}
    history = [
        {"role": "system", "content": "I am another agent."},
        {"role": "user", "content": "hi"},
        called,
    ]
    async with contextlib.AsyncExitStack() as stack:
        fake = await stack.enter_async_context(provider(usage=deepseek))
        live = await stack.enter_async_context(Gateway(fake.url, mode="pinned", pin=pin, price=PRICE))
        async with agent(live) as http:
            texts = [
                (await http.post("/chat/completions", json=ask)).text
                for ask in (
                    body(messages=history, temperature=1, top_p=0.2, seed=4),
                    body(messages=[{"role": "user", "content": "hi"}, called]),
                    body(
                        messages=[{"role": "system", "content": "Title?"}, history[1]],
                        temperature=1,
                        tools=[],
                    ),
                    body(tools=[BASH]),
                )
            ]
            await live.sync()
            requests = live.requests
    one, two, title = fake.heard
    assert one == two
    assert one["messages"] == [
        {"role": "system", "content": "Use the supplied tools."},
        {"role": "user", "content": "hi"},
        {**called, "reasoning_content": ""},
    ]
    assert one["tools"] == [{"type": "function", "function": tool}] and one["temperature"] == 0
    assert "top_p" not in one and "seed" not in one
    assert title["messages"][0]["content"] == "Title?" and title["temperature"] == 0
    assert requests[0]["segments"] == requests[1]["segments"]
    assert [r.get("reason") for r in requests][3] == "tools"
    assert '"prompt_tokens_details":{"cached_tokens":4}' in texts[0] and "prompt_cache_hit" not in texts[0]
    assert texts[0].endswith("data: [DONE]\n\n")


async def test_a_killed_gateway_leaves_a_ledger_that_is_not_below_the_bill(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}}
    async with provider(usage=usage, n_first=3) as fake:
        gateway = Gateway(fake.url, price=PRICE, budget_usd=1)
        live = await gateway.start(tmp_path)
        async with agent(live) as http:
            await http.post("/chat/completions", json=body())
            await live.sync()
            settled = live.ledger.charged_usd
            fake.go.clear()
            call = asyncio.create_task(http.post("/chat/completions", json=body()))
            await until(lambda: len(fake.heard) == 2)
            held = live.ledger.reserved_usd
            os.kill(live.pid, signal.SIGKILL)
            with pytest.raises(httpx.HTTPError):
                await call
        fake.go.set()
        await live.close()
        assert live.ledger.uncertain == 1 and live.ledger.reserved_usd == 0
        again = await gateway.start(tmp_path)
        assert settled == D("0.002") and held > D("0.2")
        assert again.ledger.charged_usd == settled + held and again.ledger.uncertain == 1
        async with agent(again) as http:
            big = body(max_tokens=900)
            assert (await http.post("/chat/completions", json=big)).status_code == 400  # 0.9 + what was kept
            assert (await http.post("/chat/completions", json=body())).status_code == 200
        await again.close()
        assert book.read(tmp_path / "ledger.jsonl").committed() == settled * 2 + held


async def test_a_ledger_that_is_none_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "ledger.jsonl").write_text("[]\n")
    with pytest.raises(RecordingError, match="none of a ledger"):
        await Gateway(ScriptedModel([Step(text="a")]), price=PRICE).start(tmp_path)


async def test_a_ledger_that_cannot_be_written_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "ledger.jsonl").mkdir()
    with pytest.raises(RecordingError, match="cannot be opened"):
        await Gateway(ScriptedModel([Step(text="a")]), price=PRICE).start(tmp_path)


async def test_a_ledger_that_cannot_be_written_halts_and_says_so(tmp_path: Path) -> None:
    """Its file may not grow any more, so that not even the halt stands there."""
    model = ScriptedModel([Step(text="ok")], match="rule")
    live = await Gateway(model, price=PRICE, budget_usd=9).start(tmp_path)
    async with agent(live) as http:
        await live.begin("r1", "a", "/dev/null")
        assert (await http.post("/chat/completions", json=body())).status_code == 200
        size = (tmp_path / "ledger.jsonl").stat().st_size
        resource.prlimit(live.pid, resource.RLIMIT_FSIZE, (size, size))
        for _ in range(2):
            reply = await http.post("/chat/completions", json=body())
            assert reply.status_code == 400 and "refused by the gateway: ledger" in reply.text
        await live.sync()
        assert live.ledger.halted == live.ledger.ending == "error" and live.endings == {"r1": "error"}
        assert live.ledger.reserved_usd == 0 and live.ledger.n_settled == 1
    await live.close()
    assert live.ledger.halted == "error"


async def test_secrets_stay_where_they_were_put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Key, token, a header and texts of requests: in no file, answer, error or environment of the process."""
    monkeypatch.setenv("LAB_KEY", "planted-key-0123456789")
    monkeypatch.setenv("OTHER_SECRET", "planted-other-0123456789")
    usage = {"prompt_tokens": 10, "completion_tokens": 1, "note": "planted-usage-0123456789"}
    async with provider(usage=usage) as fake:
        gateway = Gateway(
            fake.url, key_env="LAB_KEY", price=PRICE, budget_usd=1, max_requests=4, tools=["read"]
        )
        live = await gateway.start(tmp_path)
        async with agent(live, cookie="planted-cookie-0123456789") as http:
            asks: list[dict[str, Any]] = [
                body("planted-text-0123456789"),
                body("planted-text-0123456789", tools=[BASH]),
                body("planted-text-0123456789", max_tokens=10**7),
                {"planted-text-0123456789": 1},
            ]
            answers = [(await http.post("/chat/completions", json=ask)).text for ask in asks]
        environment = psutil.Process(live.pid).environ()
        told = [repr(live), repr(gateway), json.dumps(gateway.to_dict()), str(live.ledger), *answers[1:]]
        await live.close()
    assert b"planted-key-0123456789" in fake.headers[0]  # it did arrive where it belongs
    assert b"planted-cookie" not in fake.headers[0]
    told += [file.read_text() for file in tmp_path.rglob("*") if file.is_file()]
    told += [json.dumps(environment)]
    for text in told:
        assert "planted" not in text.replace("LAB_KEY", "") and live.token not in text
