"""The agents' side of the wire: HTTP/1.1 read by httptools, and how a reply goes out.

aiohttp would do, but its server and its client together cost five times the work of passing a request on.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import socket
import struct
import time
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import cast
from urllib.parse import parse_qsl, unquote

import httptools

from .packing import PACKED, unpacker

_MAX_BODY = 64 * 2**20
_MAX_HEAD = 2**17
_BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_OFFERS = ("connection", "expect", "http2-settings", "upgrade")


@dataclasses.dataclass(frozen=True, slots=True)
class HttpRequest:
    """Hold one request of an agent.

    Parameters
    ----------
    method : str
        Of HTTP.
    path : str
        Without its query, percent signs decoded.
    query : str
        As it was sent, without its question mark.
    headers : dict of str to str
        Names in lower case; values of one name are joined by a comma.
    body : bytes
        Unpacked. One that is too large, or cannot be unpacked, is cut, and then is no JSON.
    t : int
        Stamp of its last read, CLOCK_MONOTONIC in ns.
    """

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    t: int

    @property
    def key(self) -> str:
        """The login that stands in the query, or empty."""
        return dict(parse_qsl(self.query)).get("key", "") if self.query else ""

    @property
    def target_query(self) -> str:
        """The query with its question mark, without a login; may be empty."""
        parts = self.query.split("&")
        kept = "&".join(part for part in parts if part and unquote(part.partition("=")[0]) != "key")
        return f"?{kept}" if kept else ""


class HttpWire:
    """One request's reply on its way out.

    Parameters
    ----------
    connection : Connection
        The agent's.
    keep_alive : bool
        Whether the connection is used again after it.
    chunked : bool
        Whether the agent knows chunked bodies; else a streamed reply ends with the connection.
    head_only : bool
        Whether the agent asked for a reply's head alone.
    """

    def __init__(
        self, connection: Connection, *, keep_alive: bool, chunked: bool, head_only: bool = False
    ) -> None:
        self._connection = connection
        self._chunked = chunked
        self._head_only = head_only
        self._held = b""  # the head of a streamed reply: goes out with the first part if that is there by now
        self.keep_alive = keep_alive
        self.ended = False

    async def start(self, status: int, content_type: str) -> None:
        """Send the head of a reply whose length is not known yet."""
        self.keep_alive = self.keep_alive and self._chunked
        framing = "transfer-encoding: chunked" if self._chunked else "connection: close"
        about = f"content-type: {content_type}\r\ncache-control: no-cache\r\n{framing}"
        self._held = f"HTTP/1.1 {status} \r\n{about}\r\n\r\n".encode()
        asyncio.get_running_loop().call_soon(self._send_head)

    def _send_head(self) -> None:
        if self._held and not self._connection.lost:
            self._connection.transport.write(self._held)
        self._held = b""

    async def write(self, data: bytes) -> None:
        """Send a part of it, at once."""
        if data:  # an empty chunk would be the last
            await self._send(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    async def end(self) -> None:
        """End it, well formed."""
        self.ended = True
        if self._chunked or self._held:
            await self._send(b"0\r\n\r\n" if self._chunked else b"")

    async def send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole JSON reply."""
        lines = [f"HTTP/1.1 {status} ", "content-type: application/json", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if not self.keep_alive:
            lines.append("connection: close")
        self.ended = True
        await self._send("\r\n".join([*lines, "\r\n"]).encode() + (b"" if self._head_only else body))

    def reset(self) -> None:
        """Reset the TCP connection."""
        self._connection.reset()

    async def _send(self, data: bytes) -> None:
        if self._held:
            data, self._held = self._held + data, b""
        await self._connection.send(data)


Handle = Callable[[HttpRequest, HttpWire], Awaitable[None]]


class Connection(asyncio.Protocol):
    """One connection of an agent: its requests are answered one after another.

    An agent that goes away is seen at once: what handles its request is cancelled.

    Parameters
    ----------
    handle : callable
        Answers one request on its wire; what it leaves without an end is reset.

    Attributes
    ----------
    lost : bool
        Whether the agent is gone.
    """

    transport: asyncio.Transport

    def __init__(self, handle: Handle) -> None:
        self.lost = False
        self._handle = handle
        self._parser = httptools.HttpRequestParser(self)
        self._task: asyncio.Task[None] | None = None
        self._waiting: deque[tuple[HttpRequest, HttpWire]] = deque()
        self._drained: asyncio.Future[None] | None = None  # while the agent reads too slowly
        self._broken = False  # it sent what is no HTTP
        self._read_ns = 0
        self.on_message_begin()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop what is under way."""
        self.lost = True
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
        self.resume_writing()

    def pause_writing(self) -> None:
        """Hold writers up."""
        self._drained = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        """Let them go on."""
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None

    def data_received(self, data: bytes) -> None:
        """Read on."""
        self._read_ns = time.monotonic_ns()
        in_head = self._in_head
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            self._decline(data[offer.args[0] :])
            return
        except httptools.HttpParserError as error:
            fault = error.__context__  # of a method below
            if fault is not None and not isinstance(fault, httptools.HttpParserInvalidURLError):
                raise  # the loop reports it, and closes the connection
            self._refuse()
            return
        if in_head and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > _MAX_HEAD:
                self._refuse()

    def _decline(self, rest: bytes) -> None:
        """Read a request on that offers another protocol: the parser takes its body for that protocol's."""
        method = self._parser.get_method()
        if method == b"CONNECT":
            self._refuse()
            return
        kept = [f"{name}: {value}\r\n" for name, value in self._headers.items() if name not in _OFFERS]
        head = "".join([*kept, "connection: close\r\n\r\n"]).encode("utf-8", "surrogateescape")
        self._parser = httptools.HttpRequestParser(self)
        self.data_received(b"%b %b HTTP/1.1\r\n%b%b" % (method, self._url, head, rest))

    def _refuse(self) -> None:
        """Close on what is no HTTP, once all before it is answered."""
        self._broken = True
        if self._task is not None:
            self.transport.pause_reading()
            return
        self.transport.write(_BAD_REQUEST)
        self.transport.close()

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._url = b""
        self._headers: dict[str, str] = {}
        self._parts: list[bytes] = []
        self._size = self._head_bytes = 0
        self._in_head = True

    def on_url(self, url: bytes) -> None:
        """Take a part of its address."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, but none behind a body: it would join those that were checked before it."""
        if not self._in_head:
            return
        key, text = _lower(name), value.decode("utf-8", "surrogateescape").strip(" \t")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        """Let an agent go on that asks before it sends a body."""
        self._in_head = False
        if self._headers.get("expect", "").lower() == "100-continue" and self._task is None:
            self.transport.write(_CONTINUE)

    def on_body(self, data: bytes) -> None:
        """Take a part of its body."""
        self._size += len(data)
        if self._size <= _MAX_BODY:
            self._parts.append(data)

    def on_message_complete(self) -> None:
        """Answer it, after those before it."""
        parser = self._parser
        if parser.should_upgrade():
            return
        url = httptools.parse_url(self._url)
        request = HttpRequest(
            method=parser.get_method().decode("latin-1"),
            path=unquote((url.path or b"").decode("latin-1")),
            query=(url.query or b"").decode("utf-8", "surrogateescape"),
            headers=self._headers,
            body=_unpacked(_joined(self._parts), self._headers.get("content-encoding", "")),
            t=self._read_ns,
        )
        now = parser.get_http_version() == "1.1"
        keep = now and parser.should_keep_alive()
        wire = HttpWire(self, keep_alive=keep, chunked=now, head_only=request.method == "HEAD")
        self._waiting.append((request, wire))
        if self._task is None:
            self._next()
        else:
            self.transport.pause_reading()  # it is far enough ahead

    def _next(self) -> None:
        request, wire = self._waiting.popleft()
        self._task = asyncio.get_running_loop().create_task(self._answer(request, wire))

    async def _answer(self, request: HttpRequest, wire: HttpWire) -> None:
        try:
            await self._handle(request, wire)
        except ConnectionError:
            pass  # the agent is gone
        finally:
            self._task = None
            if not wire.ended:
                self.reset()
            elif not wire.keep_alive:
                self.transport.close()
            elif self._waiting:
                self._next()
                if not self._broken:
                    self.transport.resume_reading()
            elif self._broken:
                self._refuse()

    async def send(self, data: bytes) -> None:
        """Write, and wait while the agent reads too slowly.

        Parameters
        ----------
        data : bytes
            What to write.

        Raises
        ------
        ConnectionResetError
            The agent is gone.
        """
        if not self.transport.is_closing():
            self.transport.write(data)
            if self._drained is not None:
                await self._drained
        if self.transport.is_closing():
            raise ConnectionResetError("the agent is gone")

    def reset(self) -> None:
        """Reset the TCP connection."""
        with contextlib.suppress(OSError, AttributeError):  # linger 0: close sends a reset
            linger = struct.pack("ii", 1, 0)
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.transport.abort()


@functools.lru_cache(maxsize=256)
def _lower(name: bytes) -> str:
    return name.decode("latin-1").lower()


def _joined(parts: list[bytes]) -> bytes:
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _unpacked(body: bytes, encoding: str) -> bytes:
    name = encoding.lower()
    if name not in PACKED:
        return body
    with contextlib.suppress(zlib.error):
        return unpacker(name, body)(body, _MAX_BODY)
    return b""
