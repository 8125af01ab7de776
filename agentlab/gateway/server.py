"""The gateway's own process: ``python -m agentlab.gateway.server``.

One line of settings comes in on stdin, one line with URL, token and process id goes out on stdout; after that
each line in is an order and each line out its acknowledgement. End of stdin means that the owner is gone: the
process ends at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import hmac
import json
import os
import secrets
import signal
import socket
import struct
import sys
import time
from collections.abc import Mapping
from typing import Any, NoReturn

from aiohttp import web

from ..errors import AgentlabError
from . import dialects
from .attribution import Attribution, Link, Owner
from .call import Call, Upstream, Wire
from .dialects.base import BadRequest, Dialect, ModelRequest, Route
from .exchange import Exchange
from .journal import Journal
from .player import ScriptedUpstream
from .script import ScriptedModel
from .settings import Gateway

_MAX_BODY = 64 * 2**20


class Server:
    """Answer agents on the loopback interface.

    Parameters
    ----------
    gateway : Gateway
        The settings.
    idle : Owner
        Of requests while no run is under way.
    keep_content : bool
        Whether prompts and answers are recorded.
    key : str or None
        The provider's key.
    """

    def __init__(
        self, gateway: Gateway, *, idle: Owner, keep_content: bool = False, key: str | None = None
    ) -> None:
        self.token = secrets.token_urlsafe(24)
        self.port = 0
        self._gateway = gateway
        self._upstream = _upstream(gateway, key)
        self._idle = idle
        self._keep = keep_content
        self._journal = Journal()
        self._attribution = Attribution(idle)
        self._open: set[Exchange] = set()
        self._refused: dict[str, int] = {}
        self._number = 0
        self._started = time.monotonic()

    async def listen(self) -> None:
        """Bind to a free port of 127.0.0.1."""
        # A cancelled handler is how an agent that went away is seen.
        runner = web.ServerRunner(web.Server(self.handle, handler_cancellation=True, access_log=None))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.port = int(runner.addresses[0][1])

    async def handle(self, http: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request.

        Parameters
        ----------
        http : aiohttp.web.BaseRequest
            From an agent.

        Returns
        -------
        aiohttp.web.StreamResponse
        """
        wire = _HttpWire(http)
        if http.method == "HEAD" and http.path == "/":  # Claude Code asks whether anybody is there
            await wire.send(200, b"")
            return wire.response
        route = dialects.route(http.method, http.path)
        wrong = self._wrong(http, route)
        if route is None or wrong is not None:
            self._refused[str(wrong)] = self._refused.get(str(wrong), 0) + 1
            dialect = route.dialect if route else dialects.DIALECTS["chat"]
            await wire.send(403, dialect.error_body(403, f"refused by the gateway: wrong {wrong}"))
            return wire.response
        dialect = route.dialect
        body = await _read(http)
        t = time.monotonic_ns()
        self._number += 1
        request, refusal = self._read_request(route, body)
        session, owner = self._attribution.owner(http.headers, request)
        exchange = Exchange(self._journal, number=self._number, owner=owner, keep_content=self._keep)
        self._open.add(exchange)
        try:
            key = session if session is not None else f"run {owner.run_id}"
            link = Link() if request is None else self._attribution.link(key, exchange.number, request)
            exchange.begin(
                t, session=session, dialect=dialect, path=http.path, body=body, request=request, link=link
            )
            if request is None or refusal is not None:
                await _refuse(wire, dialect, exchange, str(refusal))
                return wire.response
            call = Call(
                wire=wire,
                dialect=dialect,
                request=request,
                headers=http.headers,
                body=body,
                target=route.target + _query(http),
                exchange=exchange,
                session=key,
                owner=owner,
                start_ns=t,
            )
            await self._answer(call)
        finally:
            exchange.end()
            self._open.discard(exchange)
        return wire.response

    async def _answer(self, call: Call) -> None:
        exchange = call.exchange
        try:
            await self._upstream.answer(call)
        except (asyncio.CancelledError, ConnectionError) as error:
            if not exchange.terminal_seen:  # else it had all of its answer
                exchange.fault = exchange.fault or "client_gone"
            if isinstance(error, asyncio.CancelledError):
                raise
        except AgentlabError as error:  # a cache rule of the user's
            if exchange.status is None:
                await _refuse(call.wire, call.dialect, exchange, f"gateway_error: {error}")
            else:
                exchange.reason = f"gateway_error: {error}"
                call.wire.reset()

    def _wrong(self, http: web.BaseRequest, route: Route | None) -> str | None:
        """Say what is wrong with a call's address or login, or None."""
        if route is None:
            return "path" if dialects.route("POST", http.path) is None else "method"
        if http.headers.get("host") not in (f"127.0.0.1:{self.port}", f"localhost:{self.port}"):
            return "host"
        scheme, _, bearer = http.headers.get("authorization", "").partition(" ")
        given = [bearer.strip() if scheme.lower() == "bearer" else "", http.query.get("key", "")]
        given += [http.headers.get(name, "") for name in ("x-api-key", "x-goog-api-key")]
        right = [
            hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()) for token in given
        ]
        return None if any(right) else "token"

    def _read_request(self, route: Route, body: bytes) -> tuple[ModelRequest | None, str | None]:
        """Return the request and why it is refused."""
        try:
            request = route.parse(body)
        except BadRequest as error:
            return None, f"invalid_body: {error}"
        limit, seconds = self._gateway.max_requests, self._gateway.max_seconds
        over = limit is not None and self._number > limit
        late = seconds is not None and time.monotonic() - self._started > seconds
        return request, "limit" if over or late else None

    def order(self, line: bytes) -> dict[str, Any]:
        """Carry out one order of the owner.

        Parameters
        ----------
        line : bytes
            JSON: ``op`` is ``"run"`` (with ``run_id``, ``arm``, ``file``; ``run_id`` null: none is under
            way), ``"sync"`` (nothing but the acknowledgement) or ``"close"``.

        Returns
        -------
        dict
            The acknowledgement: ``ok``; ``open`` = requests of the run before that are still open;
            ``failed`` = why lines could not be written; ``refused`` = 403s by what was wrong.
        """
        try:
            order = json.loads(line)
            op = order["op"]
        except (ValueError, KeyError, TypeError):
            return {"ok": False, "error": "not an order"}
        n_open = 0
        if op == "run":
            n_open = self._change_run(order.get("run_id"), order.get("arm"), order.get("file"))
        elif op == "close":
            self.end()
        elif op != "sync":
            return {"ok": False, "error": f"there is no order {op!r}"}
        return {
            "ok": True,
            "op": op,
            "open": n_open,
            "failed": self._journal.failed,
            "refused": self._refused,
        }

    def _change_run(self, run_id: str | None, arm: str | None, file: str | None) -> int:
        before = self._attribution.current
        none = dataclasses.replace(self._idle, warm_up=True)
        owner = none if run_id is None else Owner(run_id, arm, file)
        self._attribution.current = owner
        self._journal.close(before.file)
        self._journal.open(owner.file)
        return sum(exchange.owner is before for exchange in self._open)

    def end(self) -> None:
        """Write what is still open as ended."""
        for exchange in self._open:
            exchange.reason = exchange.reason or "gateway_closed"
            exchange.end()
        self._journal.close_all()


