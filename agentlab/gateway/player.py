"""Play an answer onto a connection: each piece at its own deadline, stamped just before and after the write."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .dialects.base import Dialect, ModelRequest, Piece
from .exchange import Exchange
from .script import Fault
from .scripted import Answer, Model

if TYPE_CHECKING:
    from aiohttp import web

_SCRIPTED = "fault of the script"
_YIELD_EVERY = 64


class Player:
    """Play one answer.

    Parameters
    ----------
    model : Model
        Told when the prompt was read.
    dialect, request, answer, exchange
        What is played, in which spelling, and where it is recorded.
    start_ns : int
        End of the request's body: deadlines count from here.
    """

    def __init__(
        self,
        model: Model,
        *,
        dialect: Dialect,
        request: ModelRequest,
        answer: Answer,
        exchange: Exchange,
        start_ns: int,
    ) -> None:
        self._model = model
        self._dialect = dialect
        self._request = request
        self._answer = answer
        self._exchange = exchange
        self._start_ns = start_ns
        self._renderer = dialect.renderer(request, exchange.number)

    async def play(self, http: web.BaseRequest) -> web.StreamResponse:
        """Answer the HTTP request.

        Parameters
        ----------
        http : aiohttp.web.BaseRequest
            To be answered.

        Returns
        -------
        aiohttp.web.StreamResponse
        """
        self._exchange.reason = self._answer.reason
        fault = self._answer.fault
        try:
            if fault is not None and fault.kind == "status":
                return await self._status(http, fault)
            self._exchange.status = 200
            if self._request.stream:
                return await self._stream(http, fault)
            return await self._whole(http, fault)
        except (ConnectionError, asyncio.CancelledError) as error:
            # The agent went away, or we reset the connection ourselves.
            self._exchange.fault = self._exchange.fault or "client_gone"
            if isinstance(error, asyncio.CancelledError):
                raise
            return _response(200)

    async def _status(self, http: web.BaseRequest, fault: Fault) -> web.StreamResponse:
        await self._until(self._answer.step.first_event_s)
        self._exchange.status, self._exchange.fault = fault.code, "status"
        response = _response(fault.code, "application/json")
        if fault.retry_after_s is not None:
            response.headers["retry-after"] = f"{fault.retry_after_s:g}"
        return await _send(http, response, self._dialect.error_body(fault.code, _SCRIPTED))

    async def _stream(self, http: web.BaseRequest, fault: Fault | None) -> web.StreamResponse:
        await self._until(self._answer.step.first_event_s)
        response = _response(200, "text/event-stream")
        response.headers["cache-control"] = "no-cache"
        await response.prepare(http)
        await response.write(self._renderer.opening())
        for index, (due, piece) in enumerate(self._answer.pieces):
            if fault is not None and index >= fault.after:
                break
            await self._until(due)
            if index == 0:
                self._model.prefilled(self._answer, self._request)
            frame = self._renderer.piece(piece)
            emit = time.monotonic_ns()
            await response.write(frame)
            self._exchange.chunk(piece, t=time.monotonic_ns(), emit_ns=emit)
            if index % _YIELD_EVERY == _YIELD_EVERY - 1:
                await asyncio.sleep(0)
        if fault is not None:
            await self._break(http, response, fault, self._dialect.error_frame(fault.code, _SCRIPTED))
            return response
        await self._until(self._answer.end_s)
        if not self._answer.pieces:
            self._model.prefilled(self._answer, self._request)
        await response.write(self._renderer.closing(self._answer.finish, self._answer.usage))
        self._finished(usage_sent=self._request.wants_usage)
        await response.write_eof()
        return response

    async def _whole(self, http: web.BaseRequest, fault: Fault | None) -> web.StreamResponse:
        await self._until(self._answer.end_s)
        self._model.prefilled(self._answer, self._request)
        pieces = [piece for _, piece in self._answer.pieces]
        body = self._renderer.body(pieces, self._answer.finish, self._answer.usage)
        response = _response(200, "application/json")
        if fault is not None:
            await response.prepare(http)
            if fault.kind in ("cut", "reset", "hang"):
                await response.write(body[: len(body) // 2])
            await self._break(http, response, fault, self._dialect.error_body(fault.code, _SCRIPTED))
            return response
        emit = time.monotonic_ns()
        await _send(http, response, body)
        t = time.monotonic_ns()
        for piece in _joined(pieces):
            self._exchange.chunk(piece, t=t, emit_ns=emit)
        self._finished(usage_sent=True)
        return response

    async def _break(
        self, http: web.BaseRequest, response: web.StreamResponse, fault: Fault, error: bytes
    ) -> None:
        """Play a fault in the middle of a reply."""
        self._exchange.fault = fault.kind
        if fault.kind == "reset":
            _reset(http)
            raise ConnectionResetError(_SCRIPTED)
        if fault.kind == "hang":
            await asyncio.Event().wait()
        if fault.kind == "garbage":
            await response.write(b'data: {"choices":[{"delta":{"content"\n\n')
        if fault.kind == "error":
            await response.write(error)
        await response.write_eof()

    def _finished(self, *, usage_sent: bool) -> None:
        """Note the end of a reply that is whole."""
        exchange, answer = self._exchange, self._answer
        exchange.terminal_seen, exchange.finish = True, answer.finish
        exchange.raw_usage = answer.usage if usage_sent else None
        exchange.usage = self._dialect.read_usage(exchange.raw_usage)

    async def _until(self, due_s: float) -> None:
        """Sleep until a deadline that counts from the end of the request's body."""
        left = due_s - (time.monotonic_ns() - self._start_ns) / 1e9
        if left > 0:
            await asyncio.sleep(left)


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Join the pieces of each part of a reply."""
    parts: dict[tuple[str, int], Piece] = {}
    for piece in pieces:
        key = (piece.kind, piece.index)
        before = parts.get(key)
        parts[key] = (
            piece if before is None else Piece(piece.kind, before.text + piece.text, piece.index, before.call)
        )
    return list(parts.values())


def _response(status: int, content_type: str = "application/json") -> web.StreamResponse:
    from aiohttp import web

    return web.StreamResponse(status=status, headers={"content-type": content_type})


async def _send(http: web.BaseRequest, response: web.StreamResponse, body: bytes) -> web.StreamResponse:
    response.content_length = len(body)
    await response.prepare(http)
    await response.write(body)
    await response.write_eof()
    return response


def _reset(http: web.BaseRequest) -> None:
    """Send a TCP reset instead of a clean end."""
    transport = http.transport
    if transport is None:
        return
    with contextlib.suppress(OSError, AttributeError):
        linger = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    transport.abort()
