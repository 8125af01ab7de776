"""The provider's side of the wire: HTTP/1.1 with connections that are kept, read by httptools."""

from __future__ import annotations

import asyncio
import os
import re
import select
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Mapping
from typing import cast
from urllib.parse import urlsplit

import httptools

from .packing import PACKED, unpacker

_CONNECT_S = 10.0
_IDLE_S = 4.0  # Node, uvicorn and llama.cpp close what rests for 5 s, and what is asked just then is lost
_HINT = re.compile(r"timeout=(\d{1,6})\b")  # by which others say when they will
_EYEBALLS_S = 0.25  # RFC 8305: how long one family of addresses is waited for before the other is tried
_AHEAD = 2**20


class Unreachable(Exception):
    """There is no connection; the text says why, in words that name no address. Nothing was sent."""


class Lost(Exception):
    """The connection failed under way."""


class Reply:
    """One answer, read as it comes.

    Attributes
    ----------
    status : int
        Of HTTP.
    content_type : str
        Without its parameters, in lower case.
    """

    def __init__(self, connection: _Connection) -> None:
        self.status = 0
        self.content_type = ""
        self._connection = connection
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(  # what is odd, but cannot be taken for something else
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
        self._headers: dict[str, str] = {}
        self._unpack: Callable[..., bytes] | None = None
        self._parts: list[bytes] = []
        self._begun = self._ended = self._failed = self._keep = False
        self._to_the_end = False  # of the connection: nothing else says where the body ends
        self._waiter: asyncio.Future[None] | None = None

    async def head(self) -> None:
        """Wait until status and headers are there; raises Lost."""
        while not self._begun:
            await self._more()

    async def part(self) -> bytes:
        """Return what has come of the body since the last call, waiting for some; empty: it has ended.

        Returns
        -------
        bytes

        Raises
        ------
        Lost
            The connection failed before the body's end.
        """
        while not self._parts and not self._ended:
            await self._more()
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._connection.resume()
        return data

    async def whole(self) -> bytes:
        """Return the whole body; raises Lost."""
        parts: list[bytes] = []
        while part := await self.part():
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        """Keep the connection for another request, if this one has come to its end, else close it."""
        hint = _HINT.search(self._headers.get("keep-alive", ""))
        rest_s = _IDLE_S if hint is None else int(hint[1]) - 1.0
        self._connection.release(rest_s if self._ended and self._keep else 0.0)

    async def _more(self) -> None:
        if self._failed:
            raise Lost
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def feed(self, data: bytes) -> int:
        """Take what was read; return how many bytes wait to be fetched."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._failed, self._keep = True, False
            if not isinstance(error.__context__, Lost | zlib.error | None):  # a fault of a method below
                raise  # the loop reports it, and closes the connection
        self._wake()
        return sum(map(len, self._parts))

    def lost(self, error: Exception | None) -> None:
        """Take the end of the connection."""
        if self._to_the_end and error is None:
            self._ended = True
        self._failed, self._keep = True, False
        self._wake()

    def on_message_begin(self) -> None:
        """Begin; nobody has asked for a second one."""
        if self._ended:
            raise Lost

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1").strip().lower()

    def on_headers_complete(self) -> None:
        """Take the head; one of 1xx is only the first."""
        status = self._parser.get_status_code()
        if status < 200:
            self._headers.clear()
            return
        self._begun, self.status = True, status
        self.content_type = self._headers.get("content-type", "").partition(";")[0].strip()
        framed = "content-length" in self._headers or "chunked" in self._headers.get("transfer-encoding", "")
        self._to_the_end = not framed and status not in (204, 304)

    def on_body(self, data: bytes) -> None:
        """Take a part of the body."""
        encoding = self._headers.get("content-encoding")
        if encoding in PACKED:  # which nobody asked for
            self._unpack = self._unpack or unpacker(encoding, data)
            data = self._unpack(data)
        if data:
            self._parts.append(data)

    def on_message_complete(self) -> None:
        """Take the end."""
        if self._begun:
            self._ended, self._keep = True, self._parser.should_keep_alive()


class _Connection(asyncio.Protocol):
    """One connection to the provider."""

    transport: asyncio.Transport

    def __init__(self, idle: list[_Connection]) -> None:
        self.until_s = 0.0  # when it has rested too long
        self._idle = idle
        self._reply: Reply | None = None
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self in self._idle:
            self._idle.remove(self)
        if self._reply is not None:
            self._reply.lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._reply is None:  # an answer that nobody has asked for
            self.transport.abort()
        elif self._reply.feed(data) > _AHEAD:
            self._paused = True
            self.transport.pause_reading()

    def resume(self) -> None:
        if self._paused:
            self._paused = False
            self.transport.resume_reading()

    def ask(self, data: bytes) -> Reply:
        self._reply = Reply(self)
        self.transport.write(data)
        return self._reply

    def release(self, rest_s: float) -> None:
        self._reply = None
        self.resume()
        if rest_s <= 0 or self.transport.is_closing():
            self.transport.abort()
            return
        self.until_s = time.monotonic() + rest_s
        self._idle.append(self)

    def usable(self) -> bool:
        """Whether another request can be sent: it is open, has not rested too long, and said nothing."""
        if time.monotonic() >= self.until_s or self.transport.is_closing():
            return False
        poll = select.poll()  # its end may have come, and the loop not yet looked
        poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not poll.poll(0)


class Client:
    """Ask one provider.

    Parameters
    ----------
    url : str
        Scheme, host and port of it.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._name = parts.hostname or "", parts.netloc.encode("idna").decode()
        self._tls = parts.scheme == "https"
        self._port = parts.port or (443 if self._tls else 80)
        self._context: ssl.SSLContext | None = None
        self._idle: list[_Connection] = []

    async def post(self, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Send one request, and wait for the head of its reply, which is to be closed.

        Parameters
        ----------
        target : str
            Path and query, as they are sent.
        headers : mapping
            Besides those of the connection.
        body : bytes
            JSON.

        Returns
        -------
        Reply

        Raises
        ------
        Unreachable
            There is no connection.
        Lost
            It failed before an answer came.
        """
        connection = self._rested() or await self._fresh()
        if connection.transport.is_closing():
            raise Unreachable("it hung up before anything was asked")
        lines = [f"POST {target} HTTP/1.1", f"host: {self._name}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join([*lines, f"content-length: {len(body)}", "\r\n"])
        reply = connection.ask(head.encode("utf-8", "surrogateescape") + body)
        try:
            await reply.head()
        except BaseException:
            reply.close()
            raise
        return reply

    def close(self) -> None:
        """Close what rests."""
        for connection in list(self._idle):
            connection.transport.abort()

    def _rested(self) -> _Connection | None:
        """Return the connection that was used last, if it can still be; close those that rested too long."""
        while self._idle and self._idle[0].until_s <= time.monotonic():
            self._idle.pop(0).transport.abort()
        while self._idle:
            connection = self._idle.pop()
            if connection.usable():
                return connection
            connection.transport.abort()
        return None

    async def _fresh(self) -> _Connection:
        connecting = asyncio.ensure_future(self._connect())
        try:
            return await asyncio.shield(connecting)
        except asyncio.CancelledError:  # asyncio forgets a socket that is cancelled as it gets through
            connecting.add_done_callback(_drop)
            raise

    async def _connect(self) -> _Connection:
        if self._tls and self._context is None:
            self._context = ssl.create_default_context()
        try:
            async with asyncio.timeout(_CONNECT_S):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: _Connection(self._idle),
                    self._host,
                    self._port,
                    ssl=self._context,
                    happy_eyeballs_delay=_EYEBALLS_S,
                )
        except (OSError, UnicodeError) as error:
            raise Unreachable(_why(error)) from None
        return connection


def _drop(connecting: asyncio.Future[_Connection]) -> None:
    """Close the connection of a request that was given up."""
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().transport.abort()


def _why(error: OSError | UnicodeError) -> str:
    if isinstance(error, TimeoutError):
        return f"no connection within {_CONNECT_S:g} s"
    if isinstance(error, UnicodeError):
        return "no such address"
    if isinstance(error, socket.gaierror):
        return "the name of the host is not known"
    if isinstance(error, ssl.SSLCertVerificationError):
        return "its certificate is not trusted"
    if isinstance(error, ssl.SSLError):
        return "no TLS connection"
    # Of several addresses that failed asyncio tells only in a text.
    number = error.errno or next(iter(map(int, re.findall(r"\[Errno (\d+)\]", str(error)))), None)
    return "no connection" if number is None else os.strerror(number).lower()
