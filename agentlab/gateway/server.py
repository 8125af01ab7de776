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
import sys
import time
import traceback
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NoReturn
from urllib.parse import quote

from ..errors import AgentlabError
from . import dialects
from .admission import Refusal
from .attribution import Attribution, Link, Owner
from .call import Call, Upstream, Wire, refuse
from .dialects.base import BadRequest, ModelRequest, Route
from .exchange import Exchange
from .gate import Arrival, Decision, Gate
from .httpwire import Connection, HttpRequest, HttpWire
from .journal import Journal
from .ledger import Ledger
from .packing import PACKED
from .player import ScriptedUpstream
from .sameusage import SameUsage
from .script import ScriptedModel
from .settings import Gateway, price_to_dict
from .tape import Tape, tape_file
from .tapeplayer import TapeUpstream
from .taperecorder import TapeWire
from .toolserver import PATH as TOOLS_PATH
from .toolserver import ToolServer

_TOOLS_METHODS = ("GET", "POST")
_SAFE = "/:@!$&'()*+,;="  # of RFC 3986 in a path


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
    ledger : Ledger, optional
        Where money and refusals are written down; None: in memory.
    """

    def __init__(
        self,
        gateway: Gateway,
        *,
        idle: Owner,
        keep_content: bool = False,
        key: str | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.token = secrets.token_urlsafe(24)
        self.port = 0
        self._gateway = gateway
        self._upstream = _upstream(gateway, key)
        self._idle = idle
        self._keep = keep_content
        self._journal = Journal(self.token)
        self._attribution = Attribution(idle)
        self._tools = ToolServer(self._journal, keep_content=keep_content)
        self._open: set[Exchange] = set()
        self._refused: dict[str, int] = {}
        self._number = 0
        self._ledger = Ledger(None) if ledger is None else ledger
        self._gate = Gate(gateway, self._ledger, t=time.monotonic_ns())

    async def listen(self) -> None:
        """Bind to a free port of 127.0.0.1."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Connection(self.handle), "127.0.0.1", 0, backlog=1024)
        self.port = int(server.sockets[0].getsockname()[1])

    async def handle(self, http: HttpRequest, wire: HttpWire) -> None:
        """Answer one HTTP request.

        Parameters
        ----------
        http : HttpRequest
            From an agent. When it goes away, this is cancelled.
        wire : HttpWire
            Its connection.
        """
        if http.method == "HEAD" and http.path == "/":  # Claude Code asks whether anybody is there
            await wire.send(200, b"")
            return
        if http.path == TOOLS_PATH and http.method in _TOOLS_METHODS and self._stranger(http) is None:
            owner = self._attribution.current
            status, answer = await self._tools.answer(http.method, http.body, owner)
            await wire.send(status, json.dumps(answer).encode())
            return
        route = dialects.route(http.method, http.path)
        wrong = self._wrong(http, route)
        if route is None or wrong is not None:
            self._refused[str(wrong)] = self._refused.get(str(wrong), 0) + 1
            dialect = route.dialect if route else dialects.DIALECTS["chat"]
            await wire.send(403, dialect.error_body(403, f"refused by the gateway: wrong {wrong}"))
            return
        body = http.body
        self._number += 1
        request, bad = _parse(route, http)
        session, owner = self._attribution.owner(http.headers)
        exchange = Exchange(self._journal, number=self._number, owner=owner, keep_content=self._keep)
        self._open.add(exchange)
        try:
            arrival = Arrival(
                route=route, body=body, number=self._number, owner=owner, session=session, t=http.t
            )
            decision = self._gate.decide(arrival, request, bad)
            exchange.money = decision.settle
            call = self._begin(http, wire, arrival, decision, exchange)
            if call is None:
                await refuse(wire, route.dialect, exchange, decision.refusal)
            else:
                await self._answer(call)
        finally:
            exchange.end()
            self._open.discard(exchange)

    def _begin(
        self, http: HttpRequest, wire: Wire, arrival: Arrival, decision: Decision, exchange: Exchange
    ) -> Call | None:
        """Record a request's begin; return what is to be answered, or None for a refusal."""
        route, request, reserved = arrival.route, decision.request, decision.reserved
        key = arrival.session if arrival.session is not None else f"run {arrival.owner.run_id}"
        link = Link() if request is None else self._attribution.link(key, exchange.number, request)
        exchange.begin(
            arrival.t,
            session=arrival.session,
            dialect=route.dialect,
            path=http.path,
            body=decision.body,
            request=request,
            link=link,
            money=None if reserved is None else reserved.evidence,
        )
        if request is None or decision.refusal is not None:
            return None
        if self._same_usage(route):
            wire = SameUsage(wire, route.dialect)
        if self._keep:
            wire = TapeWire(wire, self._journal, exchange)
            wire.begin(arrival.t, dialect=route.dialect, request=request, chain=link.chain)
            exchange.on_end = wire.close
        return Call(
            wire=wire,
            dialect=route.dialect,
            request=request if reserved is None else reserved.request,
            headers=http.headers,
            body=decision.body if reserved is None else reserved.body,
            target=quote(route.target, safe=_SAFE) + http.target_query,
            exchange=exchange,
            session=key,
            chain=link.chain,
            owner=arrival.owner,
            start_ns=arrival.t,
        )

    def _same_usage(self, route: Route) -> bool:
        return self._gateway.mode == "pinned" and route.dialect.name == "chat"

    async def _answer(self, call: Call) -> None:
        exchange = call.exchange
        try:
            await self._upstream.answer(call)
            if exchange.refused:
                self._gate.note(call.owner, Refusal(str(exchange.reason)), request=exchange.number)
        except (asyncio.CancelledError, ConnectionError) as error:
            if not exchange.terminal_seen:  # else it had all of its answer
                exchange.fault = exchange.fault or "client_gone"
            if isinstance(error, asyncio.CancelledError):
                raise
        except Exception as error:  # e.g. of a cache rule of the user's
            if not isinstance(error, AgentlabError):
                traceback.print_exc()
            what = error if isinstance(error, AgentlabError) else type(error).__name__
            why = Refusal(f"gateway_error: {what}", "what happened stands in its evidence")
            if exchange.status is None:
                await refuse(call.wire, call.dialect, exchange, why)
            else:
                exchange.reason = why.reason
                call.wire.reset()

    def _wrong(self, http: HttpRequest, route: Route | None) -> str | None:
        """Say what is wrong with a call's address or login, or None."""
        if route is None and not (http.path == TOOLS_PATH and http.method in _TOOLS_METHODS):
            known = dialects.route("POST", http.path) is not None or http.path == TOOLS_PATH
            return "method" if known else "path"
        return self._stranger(http)

    def _stranger(self, http: HttpRequest) -> str | None:
        """Say what is wrong with a call's login, or None."""
        if http.headers.get("host") not in (f"127.0.0.1:{self.port}", f"localhost:{self.port}"):
            return "host"
        scheme, _, bearer = http.headers.get("authorization", "").partition(" ")
        given = [bearer.strip() if scheme.lower() == "bearer" else "", http.key]
        given += [http.headers.get(name, "") for name in ("x-api-key", "x-goog-api-key")]
        right = self.token.encode()
        said = (token.encode("utf-8", "replace") for token in given if token)
        return None if any(hmac.compare_digest(token, right) for token in said) else "token"

    def order(self, line: bytes) -> dict[str, Any]:
        """Carry out one order of the owner.

        Parameters
        ----------
        line : bytes
            JSON: ``op`` is ``"run"`` (with ``run_id``, ``arm``, ``file``; ``run_id`` null: none is under
            way), ``"tools"`` (with ``root``, null: none, and ``max_chars``), ``"sync"`` (nothing but the
            acknowledgement) or ``"close"``.

        Returns
        -------
        dict
            The acknowledgement: ``ok``; ``open`` = requests of the run before that are still open;
            ``failed`` = why lines could not be written; ``refused`` = 403s by what was wrong; ``endings`` =
            what ended which run; ``halted`` = why nothing more is admitted.
        """
        try:
            order = json.loads(line)
            op = order["op"]
        except (ValueError, KeyError, TypeError):
            return {"ok": False, "error": "not an order"}
        n_open = 0
        if op == "run":
            n_open = self._change_run(order.get("run_id"), order.get("arm"), order.get("file"))
        elif op == "tools":
            self._tools.serve(order.get("root"), max_chars=order["max_chars"])
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
            "endings": self._gate.endings,
            "halted": self._ledger.halted,
        }

    def _change_run(self, run_id: str | None, arm: str | None, file: str | None) -> int:
        before = self._attribution.current
        none = dataclasses.replace(self._idle, warm_up=True)
        owner = none if run_id is None else Owner(run_id, arm, file)
        self._attribution.current = owner
        if run_id is not None:
            self._gate.begin(run_id, t=time.monotonic_ns())
        self._journal.close(before.file)
        self._journal.close(None if before.file is None else tape_file(before.file))
        self._journal.open(owner.file)
        return sum(exchange.owner is before for exchange in self._open)

    def end(self) -> None:
        """Write what is still open as ended."""
        for exchange in self._open:
            exchange.reason = exchange.reason or "gateway_closed"
            exchange.end()
        self._journal.close_all()
        self._ledger.close()


