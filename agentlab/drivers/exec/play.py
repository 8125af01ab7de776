"""Play one scenario on exec sessions and write down what is seen; nothing is computed but what is missing."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import DriverError
from ...wire.procid import ProcessId
from ..base import Run
from . import printer
from .account import Frames, Listed, Print
from .result import ExecResult
from .scenarios import Call, ExecScenario
from .sessions import ExecSessions

_MAX_PRINTS = 64
_MAX_POLLS = 200
_CONTROL = str.maketrans("", "", "\x03\x04")


@dataclasses.dataclass
class Play:
    """One scenario on its way.

    Parameters
    ----------
    sessions : ExecSessions
        Where it is played.
    scenario : ExecScenario
        What is played.
    run : Run
        Who is told.
    exec_id : str
        Name of the session in the evidence.
    folder : Path
        The command's folder; the list of what was printed lies beside it.
    rules : {"ours", "original"}
        By what rules the sessions go.
    """

    sessions: ExecSessions
    scenario: ExecScenario
    run: Run
    exec_id: str
    folder: Path
    rules: str = "ours"
    n_calls: int = 0
    n_bytes: int = 0
    typed_bytes: int = 0
    session: int | None = None
    exit: dict[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    frames: Frames = dataclasses.field(default_factory=Frames)

    @property
    def list_path(self) -> Path:
        """Where the processes note what they print."""
        return self.folder.with_name(f"{self.exec_id}.list")

    async def play(self) -> None:
        """Do all that the scenario says, then close its session.

        Raises
        ------
        StartupError
            The command cannot be started.
        """
        self.folder.mkdir()
        for call in self.scenario.calls:
            if call.op == "pause":
                await asyncio.sleep(call.s)
            elif call.op == "signal":
                self._signal(call)
            elif call.until is None:
                await self._call(call)
            else:
                while not self._reached(call.until) and self.n_calls < _MAX_POLLS:
                    await self._call(call)
        await self._close()

    def _reached(self, what: str) -> bool:
        return bool(self.exit) or (what == "print" and bool(self.frames.seen))

    def _signal(self, call: Call) -> None:
        process = Listed.of(self.list_path).processes.get(call.to)
        if process is not None:
            process.signal(signal.Signals(call.number))

    async def _call(self, call: Call) -> None:
        self.n_calls += 1
        typed = call.typed if call.op == "write" else ""
        n_typed = len(typed.translate(_CONTROL).encode())
        begin = time.monotonic_ns()
        result, refused = await self._ask(call, typed)
        t = time.monotonic_ns()
        self.typed_bytes += n_typed
        told = {"state": refused, "n_bytes": 0, "n_prints": 0} if result is None else self._told(result)
        told |= _known(typed_bytes=n_typed if typed else None)
        yield_ms = call.yield_s * 1e3
        self._emit("exec.call", t, call=self.n_calls, op=call.op, begin_ns=begin, yield_ms=yield_ms, **told)

    def _emit(self, kind: str, t: int, **fields: Any) -> None:  # noqa: ANN401
        self.run.emit(kind, t=t, exec=self.exec_id, scenario=self.scenario.name, **fields)

    async def _ask(self, call: Call, typed: str) -> tuple[ExecResult | None, str]:
        scenario = self.scenario
        try:
            if call.op == "start":
                say = shlex.join([sys.executable, "-I", "-S", printer.__file__, str(self.list_path)])
                command = scenario.command.replace("{say}", say)
                timeout_s, tty = scenario.timeout_s, scenario.tty
                more = _known(timeout_ms=None if timeout_s is None else timeout_s * 1e3)
                t = time.monotonic_ns()
                self._emit("exec.open", t, rules=self.rules, tty=tty, n_chars=len(command), **more)
                result = await self.sessions.run(
                    command, cwd=self.folder, yield_s=call.yield_s, timeout_s=timeout_s, tty=tty
                )
                self.session = result.session
                return result, ""
            assert self.session is not None
            if call.op == "write":
                return await self.sessions.write(self.session, typed, yield_s=call.yield_s), ""
            return await self.sessions.poll(self.session, yield_s=call.yield_s), ""
        except DriverError as error:
            if error.code is None or self.session is None:
                raise
            return None, error.code

    def _told(self, result: ExecResult) -> dict[str, Any]:
        """Return what an event says of a result; the first report of an exit is kept for the close."""
        prints = self._prints(result)
        told: dict[str, Any] = {
            "state": result.state,
            "n_bytes": result.n_bytes,
            "n_prints": len(prints),
            **_known(exit_code=result.exit_code, ended_by=result.ended_by, stopped=result.stopped),
        }
        if prints:
            told["prints"] = thinned(prints)
        if result.state == "exited" and not self.exit:
            self.exit = {"exit_code": result.exit_code, "ended_by": result.ended_by}
            told |= _known(ended_ns=Listed.of(self.list_path).ended.get("a"))
        return told

    def _prints(self, result: ExecResult) -> list[Print]:
        self.n_bytes += result.n_bytes
        found: list[Print] = []
        at = 0
        for piece in result.pieces():
            reads = [(end - at, t) for end, t in result.reads if end > at]
            found += self.frames.feed(piece, reads)
            at += len(piece)
        return found

    async def _close(self) -> None:
        self.n_calls += 1
        background = len(Listed.of(self.list_path).alive()) if self.exit else None
        begin = time.monotonic_ns()
        with contextlib.suppress(DriverError):  # rules by which a session is unknown once its exit was told
            assert self.session is not None
            self._told(await self.sessions.close(self.session))
        t = time.monotonic_ns()
        listed = Listed.of(self.list_path)
        left = listed.alive()
        printed = sum(listed.prints.values())
        seen = sum(n for which, n in listed.prints.items() if which in self.frames.seen)
        more = _known(typed_read_bytes=listed.n_read, background=background, **self.exit)
        self._emit(
            "exec.close", t, call=self.n_calls, begin_ns=begin, n_polls=self.n_calls - 1,
            n_bytes=self.n_bytes, printed_bytes=printed, seen_bytes=seen, lost_bytes=printed - seen,
            typed_bytes=self.typed_bytes, survivors=len(left), **more,
        )  # fmt: skip
        self._end(left)

    def _end(self, left: dict[str, ProcessId]) -> None:
        """Name and end what the rules have left."""
        if left:
            names = ", ".join(f"{name} ({process.pid})" for name, process in left.items())
            self.run.issue("survivors", f"{self.scenario.name}: {names}")
        for process in left.values():
            process.signal(signal.SIGKILL)


def thinned(prints: Sequence[Print], most: int = _MAX_PRINTS) -> list[list[int | None]]:
    """Choose prints evenly, the last always.

    Parameters
    ----------
    prints : sequence of Print
        All of a call.
    most : int, default 64
        How many are kept.

    Returns
    -------
    list of list
        ``[print_ns, read_ns, n_bytes]`` each.

    Examples
    --------
    >>> [one[0] for one in thinned([Print(i, None, 1) for i in range(10)], most=4)]
    [0, 3, 6, 9]
    """
    last = len(prints) - 1
    if last < most:
        return [list(one) for one in prints]
    return [list(prints[i * last // (most - 1)]) for i in range(most)]


def _known(**fields: Any) -> dict[str, Any]:  # noqa: ANN401
    return {name: value for name, value in fields.items() if value is not None}