class _HttpWire:
    """The agent's connection."""

    def __init__(self, http: web.BaseRequest) -> None:
        self._http = http
        self.response: web.StreamResponse = web.StreamResponse()

    async def start(self, status: int, content_type: str) -> None:
        headers = {"content-type": content_type, "cache-control": "no-cache"}
        self.response = web.StreamResponse(status=status, headers=headers)
        await self.response.prepare(self._http)

    async def write(self, data: bytes) -> None:
        try:
            await self.response.write(data)
        except (
            ConnectionError
        ):  # aiohttp's own kind is also its client's: an upstream must not take it for its own
            raise ConnectionResetError("the agent is gone") from None

    async def end(self) -> None:
        try:
            await self.response.write_eof()
        except ConnectionError:
            raise ConnectionResetError("the agent is gone") from None

    async def send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.response = web.StreamResponse(status=status, headers=headers)
        self.response.content_type = "application/json"
        self.response.content_length = len(body)
        await self.response.prepare(self._http)
        await self.write(body)
        await self.end()

    def reset(self) -> None:
        transport = self._http.transport
        if transport is None:
            return
        with contextlib.suppress(OSError, AttributeError):  # linger 0: close sends a reset
            linger = struct.pack("ii", 1, 0)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        transport.abort()


def _upstream(gateway: Gateway, key: str | None) -> Upstream:
    if isinstance(gateway.upstream, ScriptedModel):
        return ScriptedUpstream(gateway.upstream)
    from .upstream import ProviderUpstream

    return ProviderUpstream(gateway.upstream, key=key)


async def _refuse(wire: Wire, dialect: Dialect, exchange: Exchange, why: str) -> None:
    """Refuse with 400: the one status that no agent repeats."""
    exchange.status, exchange.reason = 400, why
    await wire.send(400, dialect.error_body(400, f"refused by the gateway: {why}"))


def _query(http: web.BaseRequest) -> str:
    """Return the query as it was sent, without the gateway's token."""
    parts = http.rel_url.raw_query_string.split("&")
    kept = "&".join(part for part in parts if part and not part.startswith("key="))
    return f"?{kept}" if kept else ""


async def _read(http: web.BaseRequest) -> bytes:
    """Read a body; one that is too large is cut, and then is no JSON."""
    parts: list[bytes] = []
    size = 0
    async for part in http.content.iter_any():
        size += len(part)
        if size <= _MAX_BODY:
            parts.append(part)
    return b"".join(parts)


def _say(message: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(message).encode() + b"\n")


async def _serve() -> None:
    reader = asyncio.StreamReader(limit=2**26)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    line = await reader.readline()
    if not line:
        return
    try:
        settings = json.loads(line)
        server = Server(
            Gateway.from_dict(settings["gateway"]),
            idle=Owner(file=settings.get("file")),
            keep_content=settings.get("keep") == "content",
            key=settings.get("key"),
        )
        await server.listen()
    except (AgentlabError, OSError, ValueError, KeyError, TypeError) as error:
        _say({"error": str(error), "type": type(error).__name__})
        return
    gc.freeze()  # what is loaded by now is never swept again: no pause from it
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _leave, server)
    _say({"url": f"http://127.0.0.1:{server.port}", "token": server.token, "pid": os.getpid()})
    while line := await reader.readline():
        answer = server.order(line)
        _say(answer)
        if answer.get("op") == "close":
            break
    _leave(server)


def _leave(server: Server) -> NoReturn:
    """End at once: connections and sleeping replies end with the process, nothing outlives the owner."""
    server.end()
    os._exit(0)


def main() -> None:
    """Run the process."""
    asyncio.run(_serve())


if __name__ == "__main__":
    main()
