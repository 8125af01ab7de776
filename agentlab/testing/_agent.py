"""An OpenCode-like agent that exists only as the events it would leave."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .recordings import SyntheticArm, SyntheticRun


class Agent:
    """Play an OpenCode-like agent into one run."""

    def __init__(self, run: SyntheticRun, arm: SyntheticArm, draw: random.Random, *, gateway: bool) -> None:
        self.run, self.arm, self.draw, self.gateway = run, arm, draw, gateway
        self.pace = draw.gauss(0, arm.spread / 2)
        self.session = f"ses_{run.path.name}"
        self.n_messages = self.n_requests = 0
        self.last_bytes = 0
        self.last_turn = 0
        self.history_bytes = 0
        self.reports: list[dict[str, Any]] = []
        self.discarded = draw.random() < arm.discard_rate

    def _time(self, median_ms: float) -> float:
        return median_ms * 2.718281828459045 ** (self.pace + self.draw.gauss(0, self.arm.spread / 2))

    def carry_out(self, steps: Sequence[int]) -> None:
        run = self.run
        run.now_ms = 5.0
        run.emit("stream.open")
        run.emit("session.open", session=self.session, role="main")
        for turn, count in enumerate(steps, 1):
            self._turn(turn, count)
            run.now_ms += 320.0
            run.emit("turn.end", session=self.session, turn=turn, reason="complete")
        for report in self.reports:
            run.emit("message", **report, source="history")
        total = {
            name: sum(r[name] for r in self.reports) if all(name in r for r in self.reports) else None
            for name in ("input_uncached_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
        }
        run.emit(
            "session.info", session=self.session, agent="build", provider="lab", model="scripted", **total
        )
        run.emit("session.close", session=self.session, deleted=True)
        run.emit("stream.end", reason="closed", n_repeats=0)
        if self.discarded:
            run.issue("missing_tool", "read", discard=True)
        for second in range(1 + int(run.now_ms // 1000)):
            some = abs(self.draw.gauss(0, 0.4))
            run.emit(
                "pressure",
                at_ms=second * 1000.0,
                cpu_some_avg10=round(some, 2),
                memory_some_avg10=0.0,
                memory_full_avg10=0.0,
                io_some_avg10=0.0,
                memory_available_bytes=16_000_000_000,
                load1=round(some / 4, 2),
            )
            run.emit("lag", at_ms=second * 1000.0, late_ms=round(abs(self.draw.gauss(0, 0.3)), 3), n=50)

    def _turn(self, turn: int, count: int) -> None:
        run, prompt = self.run, f"msg_{self.run.path.name}_u{turn}"
        sent_ms = run.now_ms
        run.emit("turn.send", session=self.session, turn=turn, message=prompt, n_chars=60, n_bytes=60)
        run.now_ms += self._time(40)
        run.emit("status", session=self.session, state="busy", server_unix_ms=run.unix_ms(run.now_ms))
        report: dict[str, Any] = {}
        for step in range(1, count + 1):
            report = self._step(turn, prompt, last=step == count)
        completed_ms = run.now_ms
        reply_ms = completed_ms + self._time(25)
        idle_ms = reply_ms + self._time(10)
        run.emit(
            "turn.reply",
            at_ms=reply_ms,
            session=self.session,
            turn=turn,
            http_status=200,
            message=report["message"],
            parent=prompt,
            finish=report["finish"],
            completed_unix_ms=report["completed_unix_ms"],
            text_chars=40,
        )
        run.emit("idle", at_ms=idle_ms, session=self.session, server_unix_ms=run.unix_ms(completed_ms + 2))
        run.now_ms = max(idle_ms, sent_ms)

    def _step(self, turn: int, prompt: str, *, last: bool) -> dict[str, Any]:
        run = self.run
        self.n_messages += 1
        message = f"msg_{run.path.name}_a{self.n_messages}"
        report: dict[str, Any] = {
            "session": self.session,
            "message": message,
            "parent": prompt,
            "role": "assistant",
            "agent": "build",
            "provider": "lab",
            "model": "scripted",
            "created_unix_ms": run.unix_ms(run.now_ms),
        }
        run.emit("message", **report, source="stream")
        failed = 0
        while self.draw.random() < self.arm.retry_rate and failed < 3:
            failed += 1
            self._failed_attempt(turn, failed)
        size, prefix = self._sizes(turn)
        self.n_requests += 1
        begin_ms = run.now_ms + self._time(15)
        self._begin(turn, begin_ms, size, prefix, retry_of=self.n_requests - 1 if failed else None)
        n_tokens = self.draw.randint(*self.arm.chunks)
        first_ms = begin_ms + self._time(self.arm.ttft_ms)
        run.now_ms = first_ms
        run.emit(
            "step.begin",
            at_ms=first_ms + 1,
            session=self.session,
            message=message,
            part=f"{message}_s",
            server_unix_ms=run.unix_ms(first_ms + 0.5),
        )
        for at in range(n_tokens):
            kind = "text" if last else "tool"
            self._chunk(message, kind, first_ms + at * self.arm.itl_ms)
        run.now_ms = first_ms + (n_tokens - 1) * self.arm.itl_ms
        usage = self._usage(size, prefix, n_tokens)
        self._end(run.now_ms + 0.2, usage, finish="stop" if last else "tool_calls")
        if not last:
            self._tool(message)
        run.now_ms += self._time(8)
        report |= {
            "finish": "stop" if last else "tool-calls",
            "completed_unix_ms": run.unix_ms(run.now_ms),
        } | usage
        run.emit(
            "step.end", session=self.session, message=message, part=f"{message}_e", reason=report["finish"]
        )
        run.emit("message", **report, source="stream")
        self.reports.append(report)
        self.last_bytes, self.last_turn = size, turn
        self.history_bytes += 4 * n_tokens + 200
        return report

    def _sizes(self, turn: int) -> tuple[int, int | None]:
        """Return canonical bytes and the prefix shared with the request before: tools 6,000, system 2,000."""
        size = 8_000 + 260 * turn + self.history_bytes
        if not self.last_bytes:
            return size, None
        return size, self.last_bytes if self.arm.stable or turn == self.last_turn else 6_000

    def _usage(self, size: int, prefix: int | None, n_tokens: int) -> dict[str, Any]:
        if not self.arm.usage:
            return {}
        prompt = -(-size // 4)
        cached = (prefix or 0) // 4 // 128 * 128
        cached = cached if cached >= 1024 else 0
        return {
            "input_uncached_tokens": prompt - cached,
            "cache_read_tokens": cached,
            "cache_write_tokens": 0,
            "output_tokens": n_tokens,
            "reasoning_tokens": 0,
        }

    def _begin(
        self, turn: int, at_ms: float, size: int, prefix: int | None, *, retry_of: int | None = None
    ) -> None:
        if self.gateway:
            self.run.emit_gateway(
                "request.begin",
                at_ms=at_ms,
                request=self.n_requests,
                session=self.session,
                dialect="chat",
                path="/v1/chat/completions",
                model="scripted",
                stream=True,
                n_tools=11,
                n_messages=2 * turn,
                body_bytes=size + 400,
                canonical_bytes=size,
                prefix_bytes=prefix,
                lost_bytes=None if prefix is None else self.last_bytes - prefix,
                prefix_state={None: "first", self.last_bytes: "append_only"}.get(prefix, "changed"),
                append_only=None if prefix is None else prefix == self.last_bytes,
                first_changed=None if prefix in (None, self.last_bytes) else "system",
                retry_of=retry_of,
            )

    def _end(self, at_ms: float, usage: dict[str, Any], *, finish: str) -> None:
        if self.gateway:
            total = usage and usage["input_uncached_tokens"] + usage["cache_read_tokens"]
            self.run.emit_gateway(
                "request.end",
                at_ms=at_ms,
                request=self.n_requests,
                status=200,
                terminal_seen=True,
                finish=finish,
                convention="inclusive",
                input_total_tokens=total or None,
                reason=None if usage else "no_usage",
                **usage,
            )

    def _failed_attempt(self, turn: int, number: int) -> None:
        run = self.run
        size, prefix = self._sizes(turn)
        self.n_requests += 1
        run.now_ms += self._time(15)
        self._begin(turn, run.now_ms, size, prefix, retry_of=self.n_requests - 1 if number > 1 else None)
        if self.gateway:
            run.emit_gateway(
                "request.end",
                at_ms=run.now_ms + 5,
                request=self.n_requests,
                status=500,
                terminal_seen=False,
                fault="status",
            )
        run.now_ms += 10
        run.emit(
            "status",
            session=self.session,
            state="retry",
            attempt=number,
            next_unix_ms=run.unix_ms(run.now_ms + 300),
        )
        run.now_ms += 300

    def _chunk(self, message: str, kind: str, at_ms: float) -> None:
        size = {"chunk": kind, "n_chars": 4, "n_bytes": 4, "visible": True}
        if self.gateway:
            emit_ns = self.run.ns(at_ms)
            self.run.emit_gateway(
                "request.chunk", at_ms=at_ms + 0.05, request=self.n_requests, emit_ns=emit_ns, **size
            )
        if kind == "text":
            arrive_ms = at_ms + self._time(6)
            self.run.emit(
                "chunk",
                at_ms=arrive_ms,
                session=self.session,
                message=message,
                part=f"{message}_t",
                t_first=self.run.ns(arrive_ms - 0.02),
                server_unix_ms=self.run.unix_ms(at_ms + 3),
                **size,
            )

    def _tool(self, message: str) -> None:
        run, start_ms = self.run, self.run.now_ms
        call: dict[str, Any] = {
            "session": self.session,
            "message": message,
            "call": f"{message}_c",
            "part": f"{message}_p",
            "name": "read",
            "source": "stream",
        }
        run.emit("tool", at_ms=start_ms + 1, **call, status="pending", server_unix_ms=run.unix_ms(start_ms))
        run.emit(
            "tool",
            at_ms=start_ms + 4,
            **call,
            status="running",
            start_unix_ms=run.unix_ms(start_ms + 3),
        )
        run.now_ms += 5 + self._time(12)
        run.emit(
            "tool",
            **call,
            status="error" if self.discarded else "completed",
            start_unix_ms=run.unix_ms(start_ms + 3),
            end_unix_ms=run.unix_ms(run.now_ms - 1),
        )
