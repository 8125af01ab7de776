"""Read one server-sent event stream over HTTP, each read stamped before anything is parsed.

A stamp is ``time.monotonic_ns()`` taken first thing in the transport's ``data_received``: before HTTP and
event parsing, and before the reading task gets its turn. Reads that pile up while the task waits keep their
own stamps, and what came before a failure is still delivered. There is no reconnecting: what a lost stream
means is for the caller to decide.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Literal, Self, cast

import aiohttp

from ..errors import DriverTimeout, ProtocolError, StartupError
from ..redact import Redactor
from .sse import SSEEvent, SSEParser

Ended = Literal["closed", "clean", "failed", "silent"]

_QUEUE_BYTES = 4 * 2**20  # unparsed bytes at which the socket is left alone until the task has caught up


class _Tap(asyncio.Protocol):
    """Stand between transport and aiohttp: stamp each read, and take its body out of aiohttp at once."""

    def __init__(self, transport: asyncio.Transport | None, content: aiohttp.StreamReader) -> None:
        self._transport = transport
        self._content = content
        self._reads: list[tuple[int, bytes]] = []
        self._size = 0
        self._waiter: asyncio.Future[None] | None = None
        self.done = False
        self.error: BaseException | None = None
        self.t = time.monotonic_ns()
        if transport is not None:
            self._inner = cast("asyncio.Protocol", transport.get_protocol())
            transport.set_protocol(self)
        self._take(self.t)

    def data_received(self, data: bytes) -> None:
        self.t = t = time.monotonic_ns()
        self._inner.data_received(data)
        self._take(t)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._inner.connection_lost(exc)
        self._take(time.monotonic_ns())
        # aiohttp leaves the body without an end when a chunk's size is no number.
        self.finish(exc or ConnectionError("the connection ended inside the response"))

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def _take(self, t: int) -> None:
        try:
            while body := self._content.read_nowait():
                self._reads.append((t, body))
                self._size += len(body)
            if self._content.is_eof():
                self.finish(None)
        except Exception as error:  # whatever aiohttp or the socket set as the end of the body
            self.finish(error)
        if self._size > _QUEUE_BYTES and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def finish(self, error: BaseException | None) -> None:
        if not self.done:
            self.done, self.error = True, error
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    @property
    def unread(self) -> bool:
        return bool(self._reads)

    async def read(self) -> list[tuple[int, bytes]]:
        """Return all reads so far, at least one; none at the end."""
        while not self._reads and not self.done:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        reads, self._reads = self._reads, []
        if self._size > _QUEUE_BYTES and self._transport is not None:
            self._transport.resume_reading()
        self._size = 0
        return reads


class EventSource:
    """Read the events of one URL, in batches.

    Parameters
    ----------
    url : str
        ``http://`` or ``https://``. Proxies of the environment are ignored, redirects are not followed.
    headers : mapping of str to str, or sequence of (name, value), optional
        More request headers; in a sequence a name may come twice. No ``Origin``, no cookies and no wish for
        compression are sent.
    auth : (str, str), optional
        User and password for HTTP Basic.
    open_timeout_s : float, default 30
        Until the response's headers are there.
    read_timeout_s : float, optional
        Longest silence; heartbeats and comments break it. None: wait for ever.
    limit_bytes : int, default 64 MiB
        Longest event; a longer one is a :class:`ProtocolError`.
    redactor : Redactor, optional
        Cleans error texts and excerpts.

    Attributes
    ----------
    parser : SSEParser
        Holds the counters ``n_events, n_bytes, n_comments, n_truncated, retry``.
    ended : {None, "closed", "clean", "failed", "silent"}
        None while it runs; closed by us, ended by the server in good order, broken, or silent for too long.
    error : str or None
        Redacted reason of ``"failed"`` and ``"silent"``.
    t_open, t_last : int
        Stamps in ns of the response's headers and of the last read.

    Raises
    ------
    StartupError
        On entering: no connection.
    DriverTimeout
        On entering: no response in time.
    ProtocolError
        On entering: a status other than 200, another content type, a compressed body. While reading: an event
        over the limit.

    Examples
    --------
    ::

        async with EventSource("http://127.0.0.1:4096/event", read_timeout_s=25) as source:
            async for events in source:
                for event in events:
                    print(event.t, event.data)
        print(source.ended, source.parser.n_truncated)
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        auth: tuple[str, str] | None = None,
        open_timeout_s: float = 30,
        read_timeout_s: float | None = None,
        limit_bytes: int = 64 * 2**20,
        redactor: Redactor | None = None,
    ) -> None:
        self.parser = SSEParser(limit_bytes=limit_bytes)
        self.ended: Ended | None = None
        self.error: str | None = None
        self.t_open = 0
        self._url = url
        more = headers.items() if isinstance(headers, Mapping) else headers
        self._headers = [("Accept", "text/event-stream"), ("Cache-Control", "no-store"), *more]
        if auth is not None:
            token = base64.b64encode(":".join(auth).encode()).decode()
            self._headers.append(("Authorization", f"Basic {token}"))
        self._open_timeout_s = open_timeout_s
        self._read_timeout_s = read_timeout_s
        self._redact = (redactor or Redactor(secrets=auth[1:] if auth else ())).redact
        self._session: aiohttp.ClientSession | None = None
        self._response: aiohttp.ClientResponse | None = None
        self._tap: _Tap | None = None
        self._watch: asyncio.TimerHandle | None = None

    @property
    def t_last(self) -> int:
        """Stamp of the last read, ns; 0 before the first."""
        return self._tap.t if self._tap else self.t_open

    async def __aenter__(self) -> Self:
        """Connect, and return when the response is known to be an event stream."""
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None),
            connector=aiohttp.TCPConnector(limit=1, force_close=True, ssl=self._trust()),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("Accept-Encoding",),
            trust_env=False,
        )
        try:
            async with asyncio.timeout(self._open_timeout_s):
                await self._open(self._session)
        except BaseException as error:
            self._end("failed", error)
            await self.aclose()
            if isinstance(error, TimeoutError):
                what = f"{self._where} sent no response within {self._open_timeout_s:g} s"
                raise DriverTimeout(what, phase="startup") from None
            if isinstance(error, aiohttp.ClientError | OSError | ValueError):
                raise StartupError(f"{self._where} cannot be opened: {self.error}", phase="startup") from None
            raise
        return self

    def _trust(self) -> ssl.SSLContext | bool:
        """Return whom the system and SSL_CERT_FILE trust now; aiohttp keeps what they did at its import."""
        return ssl.create_default_context() if self._url.startswith("https:") else True

    async def _open(self, session: aiohttp.ClientSession) -> None:
        response = self._response = await session.get(self._url, headers=self._headers, allow_redirects=False)
        self.t_open = time.monotonic_ns()
        if response.status != 200:
            raise await self._refusal(response, f"status {response.status}")
        if response.content_type != "text/event-stream":
            raise await self._refusal(response, f"content type {response.content_type!r}")
        coding = response.headers.get("Content-Encoding", "identity")
        if coding != "identity":
            raise await self._refusal(response, f"compressed ({coding}) although not asked for")
        connection = response.connection  # None when the whole body came with the headers
        self._tap = _Tap(connection.transport if connection else None, response.content)
        if self._read_timeout_s is not None:
            self._watch_silence(self._tap, self._read_timeout_s)

    async def _refusal(self, response: aiohttp.ClientResponse, what: str) -> ProtocolError:
        body = await response.content.read(2000)
        hint = "; give auth=(user, password)" if response.status == 401 else ""
        return ProtocolError(
            f"{self._where} is no event stream: {self._redact(what)}{hint}",
            offset=0,
            excerpt=self._redact(body),
            phase="startup",
        )

    @property
    def _where(self) -> str:
        return f"event stream {self._redact(self._url)}"

    def __aiter__(self) -> Self:
        """Iterate over batches: the events that were complete when the task got its turn."""
        return self

    async def __anext__(self) -> list[SSEEvent]:
        """Return the next events, at least one."""
        if self._tap is None:
            raise RuntimeError("enter the EventSource first: async with EventSource(...) as source")
        try:
            while self.parser.error is None and (reads := await self._tap.read()):
                if events := self._parse(reads):
                    return events
            self.parser.close()
        except ProtocolError as error:
            self._end("failed", error)
            raise
        self._end("failed" if self._tap.error else "clean", self._tap.error)
        raise StopAsyncIteration

    def _parse(self, reads: list[tuple[int, bytes]]) -> list[SSEEvent]:
        events: list[SSEEvent] = []
        try:
            for t, body in reads:
                events += self.parser.feed(body, t)
        except ProtocolError:  # close() raises it again, once the events before it are delivered
            if not events:
                raise
        return events

    def _watch_silence(self, tap: _Tap, limit_s: float) -> None:
        """Look again when the limit could be reached at the earliest: no timer is touched by a read."""
        silent_s = 0.0 if tap.unread else (time.monotonic_ns() - tap.t) / 1e9
        if silent_s < limit_s:
            loop = asyncio.get_running_loop()
            self._watch = loop.call_later(limit_s - silent_s, self._watch_silence, tap, limit_s)
        else:
            self._end("silent", TimeoutError(f"no byte for {limit_s:g} s"))
            tap.finish(None)

    def _end(self, ended: Ended, error: BaseException | None = None) -> None:
        if self.ended is None:
            self.ended = ended
            if error is not None:
                self.error = self._redact(str(error) or type(error).__name__)

    async def aclose(self) -> None:
        """Close the connection; a task that is reading sees the end of the iteration."""
        self._end("closed")
        if self._watch is not None:
            self._watch.cancel()
        if self._tap is not None:
            self._tap.finish(None)
        if self._response is not None:
            self._response.close()
        if self._session is not None:
            await self._session.close()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        await self.aclose()
