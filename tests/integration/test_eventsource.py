"""The event source against real sockets."""

import asyncio
import itertools
import socket
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from agentlab.errors import DriverTimeout, ProtocolError, StartupError
from agentlab.redact import Redactor
from agentlab.wire.eventsource import EventSource
from agentlab.wire.sse import SSEEvent

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


class Peer:
    """One accepted connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
        self.reader, self.writer, self.request = reader, writer, request

    async def send(self, *data: bytes) -> None:
        for part in data:
            self.writer.write(part)
            await self.writer.drain()

    async def chunk(self, *bodies: bytes) -> None:
        await self.send(*(b"%x\r\n%s\r\n" % (len(body), body) for body in bodies))

    def reset(self) -> None:
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


@asynccontextmanager
async def serving(talk: Callable[[Peer], Awaitable[None]]) -> AsyncIterator[str]:
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await talk(Peer(reader, writer, await reader.readuntil(b"\r\n\r\n")))
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/event"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def read(source: EventSource) -> list[SSEEvent]:
    async with source:
        return [event async for events in source for event in events]


async def test_events_arrive_stamped_and_the_end_is_clean() -> None:
    sent: list[int] = []

    async def talk(peer: Peer) -> None:
        await peer.send(CHUNKED)
        for i in range(20):
            await asyncio.sleep(0.005)
            sent.append(time.monotonic_ns())
            await peer.chunk(b"data: %d\n\n" % i)
        await peer.chunk(b": bye\n\ndata: lost")
        await peer.send(b"0\r\n\r\n")

    async with serving(talk) as url:
        source = EventSource(url, read_timeout_s=5)
        events = await read(source)
    assert [event.data for event in events] == [b"%d" % i for i in range(20)]
    assert all(a < event.t < a + 50_000_000 for a, event in zip(sent, events, strict=True))
    assert (source.ended, source.error) == ("clean", None)
    parser = source.parser
    assert (parser.n_events, parser.n_comments, parser.n_truncated) == (20, 1, 1)
    assert source.t_open < events[0].t <= events[-1].t <= source.t_last


async def test_a_stamp_is_the_reads_own_even_when_the_reader_is_late() -> None:
    async def talk(peer: Peer) -> None:
        await peer.send(CHUNKED)
        for i in range(5):
            await peer.chunk(b'data: {"n":', b"%d}\n\n" % i)
            await asyncio.sleep(0.03)
        await peer.send(b"0\r\n\r\n")

    async with serving(talk) as url, EventSource(url) as source:
        await asyncio.sleep(0.3)  # everything has come; nobody has read
        late = time.monotonic_ns()
        events = [event async for batch in source for event in batch]
    assert len(events) == 5
    assert all(event.t < late - 100_000_000 for event in events)
    gaps = [(b.t - a.t) / 1e6 for a, b in itertools.pairwise(events)]
    assert all(gap > 20 for gap in gaps)


async def test_a_long_first_event_is_stamped_when_it_was_read_not_when_it_was_parsed() -> None:
    body = b"x" * 2_000_000

    async def talk(peer: Peer) -> None:
        await peer.send(CHUNKED)
        await peer.chunk(b"data: x")
        await asyncio.sleep(0.05)
        await peer.chunk(body, b"\n\n", b"data: 2\n\n")
        await peer.send(b"0\r\n\r\n")

    async with serving(talk) as url:
        first, second = await read(EventSource(url))
    assert first.data == b"x" + body
    assert first.t - first.t_first > 45_000_000
    assert first.t <= second.t


@pytest.mark.parametrize("framing", ["length", "until close", "with the headers"])
async def test_other_framings_of_the_body(framing: str) -> None:
    body = b"data: 1\n\ndata: 2\n\n"

    async def talk(peer: Peer) -> None:
        if framing == "length":
            await peer.send(OK + b"Content-Length: %d\r\n\r\n" % len(body), body)
        elif framing == "until close":
            await peer.send(OK + b"Connection: close\r\n\r\n", body)
        else:
            await peer.send(CHUNKED + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))

    async with serving(talk) as url:
        source = EventSource(url)
        assert [event.data for event in await read(source)] == [b"1", b"2"]
    assert source.ended == "clean"


@pytest.mark.parametrize("how", ["cut", "reset"])
async def test_what_came_before_a_broken_connection_is_kept(how: str) -> None:
    async def talk(peer: Peer) -> None:
        await peer.send(CHUNKED)
        await peer.chunk(b"data: 1\n\n", b"data: 2\n\ndata: lo")
        await asyncio.sleep(0.05)
        if how == "reset":
            peer.reset()

    async with serving(talk) as url:
        source = EventSource(url)
        async with source:
            if how == "cut":
                await asyncio.sleep(0.1)  # the events are still unread when the end comes
            events = [event async for batch in source for event in batch]
    assert [event.data for event in events] == [b"1", b"2"]
    assert source.ended == "failed"
    assert source.error
    assert source.parser.n_truncated == 1


async def test_silence_is_told_from_a_slow_reader() -> None:
    async def talk(peer: Peer) -> None:
        await peer.send(CHUNKED)
        for i in range(8):
            await peer.chunk(b": beat\n\n" if i % 2 else b"data: %d\n\n" % i)
            await asyncio.sleep(0.05)
        await peer.reader.read()

    async with serving(talk) as url:
        source = EventSource(url, read_timeout_s=0.2)
        began = time.monotonic()
        events = await read(source)
        took = time.monotonic() - began
        assert [event.data for event in events] == [b"0", b"2", b"4", b"6"]
        assert (source.ended, source.error) == ("silent", "no byte for 0.2 s")
        assert 0.5 < took < 1.5
        async with EventSource(url, read_timeout_s=0.1) as lazy:
            await asyncio.sleep(0.3)
            assert lazy.ended is None
            assert (await anext(lazy))[0].data == b"0"


async def test_closing_ends_a_waiting_reader() -> None:
    gone = asyncio.Event()

    async def talk(peer: Peer) -> None:
        await peer.send(CHUNKED)
        await peer.chunk(b"data: 1\n\n")
        await peer.reader.read()
        gone.set()

    async with serving(talk) as url:
        source = EventSource(url)
        async with source:
            reader = asyncio.create_task(_collect(source))
            await asyncio.sleep(0.05)
        assert [event.data for event in await asyncio.wait_for(reader, 1)] == [b"1"]
        await asyncio.wait_for(gone.wait(), 1)
    assert (source.ended, source.error) == ("closed", None)


async def _collect(source: EventSource) -> list[SSEEvent]:
    return [event async for batch in source for event in batch]


async def test_a_cancelled_read_loses_nothing() -> None:
    more = asyncio.Event()

    async def talk(peer: Peer) -> None:
        await peer.send(CHUNKED)
        await more.wait()
        await peer.chunk(b"data: 1\n\n")
        await peer.send(b"0\r\n\r\n")

    async with serving(talk) as url, EventSource(url) as source:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(source), 0.02)
        more.set()
        assert [event.data for event in await _collect(source)] == [b"1"]


async def test_memory_is_bounded_while_nobody_reads() -> None:
    sent = 0

    async def talk(peer: Peer) -> None:
        nonlocal sent
        await peer.send(CHUNKED)
        frame = b"data: " + b"x" * 65_000 + b"\n\n"
        for _ in range(1000):
            await peer.chunk(frame)
            sent += len(frame)
        await peer.send(b"0\r\n\r\n")

    async with serving(talk) as url, EventSource(url) as source:
        await asyncio.sleep(0.5)
        assert sent < 40_000_000  # 4 MiB of ours and what two socket buffers take
        assert sum(1 for _ in await _collect(source)) == 1000
        assert source.ended == "clean"


async def test_an_event_over_the_limit() -> None:
    async def talk(peer: Peer) -> None:
        await peer.send(CHUNKED)
        await peer.chunk(b"data: 1\n\n", b"data: " + b"x" * 5000 + b"\n\n", b"data: 3\n\n")
        await peer.reader.read()

    async with serving(talk) as url, EventSource(url, limit_bytes=4000) as source:
        assert [event.data for event in await anext(source)] == [b"1"]
        with pytest.raises(ProtocolError, match="longer than 4000 bytes") as caught:
            await anext(source)
        assert caught.value.offset == 9
        assert source.ended == "failed"


async def test_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    requests: list[bytes] = []

    async def talk(peer: Peer) -> None:
        requests.append(peer.request)
        await peer.send(OK + b"Set-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")

    async with serving(talk) as url:
        for _ in range(2):
            source = EventSource(
                f"{url}?directory=%2Ftmp%2Fa%20b", headers={"X-Lab": "1"}, auth=("user", "pässword")
            )
            assert await read(source) == []
    line, *lines = requests[1].decode().split("\r\n")
    names = {name.lower(): value for name, _, value in (text.partition(": ") for text in lines if text)}
    assert line.split("?")[0] == "GET /event"
    assert names["accept"] == "text/event-stream"
    assert names["x-lab"] == "1"
    assert names["authorization"] == "Basic dXNlcjpww6Rzc3dvcmQ="
    assert not {"origin", "cookie", "accept-encoding"} & set(names)


@pytest.mark.parametrize(
    ("answer", "says", "excerpt"),
    [
        (b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", "status 401; give auth=", ""),
        (b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", "status 302", ""),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 18\r\n\r\n<html>key=abcdef0 ",
            "content type 'text/html'",
            "<html>key=<redacted> ",
        ),
        (OK + b"Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", "compressed", ""),
    ],
)
async def test_what_is_no_event_stream_is_refused(answer: bytes, says: str, excerpt: str | None) -> None:
    async def talk(peer: Peer) -> None:
        await peer.send(answer)

    async with serving(talk) as url:
        source = EventSource(url)
        with pytest.raises(ProtocolError, match=says) as caught:
            await source.__aenter__()
    assert caught.value.excerpt == excerpt
    assert caught.value.phase == "startup"
    assert source.ended == "failed"


async def test_no_server_and_no_answer() -> None:
    async def talk(peer: Peer) -> None:
        await peer.reader.read()

    async with serving(talk) as url:
        with pytest.raises(DriverTimeout, match=r"no response within 0\.1 s"):
            await EventSource(url, open_timeout_s=0.1).__aenter__()
        with pytest.raises(asyncio.CancelledError):
            task = asyncio.create_task(EventSource(url).__aenter__())
            await asyncio.sleep(0.05)
            task.cancel()
            await task
    with pytest.raises(StartupError, match="cannot be opened"):
        await EventSource(url).__aenter__()
    with pytest.raises(StartupError, match="cannot be opened"):
        await EventSource("not a url").__aenter__()


async def test_a_body_that_is_not_http_is_a_failure_without_secrets() -> None:
    async def talk(peer: Peer) -> None:
        await peer.send(CHUNKED)
        await peer.chunk(b"data: 1\n\n")
        await asyncio.sleep(0.05)
        await peer.send(b"hunter22 is no chunk size\r\n")
        await peer.reader.read()

    async with serving(talk) as url:
        source = EventSource(url, redactor=Redactor(secrets=["hunter22"]))
        assert [event.data for event in await read(source)] == [b"1"]
    assert source.ended == "failed"
    assert source.error and "hunter22" not in source.error