def _parse(route: Route, http: HttpRequest) -> tuple[ModelRequest | None, str]:
    """Return the request, or why it is none."""
    try:
        return route.parse(http.body), ""
    except BadRequest as error:
        packed = http.headers.get("content-encoding", "identity").lower()
        hint = "" if packed in (*PACKED, "identity") else "; of packed bodies gzip and deflate are read"
        return None, f"{error}{hint}"


def _upstream(gateway: Gateway, key: str | None) -> Upstream:
    if isinstance(gateway.upstream, ScriptedModel):
        return ScriptedUpstream(gateway.upstream)
    if isinstance(gateway.upstream, Tape):
        return TapeUpstream(gateway.upstream)
    from .upstream import ProviderUpstream

    return ProviderUpstream(gateway.upstream, key=key)


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
        gateway = Gateway.from_dict(settings["gateway"])
        ledger = _ledger(gateway, settings)
        server = Server(
            gateway,
            idle=Owner(file=settings.get("file")),
            keep_content=settings.get("keep") == "content",
            key=settings.get("key"),
            ledger=ledger,
        )
        await server.listen()
    except (AgentlabError, OSError, ValueError, KeyError, TypeError) as error:
        _say({"error": str(error), "type": type(error).__name__})
        return
    gc.freeze()  # what is loaded by now is never swept again: no pause from it
    gc.set_threshold(20_000)  # one request's JSON alone is more objects than Python's 700
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _leave, server)
    _say(
        {
            "url": f"http://127.0.0.1:{server.port}",
            "token": server.token,
            "pid": os.getpid(),
            "life": ledger.life,
        }
    )
    while line := await reader.readline():
        answer = server.order(line)
        _say(answer)
        if answer.get("op") == "close":
            break
    _leave(server)


def _ledger(gateway: Gateway, settings: Mapping[str, Any]) -> Ledger:
    total = settings.get("total_usd")
    ledger = Ledger(
        settings.get("ledger"),
        account=settings.get("account") or "gateway",
        budget_usd=gateway.budget,
        total_usd=None if total is None else Decimal(total),
    )
    if gateway.prices is not None:
        told = gateway.to_dict()
        names = ("budget_usd", "bound", "max_output_tokens")
        about = {name: told[name] for name in names}
        ledger.begin(price=price_to_dict(gateway.prices), total_usd=total, **about)
    return ledger


def _leave(server: Server) -> NoReturn:
    """End at once: connections and sleeping replies end with the process, nothing outlives the owner."""
    server.end()
    os._exit(0)


def main() -> None:
    """Run the process."""
    asyncio.run(_serve())


if __name__ == "__main__":
    main()
