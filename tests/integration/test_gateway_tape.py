"""Tapes: what was recorded is played through the same code, byte for byte and row for row."""

from __future__ import annotations

import dataclasses
import os
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from agentlab import Fault, Gateway, Price, ScriptedModel, Step, Tape
from agentlab.drivers.reference.context import Item, User
from agentlab.drivers.reference.wires import Wire
from agentlab.errors import ConfigError
from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.live import Live

Kind = Literal["status", "cut", "reset", "garbage", "error"]
SECRET = "sk-never-on-a-tape-0123456789"
CALLS = [{"name": "read", "arguments": {"path": "ä.txt"}}, {"name": "ls", "arguments": {}}]
STEPS = [
    Step(reasoning="Let me see.", text="I öffne it.", tools=CALLS),
    Step(text="", tools=[CALLS[1]]),
    Step(text="Done. " * 20),
]
# What differs from one life of a gateway to the next.
_OWN = ("t_begin", "t_first", "t_end", "session", "content")


@dataclasses.dataclass
class Heard:
    status: int | None
    data: bytes
    whole: bool


async def ask(live: Live, text: str = "hi", *, dialect: str = "chat", **more: Any) -> Heard:  # noqa: ANN401
    wire = Wire(dialect=dialect, model="m", system="s", max_output_tokens=99)
    items: Sequence[Item] = [User(text)]
    url = live.base_url(dialect) + wire.path
    body = httpx.Response(200, content=wire.body(items)).json() | more
    headers = {**DIALECTS[dialect].login(live.token), "cookie": SECRET}
    heard = Heard(None, b"", whole=False)
    async with httpx.AsyncClient(trust_env=False, timeout=5) as http:
        try:
            async with http.stream("POST", url, json=body, headers=headers) as reply:
                heard.status = reply.status_code
                async for part in reply.aiter_raw():
                    heard.data += part
                heard.whole = True
        except (httpx.TransportError, httpx.TimeoutException):
            pass
    await live.sync()  # the lines of what an agent has seen the end of are written
    return heard


def rows(live: Live) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in _OWN} for row in live.requests]


async def recorded(
    folder: Path, steps: list[Step], asks: list[dict[str, Any]]
) -> tuple[list[Heard], list[Any]]:
    live = await Gateway(ScriptedModel(steps), price=Price(3, 15)).start(folder, keep="content")
    try:
        heard = [await ask(live, **one) for one in asks]
    finally:
        await live.close()
    return heard, rows(live)


async def played(folder: Path, asks: list[dict[str, Any]]) -> tuple[list[Heard], list[Any]]:
    async with Gateway(Tape(folder), price=Price(3, 15)) as live:
        heard = [await ask(live, **one) for one in asks]
    return heard, rows(live)


async def test_replies_of_all_wires_are_played_byte_for_byte(tmp_path: Path) -> None:
    asks: list[dict[str, Any]] = [
        {"dialect": dialect, "text": text} for dialect in DIALECTS for text in ("a", "b", "c")
    ]
    first = await recorded(tmp_path, STEPS * 4, asks)
    assert [heard.status for heard in first[0]] == [200] * 12
    assert await played(tmp_path, asks) == first
    assert [row["reason"] for row in first[1] if "reason" in row] == []
    assert all(float(row["charged_usd"]) > 0 for row in first[1])


async def test_a_reply_that_did_not_stream(tmp_path: Path) -> None:
    asks: list[dict[str, Any]] = [{"text": "a", "stream": False, "stream_options": None}]
    first = await recorded(tmp_path, STEPS, asks)
    assert first[1][0]["n_chunks"] > 0
    assert await played(tmp_path, asks) == first


async def test_faults_are_played_as_they_were(tmp_path: Path) -> None:
    kinds: list[tuple[Kind, str]] = [
        ("status", "messages"),
        ("cut", "chat"),
        ("reset", "messages"),
        ("garbage", "chat"),
        ("error", "gemini"),
    ]
    faults = [
        Fault(kind, code=429, retry_after_s=1) if kind == "status" else Fault(kind, after=2)
        for kind, _ in kinds
    ]
    asks: list[dict[str, Any]] = [{"dialect": dialect, "text": kind} for kind, dialect in kinds]
    first = await recorded(tmp_path, [Step(text="Some words.", fault=fault) for fault in faults], asks)
    assert [row["fault"] for row in first[1]] == [kind for kind, _ in kinds]
    again = await played(tmp_path, asks)
    assert again[1] == first[1]
    for (kind, _), one, other in zip(kinds, first[0], again[0], strict=True):
        assert (one.status, one.whole) == (other.status, other.whole)
        if kind != "reset":  # how much of it the kernel still hands out is chance
            assert one.data == other.data


async def test_a_dead_provider_is_played_as_one(tmp_path: Path) -> None:
    live = await Gateway("http://127.0.0.1:9/v1", price=Price(3, 15)).start(tmp_path, keep="content")
    try:
        heard = [await ask(live)]
    finally:
        await live.close()
    (told,) = rows(live)
    assert told["refused"] and told["reason"] == "upstream_unreachable: connection refused"
    assert await played(tmp_path, [{}]) == (heard, [told])


async def test_a_prompt_gets_its_own_reply_whatever_the_order(tmp_path: Path) -> None:
    asks = [{"text": text} for text in ("a", "b", "c")]
    heard, _ = await recorded(tmp_path, STEPS, asks)
    again, told = await played(tmp_path, [asks[2], asks[0], asks[1]])
    assert [one.data for one in again] == [heard[2].data, heard[0].data, heard[1].data]
    assert not any("reason" in row for row in told)


