"""The driver ``Exec``: exec sessions measured by a file of scenarios, by our rules or the original's."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal

from ...errors import ConfigError, DriverTimeout
from ...scenario import digest
from ..base import Arm, Identity, Opened, Run, RunsAlone
from .original import OriginalSessions
from .play import Play
from .scenarios import ExecScenario, exec_scenarios
from .sessions import ExecSessions

#: Of what is measured and how; a study is not resumed by another one.
VERSION = "1"


@dataclasses.dataclass(frozen=True, repr=False)
class Exec(RunsAlone):
    """Measure exec sessions: each run plays a file of scenarios in which sessions are known to fail.

    Record it with a :class:`~agentlab.Scenario` without turns. What the commands print holds their own clock,
    and they keep a list of it, so that delays and lost bytes are those of the sessions.

    Parameters
    ----------
    names : sequence of str, optional
        Scenarios to play; default: all of the file.
    rules : {"ours", "original"}
        ``"ours"``: :class:`~agentlab.ExecSessions`. ``"original"``: the same processes, terminals and pipes
        under the rules of an older module: output after the end is awaited until 100 ms were silent, 1 s at
        most; an ended session is forgotten, with what it left running; a time-out ends the process group;
        long lines are typed as they are.
    tty : bool, optional
        Only the scenarios on a terminal (True), or over pipes (False).
    together : int, default 4
        Scenarios that are played at once, 1 to 16; those that fill the machine are played alone, at the end.
    file : path, optional
        A scenario file of one's own, JSON; default: the one that is shipped.

    Raises
    ------
    ConfigError
        A setting is wrong, or there is no such scenario.

    Examples
    --------
    >>> Exec(["no-newline", "interrupt"]).identify().settings["rules"]
    'ours'
    """

    names: Sequence[str] = ()
    _: dataclasses.KW_ONLY
    rules: Literal["ours", "original"] = "ours"
    tty: bool | None = None
    together: int = 4
    file: str | Path | None = None

    def __post_init__(self) -> None:
        if isinstance(self.names, str):
            raise ConfigError(f"Exec({self.names!r}): give a list of scenarios, e.g. ['no-newline']")
        object.__setattr__(self, "names", tuple(self.names))
        if self.rules not in ("ours", "original"):
            raise ConfigError(f"Exec(rules={self.rules!r}): write 'ours' or 'original'")
        if self.tty not in (None, True, False):
            raise ConfigError(f"Exec(tty={self.tty!r}): write True or False, or leave it out")
        if type(self.together) is not int or not 1 <= self.together <= 16:
            raise ConfigError(f"Exec(together={self.together!r}): give a whole number from 1 to 16")
        if not self.scenarios():
            raise ConfigError("Exec: no scenario is left; take out names or tty")

    def scenarios(self) -> dict[str, ExecScenario]:
        """Return what a run plays, by name."""
        return exec_scenarios(self.names, file=self.file, tty=self.tty)

    def identify(self) -> Identity:
        """Say what is measured; the scenarios are told by name and digest.

        Returns
        -------
        Identity
        """
        chosen = self.scenarios()
        settings = {
            "rules": self.rules,
            "scenarios": list(chosen),
            "scenarios_digest": digest([dataclasses.asdict(one) for one in chosen.values()]),
            "together": self.together,
        }
        return Identity(driver="exec", version=VERSION, settings=settings)

    def open(self, arm: Arm) -> AbstractAsyncContextManager[Opened]:
        """Open the arm; sessions are opened for each run afresh.

        Parameters
        ----------
        arm : Arm
            What the engine gives.

        Returns
        -------
        context manager

        Raises
        ------
        ConfigError
            The scenario has turns.
        """
        if arm.scenario.turns:
            raise ConfigError("Exec has nobody to ask: record it with a Scenario without turns")
        return contextlib.nullcontext(_Opened(self, arm))


@dataclasses.dataclass(frozen=True)
class _Opened:
    driver: Exec
    arm: Arm

    @contextlib.asynccontextmanager
    async def session(self, run: Run) -> AsyncGenerator[_Nobody]:
        """Play all scenarios."""
        folder = self.arm.scratch / run.run_id
        home = folder / "home"
        home.mkdir(parents=True)
        deadline = run.scenario.timeouts.prompt
        make = OriginalSessions if self.driver.rules == "original" else ExecSessions
        async with make(env={"HOME": str(home)}) as sessions:
            run.own(sessions.pid)
            try:
                async with asyncio.timeout(deadline):
                    await self._play(sessions, run, folder)
            except TimeoutError:
                raise DriverTimeout(
                    f"the scenarios were not over after {deadline:g} s", driver="exec", run_id=run.run_id
                ) from None
            yield _Nobody()

    async def _play(self, sessions: ExecSessions, run: Run, folder: Path) -> None:
        """Play some at once, then those that fill the machine one by one."""
        places = asyncio.Semaphore(self.driver.together)

        async def play(number: int, scenario: ExecScenario) -> None:
            name = f"e{number}"
            async with places:
                await Play(sessions, scenario, run, name, folder / name, self.driver.rules).play()

        numbered = list(enumerate(self.driver.scenarios().values(), 1))
        try:
            async with asyncio.TaskGroup() as group:
                for number, scenario in numbered:
                    if not scenario.alone:
                        group.create_task(play(number, scenario))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None  # the others were cancelled by it
        for number, scenario in numbered:
            if scenario.alone:
                await play(number, scenario)


class _Nobody:
    """Who answers prompts: there are none."""

    async def prompt(self, text: str) -> None:
        """Refuse."""
        raise ConfigError("Exec has nobody to ask")
