"""Pass calls on to a provider in their own dialect, truly streamed: bytes go on as they come.

The provider's key is added here and never reaches an agent; redirects are refused; of an error only the
status crosses back, its body is dropped unread. A stream that ends without its final event resets the agent's
connection, because several agents otherwise act on the truncated rest. An address at which nobody answers is
refused for good, unless somebody did a moment ago: then the agent may ask again. For either nothing was sent.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Mapping

import aiohttp

from ..errors import ProtocolError
from ..wire.sse import SSEEvent, SSEParser
from .admission import Refusal
from .call import Call, refuse
from .dialects.base import Dialect, Reader

_CONNECT_S = 10.0
#: How long a provider that has answered may be away before its address is taken for a dead one.
_PATIENCE_S = 30.0
_COMMENT = b":\n\n"
#: Headers of the agent that do not go on: of the connection, of its login, of a browser.
_KEPT_BACK = frozenset(
    {
        "accept-encoding",
        "authorization",
        "connection",
        "content-encoding",  # the body was unpacked here
        "content-length",
        "cookie",
        "expect",
        "forwarded",
        "host",
        "keep-alive",
        "origin",
        "proxy-authorization",
        "proxy-connection",
        "referer",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-api-key",
        "x-goog-api-key",
    }
)


_VERSION = re.compile(r"/v(\d+)[a-z]*\d*$")


class ProviderUpstream:
    """Pass calls on.

    Parameters
    ----------
    url : str
        The provider's base URL as its clients are configured with it: ``https://api.example.com/v1`` for chat
        and responses, without ``/v1`` for messages and gemini (with it is right as well).
    key : str or None
        Its key, sent in the header that each dialect's provider takes it in.
    """

    def __init__(self, url: str, *, key: str | None) -> None:
        self._url = url.rstrip("/")
        self._key = key
        self._session: aiohttp.ClientSession | None = None
        self._reached_s = -math.inf

    async def answer(self, call: Call) -> None:
        """Pass one call on and its reply back.

        Parameters
        ----------
        call : Call
            Under way.
        """
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=None, connect=_CONNECT_S),
                connector=aiohttp.TCPConnector(limit=0),  # nobody waits for another's request
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        asking = call.dialect.asking_usage(call.request)
        try:
            async with self._session.post(
                _join(self._url, call.target),
                data=call.body if asking is None else asking,
                headers=self._headers(call.headers, call.dialect),
                allow_redirects=False,
            ) as reply:
                self._reached_s = time.monotonic()
                await self._back(call, reply, drop_usage=asking is not None)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL) as error:
            away = time.monotonic() - self._reached_s < _PATIENCE_S
            code, status = ("upstream_away", 502) if away else ("upstream_unreachable", 400)
            why = Refusal(f"{code}: {_why_unreachable(error)}")
            await refuse(call.wire, call.dialect, call.exchange, why, status=status)
        except aiohttp.ClientError:
            await _lost(call)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    def _headers(self, given: Mapping[str, str], dialect: Dialect) -> dict[str, str]:
        headers = {name: value for name, value in given.items() if name.lower() not in _KEPT_BACK}
        headers["accept-encoding"] = "identity"
        if self._key is not None:
            headers |= dialect.login(self._key)
        return headers

    async def _back(self, call: Call, reply: aiohttp.ClientResponse, *, drop_usage: bool) -> None:
        if not 200 <= reply.status < 300:
            reply.close()
            message = f"the provider answered with HTTP {reply.status}"
            if reply.status < 400:
                why = Refusal(f"upstream_redirect: {message}")
                await refuse(call.wire, call.dialect, call.exchange, why)
                return
            call.exchange.status, call.exchange.fault = reply.status, "status"
            await call.wire.send(reply.status, call.dialect.error_body(reply.status, message))
            return
        call.exchange.status = reply.status
        if reply.content_type == "text/event-stream":
            await _stream(call, reply, drop_usage=drop_usage)
        else:
            await _whole(call, reply)


async def _stream(call: Call, reply: aiohttp.ClientResponse, *, drop_usage: bool) -> None:
    parser, reader = SSEParser(), call.dialect.reader()
    await call.wire.start(200, "text/event-stream")
    try:
        async for part in reply.content.iter_any():
            events = parser.feed(part, time.monotonic_ns())
            heard = [(event, *reader.event(event.data)) for event in events]
            if drop_usage:
                kept = b"".join(_again(event) for event, _, usage_only in heard if not usage_only)
                part = kept or (_COMMENT if part.startswith(b":") else b"")  # by which it says: not dead yet
            t = time.monotonic_ns()
            if part:
                await call.wire.write(part)
            call.exchange.chunks([piece for _, pieces, _ in heard for piece in pieces], t=t)
    except ProtocolError:  # an event without end
        reader.malformed = True
    finally:
        _note(call, reader)
    _doubt(call, reader)
    if reader.terminal_seen:
        await call.wire.end()
    else:
        call.wire.reset()


async def _whole(call: Call, reply: aiohttp.ClientResponse) -> None:
    body = await reply.read()
    reader = call.dialect.reader()
    pieces = reader.whole(body)
    t = time.monotonic_ns()
    await call.wire.send(200, body)
    call.exchange.chunks(pieces, t=t)
    _note(call, reader)
    _doubt(call, reader)


def _note(call: Call, reader: Reader) -> None:
    """Note what was heard of the end."""
    call.exchange.terminal_seen, call.exchange.finish = reader.terminal_seen, reader.finish
    call.exchange.model = reader.model
    call.exchange.report(reader.usage)


def _doubt(call: Call, reader: Reader) -> None:
    """Say what was wrong with a reply that came to its end."""
    if reader.error:
        call.exchange.fault = "error"
    elif reader.malformed:
        call.exchange.fault = "garbage"
    elif not reader.terminal_seen:
        call.exchange.fault = "cut"


async def _lost(call: Call) -> None:
    """The provider's connection failed under way: before its reply, or in it."""
    call.exchange.fault = "reset"
    if call.exchange.status is not None:
        call.wire.reset()
        return
    call.exchange.status, call.exchange.reason = 502, "upstream_lost"
    await call.wire.send(502, call.dialect.error_body(502, "the provider hung up without an answer"))


def _why_unreachable(error: aiohttp.ClientError) -> str:
    """Say why there is no connection, in words that name no address."""
    if isinstance(error, aiohttp.InvalidURL):
        return "no such address"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "the name of the host is not known"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "its certificate is not trusted"
    if isinstance(error, aiohttp.ClientSSLError):
        return "no TLS connection"
    if isinstance(error, aiohttp.ClientConnectorError) and error.os_error.errno:
        return os.strerror(error.os_error.errno).lower()
    return f"no connection within {_CONNECT_S:g} s"


def _join(url: str, target: str) -> str:
    """Put a call's path below a provider's base URL.

    A version that ends the one gives way to that which begins the other: one address with ``/v1`` is right
    for all wires, Gemini's ``/v1beta`` included.
    """
    root, ended = _VERSION.sub("", url), _VERSION.search(url)
    begun = _VERSION.search("/" + target.removeprefix("/").partition("/")[0])
    return root + target if ended and begun and ended[1] == begun[1] else url + target


def _again(event: SSEEvent) -> bytes:
    """Spell an event again."""
    head = b"" if event.event == "message" else b"event: " + event.event.encode() + b"\n"
    return head + b"data: " + event.data.replace(b"\n", b"\ndata: ") + b"\n\n"
