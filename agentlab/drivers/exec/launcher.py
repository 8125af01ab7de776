"""The owner's side of :mod:`.leader`: orders go out, reports come in."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import StartupError
from ...wire.children import Children
from ...wire.marked import MARKER
from ...wire.procid import ProcessId
from . import leader


class Started(NamedTuple):
    """A command that runs: its leader, itself, and when it was started (ns)."""

    leader: ProcessId
    pid: int
    t: int


class Ended(NamedTuple):
    """How a command ended.

    Parameters
    ----------
    exit_code : int
        Negative: the signal.
    t : int
        When, ns.
    cpu_s : float
        CPU seconds of it and of what it waited for.
    left : bool
        Whether it left processes behind.
    """

    exit_code: int
    t: int
    cpu_s: float
    left: bool


class Watch(NamedTuple):
    """Who hears of a command: its start, its end, and that nothing of it is left; called in the loop."""

    begun: Callable[[Started], None]
    ended: Callable[[Ended], None]
    gone: Callable[[], None]


class Launcher:
    """Start commands below leaders; all of them end with this, or with this process, whatever happens.

    It belongs to the loop it is opened in.
    """

    def __init__(self) -> None:
        self.children = Children()
        self._numbers = itertools.count(1)
        self._starting: dict[int, asyncio.Future[None]] = {}
        self._watches: dict[int, Watch] = {}
        self._lost = False

    async def open(self) -> None:
        """Start the processes that start others.

        Raises
        ------
        StartupError
            They cannot be started.
        """
        await self.children.__aenter__()
        try:
            self.folder: Path = await self.children.folder()
            argv = [sys.executable, "-I", "-S", leader.__file__]
            self._process = await self.children.spawn(argv, env={}, stdin="pipe", stdout="pipe")
        except BaseException:
            await self.children.close()
            raise
        self._tasks = {asyncio.create_task(self._listen()), asyncio.create_task(self._lose())}

    async def start(self, order: dict[str, Any], watch: Watch) -> None:
        """Start one command.

        Parameters
        ----------
        order : dict
            ``argv``, ``env``, ``cwd``, and ``tty`` or ``input`` and ``output``.
        watch : Watch
            Who hears of it.

        Raises
        ------
        StartupError
            Folder or command not found, or the starting process or the watchdog is gone.
        """
        if self._lost or self._process.stdin is None:
            raise _lost()
        number = next(self._numbers)
        order = {**order, "id": number, "env": {**order["env"], MARKER: self.children.marker}}
        future = self._starting[number] = asyncio.get_running_loop().create_future()
        self._watches[number] = watch
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            await future
        except BaseException:
            self._watches.pop(number, None)
            self._starting.pop(number, None)
            raise

    async def close(self) -> tuple[str, ...]:
        """End everything.

        Returns
        -------
        tuple of str
            What is still alive, as ``"pid name"``.
        """
        survivors = await self.children.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        await asyncio.wait(self._tasks, timeout=1.0)  # to the end of the reports
        for task in self._tasks:
            task.cancel()
        for watch in list(self._watches.values()):
            watch.gone()
        self._watches.clear()
        return survivors

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        loop = asyncio.get_running_loop()
        async for line in self._process.stdout:
            loop.call_soon(self._hear, json.loads(line))  # a fault in one session's handling is no other's

    async def _lose(self) -> None:
        await self._process.wait()
        self._lost = True
        for future in self._starting.values():
            future.set_exception(_lost())
        self._starting.clear()

    def _hear(self, report: dict[str, Any]) -> None:
        number = report["id"]
        if "leader" in report:
            started = Started(ProcessId.of(report["leader"]), report["pid"], report["t"])
            self._watches[number].begun(started)
            self._starting.pop(number).set_result(None)
        elif "error" in report:
            del self._watches[number]
            self._starting.pop(number).set_exception(
                StartupError(
                    f"the command cannot be started: {report['error']}", driver="exec", phase="startup"
                )
            )
        elif "exit" in report:
            self._watches[number].ended(Ended(report["exit"], report["t"], report["cpu_s"], report["left"]))
        elif (watch := self._watches.pop(number, None)) is not None:
            watch.gone()


def _lost() -> StartupError:
    return StartupError(
        "the process that starts commands, or the watchdog that ends them, has ended: make new ExecSessions",
        driver="exec",
        phase="startup",
    )
