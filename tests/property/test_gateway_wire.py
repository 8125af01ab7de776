"""HTTP on both sides of the gateway: however the bytes are cut, the same request and the same answer."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import time
import zlib
from typing import Any

import httptools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab.gateway import httpwire
from agentlab.gateway.httpclient import Lost, Reply, _Connection  # pyright: ignore[reportPrivateUsage]
from agentlab.gateway.httpwire import Connection, HttpRequest, HttpWire

BODY = b'{"a": "\xc3\xa4"}'
HEAD = b"POST /v1/x%20y?key=s&alt=sse HTTP/1.1\r\nHost: h\r\nX-Two: a\r\nx-two: b\r\n"
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\n%b\r\n8;x=y\r\n%b\r\n0\r\n\r\n" % (
    BODY[:3],
    BODY[3:],
)
PACKED = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(gzip.compress(BODY, mtime=0))
PACKED += gzip.compress(BODY, mtime=0)

OK = b"HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n"
SIZED = OK + b"Content-Length: 11\r\n\r\nhello world"
STREAMED = b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Transfer-Encoding: chunked\r\n\r\n"
STREAMED += b"6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n"
ENDLESS = OK + b"\r\nhello world"
ZIPPED = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(
    gzip.compress(b"hello world", mtime=0)
)
ZIPPED += gzip.compress(b"hello world", mtime=0)


class Transport(asyncio.Transport):
    """Keep what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.data, self.closed, self.reading = b"", "", True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.data += data

    def is_closing(self) -> bool:
        return bool(self.closed)

    def close(self) -> None:
        self.closed = self.closed or "closed"

    def abort(self) -> None:
        self.closed = self.closed or "aborted"

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


def cut(data: bytes, at: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % len(data) for place in at)})
    return [data[a:b] for a, b in itertools.pairwise(edges)]


cuts = st.lists(st.integers(0, 10_000), max_size=30)


async def asked(parts: list[bytes]) -> tuple[list[HttpRequest], Transport]:
    """Feed an agent's bytes; each request is answered by its number."""
    heard: list[HttpRequest] = []

    async def handle(http: HttpRequest, wire: HttpWire) -> None:
        heard.append(http)
        await asyncio.sleep(0)
        await wire.send(200, str(len(heard)).encode())

    transport, connection = Transport(), Connection(handle)
    connection.connection_made(transport)
    for part in parts:
        connection.data_received(part)
    for _ in range(20):
        await asyncio.sleep(0)
    return heard, transport


@given(cuts, st.lists(st.sampled_from([WHOLE, CHUNKED, PACKED]), min_size=1, max_size=4))
def test_requests_are_read_however_they_are_cut_and_answered_in_their_order(
    at: list[int], requests: list[bytes]
) -> None:
    heard, transport = asyncio.run(asked(cut(b"".join(requests), at)))
    assert len(heard) == len(requests)
    for http in heard:
        assert (http.method, http.path, http.query) == ("POST", "/v1/x y", "key=s&alt=sse")
        assert (http.key, http.target_query, http.body) == ("s", "?alt=sse", BODY)
        assert http.headers["host"] == "h" and http.headers["x-two"] == "a, b"
    assert [answer[:1] for answer in transport.data.split(b"\r\n\r\n")[1:]] == [
        str(n + 1).encode() for n in range(len(requests))
    ]
    assert not transport.closed and transport.reading


@pytest.mark.parametrize(
    "bad",
    [
        b"no http\r\n\r\n",
        b"POST /v1 HTTP/1.1\r\nHost h\r\n\r\n",
        b"CONNECT h:443 HTTP/1.1\r\n\r\n",
        b"POST /v1 HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",  # smuggling
        b"POST /v1 HTTP/1.1\r\nx: " + b"a" * 200_000,
    ],
)
@settings(max_examples=20)
@given(at=cuts)
def test_what_is_no_http_is_refused(bad: bytes, at: list[int]) -> None:
    heard, transport = asyncio.run(asked(cut(bad, [*at, 1000])))
    assert heard == [] and transport.closed == "closed"
    assert transport.data.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", False),
        (b"HEAD / HTTP/1.1\r\n\r\n", True),
    ],
)
async def test_when_a_connection_is_used_again(head: bytes, kept: bool) -> None:
    heard, transport = await asked([head])
    assert len(heard) == 1 and transport.closed == ("" if kept else "closed")
    assert (b"connection: close" in transport.data) is not kept
    assert transport.data.partition(b"\r\n\r\n")[2] == (b"" if head.startswith(b"HEAD") else b"1")


