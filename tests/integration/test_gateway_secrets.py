"""Secrets planted in every input of all wires, and in what a provider answers, are kept nowhere."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from agentlab import Gateway, Price

PATHS = {
    "chat": "/chat/completions",
    "responses": "/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/m:streamGenerateContent",
}
EVENTS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"
STATUS = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\nconnection: close\r\n"


class Plants:
    """Make a secret for each place, so that one that is found tells where it was put."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}

    def __call__(self, place: str) -> str:
        secret = f"planted-{len(self.places):03d}-4f7a"
        self.places[secret] = place
        return secret

    def found(self, text: str) -> list[str]:
        return [place for secret, place in self.places.items() if secret in text]


def asked(dialect: str, plant: Plants) -> dict[str, Any]:
    """Fill each field that holds words; the model's name is a column."""
    tool = {"name": plant("tool"), "description": plant("description")}
    said = [{"role": "user", "content": plant("text"), plant("key"): plant("value")}]
    more: dict[str, Any] = {
        "stream": True,
        "model": "m",
        "metadata": {"user_id": "u", "a": plant("metadata")},
    }
    if dialect == "chat":
        call = {"id": plant("id"), "function": {"name": plant("call"), "arguments": plant("arguments")}}
        said += [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": plant("result")}]
        return {**more, "messages": said, "tools": [{"function": tool}], "user": plant("user")}
    if dialect == "messages":
        return {**more, "system": plant("system"), "messages": said, "tools": [tool], "max_tokens": 9}
    if dialect == "responses":
        return {
            **more,
            "instructions": plant("system"),
            "input": said,
            "tools": [tool],
            "max_output_tokens": 9,
        }
    contents = [{"role": "user", "parts": [{"text": plant("text")}]}]
    return {
        "contents": contents,
        "tools": [{"functionDeclarations": [tool]}],
        "labels": {"a": plant("label")},
    }


def replies(dialect: str, plant: Plants) -> list[bytes]:
    """Spell a stream with an error in it, a redirect and a refusal."""
    frames = {
        "chat": [
            {"id": plant("id"), "choices": [{"index": 0, "delta": {"content": plant("answer")}}]},
            {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "note": plant("usage")}},
        ],
        "responses": [{"type": "response.output_text.delta", "delta": plant("answer")}],
        "messages": [
            {"type": "message_start", "message": {"usage": {"input_tokens": 3, "note": plant("usage")}}}
        ],
        "gemini": [{"candidates": [{"content": {"parts": [{"text": plant("answer")}]}}]}],
    }[dialect]
    error = {"type": "error", "error": {"type": plant("error type"), "message": plant("error message")}}
    header = b"x-request-id: " + plant("header of the reply").encode() + b"\r\n\r\n"
    stream = b"".join(b"data: %s\n\n" % json.dumps(frame).encode() for frame in [*frames, error])
    comment, body = plant("comment").encode(), json.dumps({"error": plant("error body")}).encode()
    return [
        EVENTS + header + b": " + comment + b"\n\n" + stream,
        STATUS % b"302 Found"
        + b"location: http://127.0.0.1/"
        + plant("location").encode()
        + b"\r\n"
        + header,
        STATUS % f"429 {plant('reason')}".encode() + header + body,
    ]


@contextlib.asynccontextmanager
async def provider(answers: list[bytes]) -> AsyncIterator[str]:
    left = iter(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(h[15:]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length"))
        await reader.readexactly(length)
        writer.write(next(left))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize("dialect", sorted(PATHS))
async def test_no_secret_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: str) -> None:
    plant = Plants()
    for name in ("LAB_KEY", "OTHER"):
        monkeypatch.setenv(name, plant(f"environment variable {name}"))
    answers = replies(dialect, plant)
    told: list[str] = []
    async with provider(answers) as url:
        gateway = Gateway(url, key_env="LAB_KEY", price=Price(3, 15), budget_usd=1)
        live = await gateway.start(tmp_path)
        address = live.base_url(dialect) + PATHS[dialect]
        login = {"authorization": f"Bearer {live.token}"}
        async with httpx.AsyncClient(timeout=20, trust_env=False) as http:
            for _ in answers:
                headers = {name: plant(name) for name in ("cookie", "referer", "user-agent", "x-own")}
                with contextlib.suppress(httpx.HTTPError):  # a stream without its end is reset
                    await http.post(
                        address,
                        json=asked(dialect, plant),
                        headers=headers | login,
                        params={"q": plant("query")},
                    )
            bad = (plant("no JSON").encode(), json.dumps({plant("key alone"): 1}).encode())
            told += [(await http.post(address, content=data, headers=login)).text for data in bad]
            wrong = {"x-api-key": plant("wrong token")}
            told.append((await http.post(address, content=b"{}", headers=wrong)).text)
            told.append(
                (await http.post(f"{live.base_url(dialect)}/{plant('wrong path')}", headers=login)).text
            )
        await live.sync()
        process = psutil.Process(live.pid)
        told += [json.dumps(process.environ()), *process.cmdline(), repr(live), repr(gateway)]
        told += [str(live.ledger), str(live.refused), json.dumps(gateway.to_dict())]
        await live.close()
    files = [file.read_text() for file in tmp_path.rglob("*") if file.is_file()]
    assert sum(file.count('"request.end"') for file in files) == 5 and len(plant.places) > 40
    assert list(itertools.chain(*map(plant.found, [*told, *files]))) == []
