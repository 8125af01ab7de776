"""Pass calls on to a provider in their own dialect, truly streamed: bytes go on as they come.

The provider's key is added here and never reaches an agent; redirects are refused; of an error only the
status crosses back, its body is dropped unread. A stream that ends without its final event resets the agent's
connection, because several agents otherwise act on the truncated rest. An address at which nobody answers is
refused for good, unless somebody did a moment ago: then the agent may ask again. For either nothing was sent.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from ..errors import ProtocolError
from ..wire.sse import SSEEvent, SSEParser
from .admission import Refusal
from .call import Call, refuse
from .dialects.base import Dialect, Reader
from .httpclient import Client, Lost, Reply, Unreachable

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
        self._client = Client(url)
        self._path = urlsplit(url).path.rstrip("/")
        self._key = key
        self._reached_s = -math.inf

    async def answer(self, call: Call) -> None:
        """Pass one call on and its reply back.

        Parameters
        ----------
        call : Call
            Under way.
        """
        asking = call.dialect.asking_usage(call.request)
        try:
            reply = await self._client.post(
                _join(self._path, call.target),
                self._headers(call.headers, call.dialect),
                call.body if asking is None else asking,
            )
            try:
                self._reached_s = time.monotonic()
                await _back(call, reply, drop_usage=asking is not None)
            finally:
                reply.close()
        except Unreachable as error:
            away = time.monotonic() - self._reached_s < _PATIENCE_S
            code, status = ("upstream_away", 502) if away else ("upstream_unreachable", 400)
            why = Refusal(f"{code}: {error}", "nobody answers at the provider's address")
            await refuse(call.wire, call.dialect, call.exchange, why, status=status)
        except Lost:
            await _lost(call)

    async def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _headers(self, given: Mapping[str, str], dialect: Dialect) -> dict[str, str]:
        headers = {name: value for name, value in given.items() if name not in _KEPT_BACK}
        headers["accept-encoding"] = "identity"
        if self._key is not None:
            headers |= dialect.login(self._key)
        return headers


async def _back(call: Call, reply: Reply, *, drop_usage: bool) -> None:
    if not 200 <= reply.status < 300:
        message = f"the provider answered with HTTP {reply.status}"
        if reply.status < 400:
            why = Refusal(f"upstream_redirect: {message}", "the provider's address leads elsewhere")
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


async def _stream(call: Call, reply: Reply, *, drop_usage: bool) -> None:
    parser, reader = SSEParser(), call.dialect.reader()
    await call.wire.start(200, "text/event-stream")
    try:
        while part := await reply.part():
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


async def _whole(call: Call, reply: Reply) -> None:
    body = await reply.whole()
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