async def test_another_prompt_gets_the_next_reply_and_says_so(tmp_path: Path) -> None:
    asks = [{"text": text} for text in ("a", "b", "c")]
    heard, _ = await recorded(tmp_path, STEPS, asks)
    again, told = await played(tmp_path, [{"text": "x"}, {"text": "c"}, {"text": "y"}, {"text": "z"}])
    assert [one.data for one in again[:3]] == [heard[0].data, heard[2].data, heard[1].data]
    assert [row.get("reason") for row in told] == ["tape_mismatch", None, "tape_mismatch", "tape_end"]
    assert (again[3].status, b"tape_end" in again[3].data, told[3]["charged_usd"]) == (400, True, "0")


async def test_each_run_gets_a_take(tmp_path: Path) -> None:
    live = await Gateway(ScriptedModel([Step(text="one"), Step(text="two")])).start(tmp_path, keep="content")
    try:
        for number, (arm, dialect) in enumerate([("a", "chat"), ("b", "messages"), ("a", "chat")]):
            folder = tmp_path / "runs" / f"{number}"
            folder.mkdir(parents=True)
            await live.begin(f"r{number}", arm, folder / "gateway.jsonl")
            await ask(live, "same", dialect=dialect)
            await ask(live, f"turn {number}", dialect=dialect)
    finally:
        await live.close()
    tape = Tape(tmp_path)
    assert [(take.run_id, take.arm, len(take.replies)) for take in tape.takes()] == [
        ("r0", "a", 2),
        ("r1", "b", 2),
        ("r2", "a", 2),
    ]
    async with Gateway(tape) as again:
        reasons: list[Any] = []
        order = [("a", "chat", 0), ("a", "chat", 2), ("c", "messages", 1), ("a", "chat", 0)]
        for number, (arm, dialect, wanted) in enumerate(order):
            await again.begin(f"p{number}", arm, tmp_path / f"played-{number}.jsonl")
            assert (await ask(again, f"turn {wanted}", dialect=dialect)).status == 200
            reasons.append(again.requests[-1].get("reason"))
        assert reasons == [None] * 4
        assert (await ask(again, "x", dialect="gemini")).status == 400


async def test_original_timing_and_none(tmp_path: Path) -> None:
    steps = [Step(text="one two three four", ttft_s=0.3, tokens_per_s=20)]
    await recorded(tmp_path, steps, [{"text": "a"}])
    took: dict[str, float] = {}
    for timing in ("none", "original"):
        live = await Gateway(Tape(tmp_path, timing=timing)).start()
        try:
            await ask(live, "a")
            (row,) = live.requests
            took[timing] = (row["t_end"] - row["t_begin"]) / 1e9
        finally:
            await live.close()
    assert took["original"] >= 0.49
    assert took["none"] < 0.25


async def test_what_hung_hangs_again(tmp_path: Path) -> None:
    steps = [Step(text="never ends", fault=Fault("hang", after=1))]
    live = await Gateway(ScriptedModel(steps)).start(tmp_path, keep="content")
    try:
        await _gone_after(live, 0.3)
    finally:
        await live.close()
    async with Gateway(Tape(tmp_path)) as again:
        began = time.monotonic()
        await _gone_after(again, 0.3)
        assert time.monotonic() - began >= 0.3
    assert [row["fault"] for row in (*live.requests, *again.requests)] == ["hang", "hang"]


async def _gone_after(live: Live, seconds: float) -> None:
    wire = Wire(dialect="chat", model="m", system="s", max_output_tokens=99)
    headers = DIALECTS["chat"].login(live.token)
    async with httpx.AsyncClient(trust_env=False, timeout=seconds) as http:
        with pytest.raises(httpx.ReadTimeout):
            await http.post(live.base_url() + wire.path, content=wire.body([User("a")]), headers=headers)


async def test_no_key_and_no_header_is_on_a_tape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through a provider: its key, the loopback tokens and the agent's headers stay where they are."""
    async with Gateway(ScriptedModel(STEPS)) as provider:
        monkeypatch.setenv("LAB_KEY", provider.token)
        live = await Gateway(provider.base_url(), key_env="LAB_KEY").start(tmp_path, keep="content")
        try:
            heard = [await ask(live, "a", stream_options={}), await ask(live, "b")]
        finally:
            await live.close()
        told = rows(live)
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b'"tape.write"' in kept
    for secret in (provider.token, live.token, SECRET):
        assert secret.encode() not in kept
    assert stat.S_IMODE(os.stat(tmp_path / "tape.jsonl").st_mode) == 0o600
    monkeypatch.delenv("LAB_KEY")
    async with Gateway(Tape(tmp_path)) as again:
        assert [await ask(again, "a", stream_options={}), await ask(again, "b")] == heard
    # The first did not ask for usage: the gateway did, and took it out of the reply again.
    assert told[0]["usage"]
    assert rows(again) == told


async def test_without_content_there_is_no_tape_and_it_says_why(tmp_path: Path) -> None:
    live = await Gateway(ScriptedModel(STEPS)).start(tmp_path)
    try:
        await ask(live)
    finally:
        await live.close()
    assert not list(tmp_path.glob("tape*"))
    with pytest.raises(ConfigError, match="there is no tape"):
        Tape(tmp_path)


async def test_the_second_gateway_of_a_folder_has_a_tape_of_its_own(tmp_path: Path) -> None:
    for text in ("a", "b"):
        await recorded(tmp_path, STEPS, [{"text": text}])
    assert [path.name for path in Tape(tmp_path).files()] == ["tape.jsonl", "tape-2.jsonl"]
    _, told = await played(tmp_path, [{"text": "a"}])
    assert told[0]["status"] == 200 and "reason" not in told[0]
