"""The gateway's own process: ``python -m agentlab.gateway.server``.

One line of settings comes in on stdin, one line with URL, token and process id goes out on stdout; after that each
line in is an order and each line out its acknowledgement. End of stdin means that the owner is gone: the process ends
at once.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import secrets
import sys
import time
from typing import Any

from aiohttp import web

from ..errors import AgentlabError
from .attribution import Attribution, Link, Owner
from .dialects import DIALECTS
from .dialects.base import BadRequest, Dialect, ModelRequest
from .exchange import Exchange
from .journal import Journal
from .player import Player
from .scripted import Model
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
    """

    def __init__(self, gateway: Gateway, *, idle: Owner, keep_content: bool) -> None:
        self.token = secrets.token_urlsafe(24)
        self.port = 0
        self.refused: dict[str, int] = {}
        self.journal = Journal()
        self.attribution = Attribution(idle)
        self.idle = idle
        self.open: set[Exchange] = set()
        self._gateway = gateway
        self._model = Model(gateway.upstream)
        self._keep = keep_content
        self._number = 0
        self._started = time.monotonic()
        self._dialects = {dialect.path: dialect for dialect in DIALECTS.values()}

    async def listen(self) -> None:
        """Bind to a free port of 127.0.0.1."""
        # Cancelled handlers are how a client that went away is seen.
        runner = web.ServerRunner(web.Server(self.handle, handler_cancellation=True, access_log=None))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.port = int(runner.addresses[0][1])

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request.

        Parameters
        ----------
        request : aiohttp.web.BaseRequest
            From an agent.

        Returns
        -------
        aiohttp.web.StreamResponse
        """
        dialect = self._dialects.get(request.path)
        wrong = self._wrong(request, dialect)
        if dialect is None or wrong is not None:
            self.refused[wrong or "path"] = self.refused.get(wrong or "path", 0) + 1
            return _json(
                403, (dialect or DIALECTS["chat"]).error_body(403, f"refused by the gateway: {wrong}")
            )
        body = await _read(request)
        t = time.monotonic_ns()
        self._number += 1
        session, owner = self.attribution.owner(request.headers)
        exchange = Exchange(self.journal, number=self._number, owner=owner, keep_content=self._keep)
        self.open.add(exchange)
        try:
            parsed, refusal = self._parse(dialect, body)
            key = session if session is not None else f"run {owner.run_id}"
            link = self.attribution.link(key, exchange.number, parsed) if parsed else Link()
            exchange.begin(
                t, session=session, dialect=dialect, path=request.path, body=body, request=parsed, link=link
            )
            if parsed is None or refusal is not None:
                exchange.status, exchange.reason = 400, refusal
                return _json(400, dialect.error_body(400, f"refused by the gateway: {refusal}"))
            namespace = owner.namespace(self._gateway.upstream.cache.scope)
            answer = self._model.answer(parsed, dialect=dialect, session=key, namespace=namespace)
            player = Player(
                self._model, dialect=dialect, request=parsed, answer=answer, exchange=exchange, start_ns=t
            )
            return await player.play(request)
        finally:
            exchange.end()
            self.open.discard(exchange)

    def _wrong(self, request: web.BaseRequest, dialect: Dialect | None) -> str | None:
        """Say what is wrong with a request's address, or None."""
        if dialect is None:
            return "path"
        if request.method != "POST":
            return "method"
        if request.headers.get("host") not in (f"127.0.0.1:{self.port}", f"localhost:{self.port}"):
            return "host"
        given = request.headers.get("authorization", "")
        scheme, _, value = given.partition(" ")
        tokens = [value.strip() if scheme.lower() == "bearer" else ""]
        tokens += [request.headers.get(name, "") for name in ("x-api-key", "x-goog-api-key")]
        tokens.append(request.query.get("key", ""))
        right = [
            hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()) for token in tokens
        ]
        return None if any(right) else "token"

    def _parse(self, dialect: Dialect, body: bytes | None) -> tuple[ModelRequest | None, str | None]:
        """Return the request and why it is refused."""
        try:
            parsed = dialect.parse(body)
        except BadRequest as error:
            return None, f"invalid_body: {error}"
        limit, seconds = self._gateway.max_requests, self._gateway.max_seconds
        over = limit is not None and self._number > limit
        late = seconds is not None and time.monotonic() - self._started > seconds
        return parsed, "limit" if over or late else None

    def order(self, line: bytes) -> dict[str, Any]:
        """Carry out one order of the owner.

        Parameters
        ----------
        line : bytes
            JSON with ``op``.

        Returns
        -------
        dict
            The acknowledgement.
        """
        try:
            order = json.loads(line)
            op = order["op"]
        except (ValueError, KeyError, TypeError):
            return {"ok": False, "error": "not an order"}
        if op == "run":
            before, run_id = self.attribution.current, order.get("run_id")
            owner = self.idle if run_id is None else Owner(run_id, order.get("arm"), order.get("file"))
            self.attribution.current = owner
            n_open = sum(exchange.owner is before for exchange in self.open)
            return {
                "ok": True,
                "op": op,
                "open": n_open,
                "failed": self.journal.failed,
                "refused": self.refused,
            }
        if op == "close":
            return {"ok": True, "op": op, "failed": self.journal.failed, "refused": self.refused}
        return {"ok": False, "error": f"no order {op!r}"}

    def end(self) -> None:
        """Write what is still open as ended."""
        for exchange in list(self.open):
            exchange.reason = "gateway_closed"
            exchange.end()
        self.journal.close()


async def _read(request: web.BaseRequest) -> bytes:
    """Read a body; one that is too large is cut, and then is no JSON."""
    parts: list[bytes] = []
    size = 0
    async for part in request.content.iter_any():
        size += len(part)
        if size <= _MAX_BODY:
            parts.append(part)
    return b"".join(parts)


def _json(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json")


def _say(message: dict[str, Any]) -> None:
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
        )
        await server.listen()
    except (AgentlabError, OSError, ValueError, KeyError, TypeError) as error:
        _say({"error": f"{type(error).__name__}: {error}"})
        return
    _say({"url": f"http://127.0.0.1:{server.port}", "token": server.token, "pid": os.getpid()})
    while line := await reader.readline():
        answer = server.order(line)
        if answer.get("op") == "close":
            server.end()
            _say(answer)
            break
        _say(answer)
    server.end()
    # Connections, sleeping replies and threads end with the process: nothing may outlive the owner.
    os._exit(0)


def main() -> None:
    """Run the process."""
    asyncio.run(_serve())


if __name__ == "__main__":
    main()
