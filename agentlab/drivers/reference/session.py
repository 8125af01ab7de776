"""One conversation of the reference agent: prompts, requests, calls, and how it ends."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import time
from typing import Any

from ...errors import DriverTimeout
from ...gateway.dialects.base import Piece
from ...tools import Observation, Workbench
from ..base import Run
from .context import Assistant, Context, Result, ToolCall, User
from .model import Model, Reply
from .wires import Wire

#: Of the counts of a request's usage, those that the event ``message`` knows.
_TOKENS = (
    "input_uncached_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
)


class ReferenceSession:
    """Prompt the agent; made by :func:`agentlab.drivers.reference.opened.open_arm`.

    Parameters
    ----------
    run : Run
        Where everything observed goes.
    wire : Wire
        Spells requests.
    model : Model
        Answers them.
    bench : Workbench
        Carries out calls.
    window_tokens : int or None
        Of the context.
    max_steps : int
        Requests of one turn.
    """

    def __init__(
        self,
        run: Run,
        *,
        wire: Wire,
        model: Model,
        bench: Workbench,
        window_tokens: int | None,
        max_steps: int,
    ) -> None:
        self.id = run.run_id
        self._run, self._wire, self._model, self._bench = run, wire, model, bench
        self._context = Context(window_tokens)
        self._max_steps = max_steps
        self._turn = self._n_requests = self._n_calls = self._n_failures = self._n_cuts = 0
        self._result: dict[str, Any] = {}

    async def prompt(self, text: str) -> None:
        """Submit one prompt; the turn ends with an answer, or with the first request that fails.

        Parameters
        ----------
        text : str
            The prompt.

        Raises
        ------
        DriverTimeout
            Not complete in time.
        """
        self._turn += 1
        user = f"{self.id}/u{self._turn}"
        self._context.items.append(User(text))
        self._emit(
            "turn.send",
            content={"text": text},
            turn=self._turn,
            message=user,
            n_chars=len(text),
            n_bytes=len(text.encode("utf-8", "replace")),
        )
        self._emit("message", message=user, role="user", source="stream")
        reason = "cancelled"
        limit_s = self._run.scenario.timeouts.prompt
        try:
            async with asyncio.timeout(limit_s):
                message, reply = await self._until_answered(user)
            reason = "complete" if reply.status == "answered" else "error"
            self._told(user, message, reply)
        except TimeoutError as error:
            reason = "timeout"
            self._judge("timeout", "turn_timeout", 0)
            raise DriverTimeout(
                f"turn {self._turn} was not complete within {limit_s:g} s",
                driver="reference",
                run_id=self._run.run_id,
                phase="turn",
                code="turn_timeout",
            ) from error
        finally:
            if reason == "cancelled":
                self._judge("stopped", "cancelled", 0)
            self._emit("turn.end", turn=self._turn, reason=reason)

    def end(self) -> None:
        """Say how the run ended."""
        counts: dict[str, Any] = {
            "requests": self._n_requests,
            "context_cuts": self._n_cuts,
            "tool_calls": self._n_calls,
            "tool_failures": self._n_failures,
        }
        self._emit("result", **(self._result or {"status": "stopped", "reason": "no_turn"}), **counts)

    async def _until_answered(self, user: str) -> tuple[str, Reply]:
        for step in itertools.count(1):
            message, reply = await self._ask(user)
            if reply.status in ("answered", "calls"):
                self._context.items.append(Assistant(reply.text, tuple(reply.calls)))
            if reply.status != "calls":
                return message, reply
            if step == self._max_steps:
                return message, dataclasses.replace(reply, status="stopped", reason="max_steps")
            for call in reply.calls:
                seen = await self._carry_out(call, message)
                self._context.items.append(Result(call, seen))
        raise AssertionError

    async def _ask(self, user: str) -> tuple[str, Reply]:
        self._n_requests += 1
        message = f"{self.id}/a{self._n_requests}"
        cut = self._context.fit(self._wire.tokens)
        if cut is not None:
            self._n_cuts += 1
            self._emit(
                "context.cut",
                n_observations=cut.n_observations,
                n_chars=cut.n_chars,
                before_tokens=cut.before_tokens,
                after_tokens=cut.after_tokens,
            )
        about: dict[str, Any] = {"message": message, "parent": user, "role": "assistant", "source": "stream"}
        about["model"] = self._wire.model
        self._emit("message", **about)
        reply = await self._model.ask(self._wire.body(self._context.items), _Heard(self, message))
        counts = reply.usage.counts()
        about |= {name: counts[name] for name in _TOKENS if name in counts}
        if reply.finish is not None:
            about["finish"] = reply.finish
        if reply.reason is not None:
            about["error"] = reply.reason
        self._emit("message", content={"text": reply.text}, **about, completed_unix_ms=_unix_ms())
        return message, reply

    async def _carry_out(self, call: ToolCall, message: str) -> Observation:
        self._n_calls += 1
        about: dict[str, Any] = {"message": message, "call": call.id, "name": call.name, "source": "stream"}
        about["start_unix_ms"] = _unix_ms()
        self._emit("tool", content={"input": call.arguments}, status="running", **about)
        try:
            arguments = json.loads(call.arguments or "{}")
        except ValueError:
            seen = Observation.failure(f"{call.name}: the arguments are no JSON")
        else:
            seen = await self._bench.call(call.name, arguments)
        self._n_failures += not seen.ok
        status = "completed" if seen.ok else "error"
        fields = {key: value for key, value in seen.fields().items() if value is not None and key != "ok"}
        self._emit(
            "tool",
            content={"output": self._bench.whole(seen)},
            status=status,
            **about,
            **fields,
            end_unix_ms=_unix_ms(),
        )
        return seen

    def _told(self, user: str, message: str, reply: Reply) -> None:
        """Say how a turn ended."""
        told: dict[str, Any] = {"turn": self._turn, "message": message, "parent": user}
        told |= {"http_status": reply.http_status, "finish": reply.finish, "error": reply.reason}
        self._emit(
            "turn.reply",
            content={"text": reply.text},
            text_chars=len(reply.text) if reply.text.strip() else 0,
            completed_unix_ms=_unix_ms(),
            **{key: value for key, value in told.items() if value is not None},
        )
        self._emit("idle")
        self._judge(reply.status, reply.reason, len(reply.text))
        if reply.status != "answered":
            self._run.issue(
                "turn_length" if reply.reason == "length" else "turn_error", reply.reason, discard=True
            )

    def _judge(self, status: str, reason: str | None, answer_chars: int) -> None:
        """Note the result: the last turn's, unless one before it failed."""
        if self._result.get("status", "answered") == "answered":
            why = {} if reason is None else {"reason": reason}
            self._result = {"status": status, "answer_chars": answer_chars, **why}

    def heard(self, message: str, piece: Piece, t: int) -> None:
        """Note a piece of a reply.

        Parameters
        ----------
        message : str
            Of which message.
        piece : Piece
            What came.
        t : int
            Stamp of the read, ns.
        """
        if piece.kind != "tool" and piece.text:
            sizes = {"n_chars": len(piece.text), "n_bytes": piece.n_bytes, "visible": piece.visible}
            about = {"message": message, "part": f"{message}/{piece.kind}", "chunk": piece.kind}
            self._emit("chunk", t=t, content={"text": piece.text}, **about, **sizes)

    def _emit(
        self,
        kind: str,
        *,
        t: int | None = None,
        content: dict[str, Any] | None = None,
        **fields: Any,  # noqa: ANN401
    ) -> None:
        self._run.emit(kind, t=t, content=content, session=self.id, **fields)


class _Heard:
    """A message's ear."""

    def __init__(self, session: ReferenceSession, message: str) -> None:
        self._session, self._message = session, message

    def __call__(self, piece: Piece, t: int) -> None:
        self._session.heard(self._message, piece, t)


def _unix_ms() -> float:
    return time.time_ns() / 1e6
