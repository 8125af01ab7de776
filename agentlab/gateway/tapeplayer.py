"""Play a tape: each run gets a take, each request the reply that its prompt got then."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from ..errors import ProtocolError
from ..wire.sse import SSEParser
from .admission import Refusal
from .call import Call, refuse
from .tape import Reply, Tape, data_of, prompt_hash


class TapeUpstream:
    """Answer from a tape.

    Parameters
    ----------
    tape : Tape
        The settings.
    """

    def __init__(self, tape: Tape) -> None:
        self._takes = tape.takes()
        self._timing = tape.timing
        self._played = [0] * len(self._takes)
        self._left: dict[str | None, list[Reply]] = {}

    async def answer(self, call: Call) -> None:
        """Answer one call.

        Parameters
        ----------
        call : Call
            Under way.
        """
        reply, matched = self._next(call)
        if reply is None:
            why = Refusal("tape_end", "nothing is left on the tape for this request")
            await refuse(call.wire, call.dialect, call.exchange, why)
            return
        await _Play(call, reply, timing=self._timing, matched=matched).run()

    async def close(self) -> None:
        """Free what it holds: nothing."""

    def _next(self, call: Call) -> tuple[Reply | None, bool]:
        """Take a request's reply off its run's take; and say whether its prompt is the same."""
        key = call.owner.run_id
        if key not in self._left:
            self._left[key] = list(self._take(call))
        left = [reply for reply in self._left[key] if reply.dialect == call.dialect.name]
        wanted = prompt_hash(call.request.canonical.data)
        found = next((reply for reply in left if reply.hash == wanted), None)
        matched = found is not None
        if found is None:
            found = next((reply for reply in left if reply.chain == call.chain), None)
        if found is not None:
            self._left[key].remove(found)
        return found, matched

    def _take(self, call: Call) -> list[Reply]:
        """Return the replies of the take that fits best and was played least."""
        fitting = [at for at, take in enumerate(self._takes) if take.arm == call.owner.arm]
        if not fitting:
            name = call.dialect.name
            fitting = [at for at, take in enumerate(self._takes) if take.replies[0].dialect == name]
        if not fitting:
            return []
        chosen = min(fitting, key=lambda at: (self._played[at], at))
        self._played[chosen] += 1
        return self._takes[chosen].replies


class _Play:
    """Play one reply."""

    def __init__(self, call: Call, reply: Reply, *, timing: str, matched: bool) -> None:
        self._call, self._reply, self._matched = call, reply, matched
        self._original = timing == "original"
        self._parser, self._reader = SSEParser(), call.dialect.reader()

    async def run(self) -> None:
        exchange, result = self._call.exchange, self._reply.result
        if not self._matched:
            exchange.reason = "tape_mismatch"
        ended = False
        for op in self._reply.ops:
            await self._until(op["t"])
            ended = op["kind"] in ("tape.send", "tape.end", "tape.reset")
            if ended:
                self._note()
            await self._play(op)
        if not ended:  # the agent went away, or nothing more came
            exchange.fault = result.get("fault")
            if exchange.fault == "hang":
                await asyncio.Event().wait()
            self._note()
            self._call.wire.reset()

    async def _play(self, op: Any) -> None:  # noqa: ANN401
        wire, kind = self._call.wire, op["kind"]
        if kind == "tape.start":
            self._call.exchange.status = op["status"]
            await wire.start(op["status"], op["content_type"])
        elif kind == "tape.write":
            t, data = time.monotonic_ns(), data_of(op)
            await wire.write(data)
            self._hear(data, t)
        elif kind == "tape.send":
            self._call.exchange.status = op["status"]
            t, data = time.monotonic_ns(), data_of(op)
            headers = {} if op.get("retry_after") is None else {"retry-after": op["retry_after"]}
            await wire.send(op["status"], data, headers)
            if op["status"] == 200:
                self._call.exchange.chunks(self._reader.whole(data), t=t, emit_ns=t)
        elif kind == "tape.end":
            await wire.end()
        else:
            wire.reset()

    def _hear(self, data: bytes, t: int) -> None:
        if not self._call.request.stream:
            return
        try:
            pieces = [
                piece for event in self._parser.feed(data, t) for piece in self._reader.event(event.data)[0]
            ]
        except ProtocolError:  # an event without end
            return
        self._call.exchange.chunks(pieces, t=t, emit_ns=t)

    def _note(self) -> None:
        """Note of the reply what was noted then."""
        exchange, result = self._call.exchange, self._reply.result
        exchange.terminal_seen, exchange.finish = result.get("terminal_seen") is True, result.get("finish")
        exchange.model = result.get("model")
        exchange.fault, exchange.status = result.get("fault"), exchange.status or result.get("status")
        exchange.refused = result.get("refused") is True
        exchange.report(result.get("usage"))
        if self._matched or exchange.refused:
            exchange.reason = result.get("reason")

    async def _until(self, t: int) -> None:
        """Sleep until something is due that came at a stamp, counted from the request."""
        if not self._original:
            return
        left = (t - self._reply.begin_ns - time.monotonic_ns() + self._call.start_ns) / 1e9
        if left > 0:
            await asyncio.sleep(left)
