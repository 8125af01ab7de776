"""Connections to a provider that are kept: used again while they can be, never when they cannot."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest

from agentlab.gateway import httpclient
from agentlab.gateway.httpclient import Client, Lost, Unreachable


class Provider:
    """A provider without a loop of its own: what it does happens before the client can look."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.client = Client(f"http://127.0.0.1:{self.socket.getsockname()[1]}")
        self.peers: list[socket.socket] = []

    async def ask(self, *, peer: socket.socket | None = None, head: bytes = b"") -> socket.socket:
        """Ask over the connection that ends at a peer, or over a new one; return its end."""
        loop = asyncio.get_running_loop()
        asking = asyncio.ensure_future(self.client.post("/", {}, b"{}"))
        async with asyncio.timeout(5):
            if peer is None:
                peer, _ = await loop.sock_accept(self.socket)
                self.peers.append(peer)
            assert (await loop.sock_recv(peer, 10_000)).startswith(b"POST / ")
            peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n%b\r\nhi" % head)
            reply = await asking
            assert await reply.whole() == b"hi"
        reply.close()
        return peer

    async def __aenter__(self) -> Provider:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.client.close()
        await asyncio.sleep(0)
        for each in (self.socket, *self.peers):
            each.close()


async def test_a_connection_that_was_closed_this_moment_is_not_used() -> None:
    async with Provider() as provider:
        peer = await provider.ask()
        await provider.ask(peer=peer)
        peer.close()  # the loop does not look before the next request
        assert await provider.ask() is not peer


@pytest.mark.parametrize(("head", "rests_s"), [(b"", 4), (b"Keep-Alive: max=9, timeout=60\r\n", 59)])
async def test_a_connection_rests_less_than_the_provider_lets_it(
    monkeypatch: pytest.MonkeyPatch, head: bytes, rests_s: float
) -> None:
    async with Provider() as provider:

        class Clock:
            now = 1000.0

            def monotonic(self) -> float:
                return self.now

        clock = Clock()
        monkeypatch.setattr(httpclient, "time", clock)
        peer = await provider.ask(head=head)
        clock.now += rests_s - 0.1
        await provider.ask(peer=peer, head=head)
        clock.now += rests_s + 0.1
        assert await provider.ask() is not peer


async def test_connections_of_a_crowd_do_not_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Provider() as provider:
        monkeypatch.setattr(httpclient, "_IDLE_S", 0.3)
        before = len(os.listdir("/proc/self/fd"))
        asking = [asyncio.ensure_future(provider.client.post("/", {}, b"{}")) for _ in range(20)]
        for _ in asking:
            peer, _ = await asyncio.get_running_loop().sock_accept(provider.socket)
            provider.peers.append(peer)
            await asyncio.get_running_loop().sock_recv(peer, 10_000)
            peer.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        for reply in await asyncio.gather(*asking):
            assert await reply.whole() == b""
            reply.close()
        assert len(os.listdir("/proc/self/fd")) == before + 40
        await asyncio.sleep(0.35)
        await provider.ask()
        await asyncio.sleep(0)
        assert len(os.listdir("/proc/self/fd")) == before + 20 + 2, "their 20 ends here are closed"


async def test_a_provider_that_speaks_or_hangs_up_before_it_is_asked_is_not_waited_for() -> None:
    for words in (b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n", b""):
        async with Provider() as provider, asyncio.timeout(5):
            asking = asyncio.ensure_future(provider.client.post("/", {}, b"{}"))
            peer, _ = await asyncio.get_running_loop().sock_accept(provider.socket)
            peer.sendall(words)
            peer.close()
            with pytest.raises((Unreachable, Lost)):
                await asking


async def test_a_request_that_is_given_up_while_it_connects_leaves_nothing_open() -> None:
    async with Provider() as provider:
        before = len(os.listdir("/proc/self/fd"))
        for ticks in range(40):
            asking = asyncio.ensure_future(provider.client.post("/", {}, b"{}"))
            for _ in range(ticks % 20):
                await asyncio.sleep(0)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        await asyncio.sleep(0.05)
        assert len(os.listdir("/proc/self/fd")) == before
