"""Wherever a provider's bytes are cut, the agent gets the same events and the evidence has the same rows."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import socket
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentlab import Gateway, Pin, Price
from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.dialects.base import CacheUse, Piece
from agentlab.wire.sse import SSEParser

PATHS = {
    "chat": "/chat/completions",
    "responses": "/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/m:streamGenerateContent?alt=sse",
}
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
PIECES = (
    Piece("reasoning", "hm — 漢字"),
    Piece("text", "a\u2028b\r\n\n"),
    Piece("text", "data: [DONE]\n\n"),
    Piece("tool", "", 0, ("c0", "read")),
    Piece("tool", '{"path":"é"}', 0),
)
USAGE = {"prompt": 9, "cache": CacheUse(2), "output": 5, "reasoning": 1}
#: Random, and new with each reply or connection.
TIMES = {"t", "t_begin", "t_end", "t_first", "emit_ns", "id", "life", "committed_usd"}


def asked(dialect: str) -> dict[str, Any]:
    said: dict[str, Any] = {"model": "m", "stream": True, "max_tokens": 50}
    messages = [{"role": "user", "content": "hi"}]
    if dialect == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    return {**said, "input": messages} if dialect == "responses" else {**said, "messages": messages}


def stream(dialect: str) -> bytes:
    wire = DIALECTS[dialect]
    request = asked(dialect) | {"stream_options": {"include_usage": True}}  # as the gateway asks for chat
    renderer = wire.renderer(wire.parse(json.dumps(request).encode()), 1)
    pieces = [p for p in PIECES if not (wire.whole_calls and p.call)]
    if wire.whole_calls:
        pieces = [p._replace(call=("c0", "read")) if p.kind == "tool" else p for p in pieces]
    usage = wire.spell_usage(**USAGE)
    spelled = [renderer.opening(usage), *map(renderer.piece, pieces)]
    return b"".join([*spelled, renderer.closing(wire.finish("stop"), usage)])


@contextlib.asynccontextmanager
async def provider(data: bytes, cuts: Sequence[Sequence[int]]) -> AsyncIterator[str]:
    """Answer each connection with the same bytes, cut at other places."""
    left = iter(cuts)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(h[15:]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length"))
        await reader.readexactly(length)
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        writer.write(HEAD)
        for start, end in itertools.pairwise([0, *next(left), len(data)]):
            writer.write(data[start:end])
            await writer.drain()
            await asyncio.sleep(0.001)  # a packet of its own
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


def without_times(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [json.dumps({k: v for k, v in row.items() if k not in TIMES}, sort_keys=True) for row in rows]


def split(data: bytes) -> list[list[int]]:
    drawn = random.Random(4)
    many = [sorted(drawn.sample(range(1, len(data)), 12)) for _ in range(4)]
    odd = [at for at in range(1, len(data)) if data[at - 1] in b"\n" or data[at] >= 0x80]
    return [[], odd, *many, list(range(1, len(data), 3))]


@pytest.mark.parametrize("mode", ["pass", "pinned"])
@pytest.mark.parametrize("dialect", sorted(PATHS))
async def test_any_split_gives_the_same_rows(tmp_path: Path, dialect: str, mode: str) -> None:
    data = stream(dialect)
    cuts = split(data)
    pinned: dict[str, Any] = {"mode": "pinned", "pin": Pin(system="s")} if mode == "pinned" else {}
    got: list[list[tuple[str, bytes]]] = []  # comments, by which a stream says that it lives, come and go
    async with provider(data, cuts) as url:
        live = await Gateway(url, price=Price(3, 15), budget_usd=5, bound="hard", **pinned).start(tmp_path)
        base = live.base_url(dialect)
        async with httpx.AsyncClient(timeout=20, trust_env=False) as http:
            for number, _ in enumerate(cuts):
                await live.begin(f"r{number}", "a", tmp_path / f"{number}.jsonl")
                login = {"authorization": f"Bearer {live.token}"}
                reply = await http.post(base + PATHS[dialect], json=asked(dialect), headers=login)
                got.append([(e.event, e.data) for e in SSEParser().feed(reply.content, 0)])
        await live.close()
    assert got == [got[0]] * len(got) and len(got[0]) >= 5
    files = [(tmp_path / f"{number}.jsonl").read_bytes() for number in range(len(cuts))]
    journals = [[json.loads(line) for line in file.splitlines()] for file in files]
    for row in itertools.chain(*journals):
        row["request"] = 1
    rows = [without_times(journal) for journal in journals]
    assert rows == [rows[0]] * len(rows)
    end = journals[0][-1]
    assert (end["status"], end["terminal_seen"], end["input_total_tokens"]) == (200, True, 9)
    assert (end["output_tokens"], end.get("fault")) == (5, None)
    assert len(rows[0]) == 2 + len([p for p in PIECES if p.text or not DIALECTS[dialect].whole_calls])
