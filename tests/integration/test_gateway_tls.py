"""A provider over TLS: trusted by an authority of the user's own, never without one."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from agentlab import Gateway, Price

BODY = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
STREAM = (
    b'data: {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}\n\n'
    b"data: [DONE]\n\n"
)
REPLY = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n%s"


@contextlib.asynccontextmanager
async def provider(papers: Path) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Answer each request with a small stream, over TLS."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(REPLY % (len(STREAM), STREAM))
        await writer.drain()
        writer.close()

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(papers / "server.pem", papers / "server.key")
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1], heard
    finally:
        server.close()


async def ask(url: str) -> tuple[httpx.Response, str | None]:
    gateway = Gateway(url, price=Price(3, 15), budget_usd=1, key_env="LAB_KEY")
    async with gateway as live, httpx.AsyncClient(trust_env=False) as http:
        login = {"authorization": f"Bearer {live.token}"}
        reply = await http.post(f"{live.base_url()}/chat/completions", json=BODY, headers=login)
        await live.sync()
        assert (live.ledger.charged_usd == 0) == (reply.status_code == 400)
        return reply, live.requests[0].get("reason")


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setenv("LAB_KEY", "planted-key-0123456789")
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return b"authorization: Bearer planted-key-0123456789"


async def test_an_authority_of_ones_own_is_trusted(
    papers: Path, key: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(papers / "ca.pem"))
    async with provider(papers) as (port, heard):
        reply, _ = await ask(f"https://127.0.0.1:{port}/v1")
    assert reply.status_code == 200 and reply.content == STREAM
    assert len(heard) == 1 and key.lower() in heard[0].lower()


@pytest.mark.parametrize(
    ("trusted", "host", "why"),
    [
        (False, "127.0.0.1", "its certificate is not trusted"),
        (True, "localhost", "its certificate is not trusted"),
    ],
)
async def test_no_key_goes_to_whom_nobody_vouches_for(
    papers: Path, key: bytes, monkeypatch: pytest.MonkeyPatch, trusted: bool, host: str, why: str
) -> None:
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(papers / "ca.pem"))
    async with provider(papers) as (port, heard):
        reply, reason = await ask(f"https://{host}:{port}/v1")
    assert reply.status_code == 400 and reason == f"upstream_unreachable: {why}"
    assert heard == []


async def test_a_port_without_tls_is_named(key: bytes) -> None:
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(4096))
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        reply, reason = await ask(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    assert reply.status_code == 400 and reason == "upstream_unreachable: no TLS connection"
    assert all(key.lower() not in part.lower() for part in heard)
