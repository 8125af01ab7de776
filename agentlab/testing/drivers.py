"""A driver without an agent, for tests and documentation of what stands round drivers."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Literal

from ..drivers.base import Arm, Identity, Run
from ..errors import AgentExited, StartupError
from ..wire.children import Children

#: Prints its process id into a file, in a session of its own and without a parent, and stays.
_DETACHED = """\
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open(sys.argv[1], "a") as file:
            print(os.getpid(), file=file)
        time.sleep(600)
    os._exit(0)
time.sleep(600)
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Toy:
    """Answer each prompt with some words, in time.

    It shows what hosts, progress, resume and clean-up do. It cannot show anything about an agent: no model is
    asked, no tokens are counted, the reply does not depend on the prompt, and its times are those of
    ``asyncio.sleep``.

    Parameters
    ----------
    words : int, default 5
        Chunks of a reply.
    every_s : float, default 0.02
        Seconds before each chunk.
    hold : Path, optional
        While this file exists, a turn goes on and on.
    pids : Path, optional
        Start a process for each run that forks twice and calls ``setsid``, as a daemon does, and let it
        append its process id to this file.
    trouble : str, optional
        ``"startup"``: the arm cannot be opened. ``"exit"``: the agent is gone in each turn. ``"error"``: each
        turn raises. ``"stuck"``: the end of a session takes ``cleanup_s`` without ever yielding to the loop.
    cleanup_s : float, default 0
        Seconds that the end of a session takes, also when it is asked to hurry.

    Examples
    --------
    >>> Toy(words=3).identify().driver
    'toy'
    """

    words: int = 5
    every_s: float = 0.02
    hold: Path | None = None
    pids: Path | None = None
    trouble: Literal["startup", "exit", "error", "stuck"] | None = None
    cleanup_s: float = 0.0

    def identify(self) -> Identity:
        """Say what is measured."""
        settings = {"words": self.words, "every_s": self.every_s, "trouble": self.trouble}
        return Identity(driver="toy", version="1", settings=settings)

    @contextlib.asynccontextmanager
    async def open(self, arm: Arm) -> AsyncGenerator[_Opened]:
        """Open the arm.

        Parameters
        ----------
        arm : Arm
            What the engine gives.
        """
        if self.trouble == "startup":
            raise StartupError("the toy was told not to start", driver="toy", phase="startup")
        async with Children() as children:
            arm.own(children.pid)
            yield _Opened(self, children, arm.scratch)


@dataclasses.dataclass(frozen=True)
class _Opened:
    toy: Toy
    children: Children
    home: Path

    @contextlib.asynccontextmanager
    async def session(self, run: Run) -> AsyncGenerator[_Session]:
        """Open a session."""
        run.emit("session.open", session="toy", role="main")
        if self.toy.pids is not None:
            argv = [sys.executable, "-c", _DETACHED, str(self.toy.pids)]
            await self.children.spawn(argv, env={"HOME": str(self.home)})
        try:
            yield _Session(self.toy, run)
        finally:
            await _shielded(self._end())
            run.emit("session.close", session="toy", deleted=True)

    async def _end(self) -> None:
        if self.toy.trouble == "stuck":
            time.sleep(self.toy.cleanup_s)  # noqa: ASYNC251 (that is the trouble)
        await asyncio.sleep(self.toy.cleanup_s)


async def _shielded(clean_up: Any) -> None:  # noqa: ANN401
    """Finish clean-up although the run is being cancelled."""
    task = asyncio.ensure_future(clean_up)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([task])


@dataclasses.dataclass
class _Session:
    toy: Toy
    run: Run
    turn: int = 0

    async def prompt(self, text: str) -> None:
        """Answer one prompt."""
        self.turn += 1
        ask, reply, emit = f"u{self.turn}", f"m{self.turn}", self.run.emit
        emit(
            "turn.send",
            session="toy",
            turn=self.turn,
            message=ask,
            n_chars=len(text),
            n_bytes=len(text.encode()),
        )
        reason = "cancelled"
        try:
            n_chars = await self._reply(reply)
            done = time.time_ns() // 10**6
            emit(
                "turn.reply", session="toy", turn=self.turn, http_status=200, message=reply, parent=ask,
                finish="stop", completed_unix_ms=done, text_chars=n_chars,
            )  # fmt: skip
            emit(
                "message", session="toy", message=reply, parent=ask, role="assistant", finish="stop",
                completed_unix_ms=done, source="stream",
            )  # fmt: skip
            emit("idle", session="toy")
            reason = "complete"
        except Exception:
            reason = "error"
            raise
        finally:
            emit("turn.end", session="toy", turn=self.turn, reason=reason)

    async def _reply(self, message: str) -> int:
        if self.toy.trouble == "exit":
            raise AgentExited("the toy was told to go", returncode=1, driver="toy", phase="turn")
        if self.toy.trouble == "error":
            raise ValueError("the toy was told to fail")
        n = 0
        while n < self.toy.words or (self.toy.hold is not None and self.toy.hold.exists()):
            await asyncio.sleep(self.toy.every_s)
            n += 1
            self.run.emit(
                "chunk",
                session="toy",
                message=message,
                part="p",
                chunk="text",
                n_chars=5,
                n_bytes=5,
                visible=True,
            )
        return 5 * n
