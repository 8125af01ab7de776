"""An arm of a terminal agent: each run gets a place, homes and sessions of its own, and leaves nothing."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ...errors import CleanupError, ConfigError
from ...wire.children import Children
from ...wire.procid import ProcessId
from ...wire.watchdog import command_of
from ..base import Arm, Run
from ..workspace import renew, template
from .fleet import DAEMON_S, Fleet
from .foreign import ForeignDaemons
from .homes import Home, locate, make_home
from .place import private_place

if TYPE_CHECKING:
    from . import Terminal

#: How long a throw-away start goes on after its prompt: daemons copy themselves, caches are written.
_LINGER_S = 3.0


@runtime_checkable
class SeesProcesses(Protocol):
    """A memory sampler that tells whom it has seen; a stand-in may not."""

    def seen(self) -> set[ProcessId]:
        """Name the processes of the last look."""
        ...


class Idle:
    """What the engine may prompt, and must not: the sessions wait for input."""

    async def prompt(self, text: str) -> None:
        """Refuse a prompt.

        Parameters
        ----------
        text : str
            Not sent.

        Raises
        ------
        ConfigError
            Always.
        """
        raise ConfigError("Terminal asks nothing of a model; use AgentCLI")


class TerminalArm:
    """Open the runs of one arm; made by :func:`open_arm`."""

    def __init__(self, driver: Terminal, arm: Arm) -> None:
        self._driver = driver
        self._arm = arm

    @contextlib.asynccontextmanager
    async def session(self, run: Run) -> AsyncGenerator[Idle]:
        """Start the run's sessions, wait until they are ready and settled, and end all of it.

        Parameters
        ----------
        run : Run
            From the engine.

        Yields
        ------
        Idle

        Raises
        ------
        DriverError
            A session ended too early (``failed_to_start``), or took no input in time (``never_ready``).
        CleanupError
            Something is still alive.
        """
        driver, start_s = self._driver, run.scenario.timeouts.start
        n_sessions = run.n_sessions or 1
        foreign = ForeignDaemons(driver.about.daemon_marks if driver.about else ())
        async with Children() as children:
            place = await private_place(children)
            keep = run.content_folder
            fleet = Fleet(driver, children, run.emit, keep=keep)
            try:
                homes = await self._homes(place, 1 if driver.daemon == "shared" else n_sessions)
                if driver.home == "warm":
                    await self._warm_up(homes, run, start_s)
                run.own(children.pid)
                _mark(run, "launch")
                await fleet.launch(homes, n_sessions, start_s=start_s)
                await fleet.during(self._settle(run, fleet, len(homes)))
                yield Idle()
            finally:
                await self._end(fleet, children, place, run)
                if gone := foreign.gone():
                    run.issue("foreign_daemon_gone", ", ".join(gone))

    async def _settle(self, run: Run, fleet: Fleet, n_homes: int) -> None:
        """Wait for memory to settle, and keep the sessions idle for as long as was asked."""
        driver = self._driver
        _mark(run, "settle")
        if driver.settle != "plateau":
            await asyncio.sleep(driver.settle)
        wait_s = DAEMON_S if driver.settle == "plateau" else 0.0
        if not await fleet.daemons_up(n_homes, wait_s=wait_s):
            run.issue("daemon_missing", f"not seen {wait_s or driver.settle:g} s after the last prompt")
        if driver.settle == "plateau" and run.memory is not None:
            wanted = {"window_s": driver.window_s, "tolerance": driver.tolerance, "cap_s": driver.cap_s}
            if not await run.memory.settled(**wanted):
                run.issue("never_settled", f"still changing after {driver.cap_s:g} s")
        _mark(run, "settled")
        if driver.settle != "plateau" and run.memory is not None:
            await run.memory.sampled(cap_s=driver.cap_s)  # the run would be over before one is taken
        if driver.hold_s:
            _mark(run, "hold")
            await asyncio.sleep(driver.hold_s)

    async def _homes(self, place: Path, n: int) -> list[Home]:
        workspace = place / "work"
        source = await asyncio.to_thread(template, self._driver.workspace, self._arm.scratch)
        await asyncio.to_thread(renew, workspace, source)
        return [make_home(self._driver, place, number, workspace) for number in range(n)]

    async def _warm_up(self, homes: list[Home], run: Run, start_s: float) -> None:
        """Start once in each home what is measured in it afterwards, and end all of it."""
        async with Children() as children:
            fleet = Fleet(self._driver, children, _unrecorded)
            try:
                await fleet.launch(homes, len(homes), start_s=start_s)
                await fleet.during(asyncio.sleep(_LINGER_S))
            finally:
                await self._end(fleet, children, None, run)

    async def _end(self, fleet: Fleet, children: Children, place: Path | None, run: Run) -> None:
        """Let the sessions leave, which Cancel cuts short, and end all that is left, which nothing does."""
        cancelled: asyncio.CancelledError | None = None
        if not self._arm.hurry:
            try:
                await fleet.leave()
            except asyncio.CancelledError as error:
                cancelled = error
        closing = asyncio.ensure_future(self._close(fleet, children, place, run))
        while not closing.done():
            try:
                await asyncio.wait([closing])
            except asyncio.CancelledError as error:
                cancelled = error
        closing.result()
        if cancelled is not None:
            raise cancelled

    async def _close(self, fleet: Fleet, children: Children, place: Path | None, run: Run) -> None:
        fleet.give_up()
        survivors = await children.close(term_s=0.0 if self._arm.hurry else 0.5)
        if isinstance(run.memory, SeesProcesses):  # had the watchdog been killed, more than its marker finds
            survivors = tuple({*survivors, *await _kill(run.memory.seen())})
        fleet.close()
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)  # the watchdog has, unless it was killed
        if survivors:
            run.issue("survivors", ", ".join(survivors), discard=True)
            raise CleanupError(
                f"still alive after clean-up: {', '.join(survivors)}; end them by their pid",
                survivors=survivors,
                driver="terminal",
                phase="cleanup",
            )


async def _kill(processes: Iterable[ProcessId]) -> list[str]:
    """Kill what still runs of some processes; name what does after 2 s."""
    alive: list[ProcessId] = []
    for _ in range(100):
        alive = [process for process in processes if process.alive()]
        if not alive:
            break
        for process in alive:
            process.signal(signal.SIGKILL)
        await asyncio.sleep(0.02)
    return [command_of(process.pid) for process in alive]


def _mark(run: Run, phase: str) -> None:
    if run.memory is not None:
        run.memory.mark(phase)


def _unrecorded(kind: str, **fields: object) -> None:
    """Take the events of a throw-away start."""


@contextlib.asynccontextmanager
async def open_arm(driver: Terminal, arm: Arm) -> AsyncGenerator[TerminalArm]:
    """Check an arm before its first run.

    Parameters
    ----------
    driver : Terminal
        Settings.
    arm : Arm
        From the engine.

    Yields
    ------
    TerminalArm

    Raises
    ------
    StartupError
        The agent is not installed, or the command is not found.
    """
    locate(driver)
    yield TerminalArm(driver, arm)