async def test_what_stands_behind_a_body_is_no_header() -> None:
    trailed = CHUNKED[:-2] + b"Host: evil\r\nAuthorization: Bearer x\r\n\r\n"
    heard, _ = await asked([trailed])
    assert heard[0].headers["host"] == "h" and "authorization" not in heard[0].headers


async def test_space_around_a_header_is_not_its_value() -> None:
    heard, _ = await asked([WHOLE.replace(b"Host: h", b"Host: \t h \t ")])
    assert heard[0].headers["host"] == "h"


async def test_what_stands_before_bad_http_is_answered_first() -> None:
    for parts in ([WHOLE * 2 + b"no http\r\n\r\n"], [WHOLE, WHOLE, b"no http\r\n\r\n"]):
        heard, transport = await asked(parts)
        assert len(heard) == 2 and transport.closed == "closed"
        assert transport.data.count(b"HTTP/1.1 200 ") == 2
        assert transport.data.endswith(httpwire._BAD_REQUEST)  # pyright: ignore[reportPrivateUsage]


async def test_a_request_is_stamped_when_it_was_read_not_when_it_was_unpacked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unpacked: list[int] = []
    unpacker = httpwire.unpacker
    monkeypatch.setattr(
        httpwire, "unpacker", lambda *given: unpacked.append(time.monotonic_ns()) or unpacker(*given)
    )
    heard, _ = await asked([PACKED])
    assert heard[0].body == BODY and heard[0].t <= unpacked[0]


async def test_deflate_is_read_with_and_without_its_head() -> None:
    for wbits in (15, -15):
        packed = zlib.compress(BODY, wbits=wbits)
        head = HEAD + b"Content-Encoding: Deflate\r\nContent-Length: %d\r\n\r\n" % len(packed)
        assert (await asked([head + packed]))[0][0].body == BODY
        packed = zlib.compress(b"hello world", wbits=wbits)
        data = OK + b"Content-Encoding: deflate\r\nContent-Length: %d\r\n\r\n" % len(packed)
        assert (await answered(cut(data + packed, list(range(100)))))[1] == b"hello world"


