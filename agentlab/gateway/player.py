"""Play a scripted model's answers: each piece at its own deadline, stamped before and after the write."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from .call import Call
from .dialects.base import Piece, Renderer
from .promptcache import Scope
from .script import ScriptedModel
from .scripted import Answer, Model
from .step import Fault

_MESSAGE = "a fault of the script"
_YIELD_EVERY = 64


class ScriptedUpstream:
    """Answer from a script.

    Parameters
    ----------
    script : ScriptedModel
        The settings.
    """

    def __init__(self, script: ScriptedModel) -> None:
        self._scope: Scope = script.cache.scope
        self._model = Model(script)

    async def answer(self, call: Call) -> None:
        """Answer one call.

        Parameters
        ----------
        call : Call
            Under way.
        """
        answer = self._model.answer(
            call.request,
            dialect=call.dialect,
            session=call.session,
            namespace=call.owner.namespace(self._scope),
        )
        call.exchange.reason = answer.reason
        await _Play(self._model, call, answer).run()

    async def close(self) -> None:
        """Free what it holds: nothing."""


class _Play:
    """Play one answer."""

    def __init__(self, model: Model, call: Call, answer: Answer) -> None:
        self._model = model
        self._call = call
        self._answer = answer
        self._exchange = call.exchange
        self._wire = call.wire
        self._renderer: Renderer = call.dialect.renderer(call.request, call.exchange.number)

    async def run(self) -> None:
        fault = self._answer.fault
        if fault is not None and fault.kind == "status":
            await self._status(fault)
        elif self._call.request.stream:
            await self._stream(fault)
        else:
            await self._whole(fault)

    async def _status(self, fault: Fault) -> None:
        await self._until(self._answer.step.first_event_s)
        self._exchange.status, self._exchange.fault = fault.code, "status"
        headers = {} if fault.retry_after_s is None else {"retry-after": f"{fault.retry_after_s:g}"}
        await self._wire.send(fault.code, self._call.dialect.error_body(fault.code, _MESSAGE), headers)

    async def _stream(self, fault: Fault | None) -> None:
        await self._until(self._answer.step.first_event_s)
        self._exchange.status = 200
        self._exchange.model = self._call.request.model
        await self._wire.start(200, "text/event-stream")
        await self._send(self._renderer.opening(self._answer.usage))
        pieces = self._answer.pieces if fault is None else self._answer.pieces[: fault.after]
        for index, (due, piece) in enumerate(pieces):
            await self._until(due)
            if index == 0:
                self._model.prefilled(self._answer, self._call.request)
            frame = self._renderer.piece(piece)
            emit = time.monotonic_ns()
            await self._wire.write(frame)
            self._exchange.chunk(piece, t=emit, emit_ns=emit)
            if index % _YIELD_EVERY == _YIELD_EVERY - 1:
                await asyncio.sleep(0)  # a reply without a pace must not hold up the others
        if fault is not None:
            await self._break(fault, self._call.dialect.error_frame(fault.code, _MESSAGE))
            return
        await self._until(self._answer.end_s)
        if not pieces:
            self._model.prefilled(self._answer, self._call.request)
        await self._wire.write(self._renderer.closing(self._answer.finish, self._answer.usage))
        self._finished(usage_sent=self._call.request.wants_usage)
        await self._wire.end()

    async def _whole(self, fault: Fault | None) -> None:
        await self._until(self._answer.end_s)
        self._exchange.status, self._exchange.model = 200, self._call.request.model
        self._model.prefilled(self._answer, self._call.request)
        pieces = [piece for _, piece in self._answer.pieces]
        body = self._renderer.body(pieces, self._answer.finish, self._answer.usage)
        if fault is not None:
            await self._wire.start(200, "application/json")
            if fault.kind in ("cut", "reset", "hang"):
                await self._wire.write(body[: len(body) // 2])
            await self._break(fault, self._call.dialect.error_body(fault.code, _MESSAGE))
            return
        emit = time.monotonic_ns()
        await self._wire.send(200, body)
        self._exchange.chunks(_joined(pieces), t=emit, emit_ns=emit)
        self._finished(usage_sent=True)

    async def _break(self, fault: Fault, error: bytes) -> None:
        """Play a fault in the middle of a reply."""
        self._exchange.fault = fault.kind
        if fault.kind == "reset":
            self._wire.reset()
            return
        if fault.kind == "hang":
            await asyncio.Event().wait()  # until the agent goes away
        if fault.kind == "garbage":
            await self._wire.write(_broken(self._renderer.piece(Piece("text", "x"))))
        if fault.kind == "error":
            await self._wire.write(error)
        await self._wire.end()

    async def _send(self, frames: bytes) -> None:
        if frames:
            await self._wire.write(frames)

    def _finished(self, *, usage_sent: bool) -> None:
        """Note the end of a reply that is whole."""
        self._exchange.terminal_seen, self._exchange.finish = True, self._answer.finish
        self._exchange.report(self._answer.usage if usage_sent else None)

    async def _until(self, due_s: float) -> None:
        """Sleep until a deadline that counts from the end of the request's body."""
        left = due_s - (time.monotonic_ns() - self._call.start_ns) / 1e9
        if left > 0:
            await asyncio.sleep(left)


def _broken(frames: bytes) -> bytes:
    """Return the last of some frames with its JSON cut in the middle."""
    event = frames.rstrip().rpartition(b"\n\n")[2]
    return event[: -len(event) // 3] + b"\n\n"


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Join the pieces of each part of a reply."""
    parts: dict[tuple[str, int], Piece] = {}
    for piece in pieces:
        before = parts.get((piece.kind, piece.index))
        parts[piece.kind, piece.index] = (
            piece if before is None else Piece(piece.kind, before.text + piece.text, piece.index, before.call)
        )
    return list(parts.values())