async def test_a_fault_of_ones_own_is_not_taken_for_bad_http(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError

    monkeypatch.setattr(Connection, "on_header", broken)
    monkeypatch.setattr(Reply, "on_header", broken)
    for connection in (Connection(lambda http, wire: asyncio.sleep(0)), _Connection([])):
        connection.connection_made(Transport())
        if isinstance(connection, _Connection):
            connection.ask(b"")
        with pytest.raises(httptools.HttpParserCallbackError) as told:
            connection.data_received(WHOLE if isinstance(connection, Connection) else SIZED)
        assert isinstance(told.value.__context__, KeyError)


@given(at=cuts)
def test_another_protocol_is_declined_and_the_request_answered(at: list[int]) -> None:
    """Clients on Java offer HTTP/2 with each request over a plain connection."""
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
    heard, transport = asyncio.run(asked(cut(WHOLE.replace(b"Host", offer + b"Host", 1), at)))
    assert [(http.path, http.key, http.body) for http in heard] == [("/v1/x y", "s", BODY)]
    assert transport.closed == "closed" and b"connection: close" in transport.data


async def test_an_agent_that_asks_first_is_told_to_go_on() -> None:
    _, transport = await asked([HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"])
    assert transport.data == b"HTTP/1.1 100 Continue\r\n\r\n"
    _, transport = await asked([WHOLE + HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"])
    assert b" 100 " not in transport.data, "it would stand in the answer before it"


async def test_a_bomb_and_what_cannot_be_unpacked_are_no_json() -> None:
    for packed in (gzip.compress(bytes(80 * 2**20)), b"\x1f\x8bnot gzip"):
        head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
        heard, _ = await asked([head + packed])
        assert len(heard[0].body) in (0, 64 * 2**20)


async def streamed(head: bytes, *, wait: bool) -> Transport:
    async def handle(http: HttpRequest, wire: HttpWire) -> None:
        await wire.start(200, "text/event-stream")
        if wait:
            await asyncio.sleep(0)
            assert transport.data.endswith(b"\r\n\r\n")  # the head does not wait for the first part
        for part in (b"one", b"", b"two"):
            await wire.write(part)
        await wire.end()

    transport, connection = Transport(), Connection(handle)
    connection.connection_made(transport)
    connection.data_received(head)
    for _ in range(5):
        await asyncio.sleep(0)
    return transport


@pytest.mark.parametrize("wait", [False, True])
async def test_a_stream_is_framed_as_its_reader_knows_it(wait: bool) -> None:
    new = await streamed(b"POST / HTTP/1.1\r\n\r\n", wait=wait)
    assert new.data.endswith(b"chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n") and not new.closed
    old = await streamed(b"POST / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", wait=wait)
    assert old.data.endswith(b"connection: close\r\n\r\nonetwo") and old.closed == "closed"


async def test_what_is_left_without_an_end_is_reset_and_an_agent_that_leaves_cancels() -> None:
    seen: list[str] = []

    async def handle(http: HttpRequest, wire: HttpWire) -> None:
        if http.path == "/half":
            await wire.start(200, "text/plain")
            return
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    for path in ("half", "long"):
        transport, connection = Transport(), Connection(handle)
        connection.connection_made(transport)
        connection.data_received(f"POST /{path} HTTP/1.1\r\n\r\n".encode())
        await asyncio.sleep(0)
        if path == "half":
            assert transport.closed == "aborted"
        connection.connection_lost(None)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(ConnectionResetError):
            await connection.send(b"x")
    assert seen == ["cancelled"]


async def test_a_slow_reader_holds_its_writer_up() -> None:
    transport, connection = Transport(), Connection(lambda http, wire: asyncio.sleep(0))
    connection.connection_made(transport)
    connection.pause_writing()
    writing = asyncio.ensure_future(connection.send(b"x"))
    await asyncio.sleep(0)
    assert not writing.done()
    connection.resume_writing()
    await writing


async def answered(parts: list[bytes], *, eof: bool = False) -> tuple[Reply, bytes, list[Any]]:
    idle: list[_Connection] = []
    connection, transport = _Connection(idle), Transport()
    connection.connection_made(transport)
    reply = connection.ask(b"")

    async def feed() -> None:
        for part in parts:
            connection.data_received(part)
            await asyncio.sleep(0)
        if eof:
            transport.close()
            connection.connection_lost(None)

    feeding = asyncio.ensure_future(feed())
    try:
        await reply.head()
        return reply, await reply.whole(), idle
    finally:
        await feeding
        reply.close()


@given(cuts, st.sampled_from([SIZED, STREAMED, ENDLESS, ZIPPED]))
def test_answers_are_read_however_they_are_cut(at: list[int], data: bytes) -> None:
    reply, body, idle = asyncio.run(answered(cut(data, at), eof=data is ENDLESS))
    assert (reply.status, reply.content_type, body) == (200, "text/event-stream", b"hello world")
    assert len(idle) == (data is not ENDLESS), "a connection whose answer has come to its end is kept"


@given(cuts, st.sampled_from([SIZED, STREAMED, ZIPPED]), st.integers(1, 30))
def test_an_answer_that_is_cut_is_lost(at: list[int], data: bytes, missing: int) -> None:
    with pytest.raises(Lost):
        asyncio.run(answered(cut(data[:-missing], at), eof=True))


@pytest.mark.parametrize(
    "data",
    [
        SIZED.replace(b"\r\n", b"\n"),
        SIZED.replace(b"Content-Length", b"X: \x01\r\nContent-Length"),
        STREAMED.replace(b"6\r\n", b"6  \r\n"),
    ],
)
async def test_an_odd_answer_that_has_one_meaning_is_read(data: bytes) -> None:
    assert (await answered([data]))[1] == b"hello world"


@given(cuts)
def test_what_nobody_asked_for_ends_a_connection(at: list[int]) -> None:
    _, body, idle = asyncio.run(answered([*cut(SIZED, at)[:-1], cut(SIZED, at)[-1] + SIZED]))
    assert body == b"hello world" and idle == []


@pytest.mark.parametrize("bad", [b"no http\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"])
async def test_an_answer_that_is_no_http_is_lost(bad: bytes) -> None:
    with pytest.raises(Lost):
        await answered([bad])


async def test_a_provider_that_is_faster_than_the_agent_is_held_up() -> None:
    connection, transport = _Connection([]), Transport()
    connection.connection_made(transport)
    reply = connection.ask(b"")
    connection.data_received(OK + b"\r\n" + bytes(2**21))
    assert not transport.reading
    assert len(await reply.part()) == 2**21 and transport.reading
