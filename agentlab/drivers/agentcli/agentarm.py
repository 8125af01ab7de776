"""An arm of a command-line agent: what all its runs share, and each run's home and workspace."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ...agents.base import Setup, split_model
from ...errors import CleanupError, ConfigError
from ...wire.children import Children
from ..base import Arm, LiveGateway, Run
from ..workspace import renew, template
from .network import Loopback, loopback
from .session import CLISession

if TYPE_CHECKING:
    from . import AgentCLI


@runtime_checkable
class ServesTools(Protocol):
    """A gateway that serves the shared file tools; a stand-in may not."""

    async def serve_tools(self, root: str | Path | None, *, max_chars: int = 16_000) -> None:
        """Serve them in a folder from now on."""
        ...


class AgentArm:
    """Open the sessions of one arm; made by :func:`open_arm`."""

    def __init__(self, driver: AgentCLI, arm: Arm, gateway: LiveGateway, network: Loopback | None) -> None:
        self._driver = driver
        self._arm = arm
        self._gateway = gateway
        self._network = network

    @contextlib.asynccontextmanager
    async def session(self, run: Run) -> AsyncGenerator[CLISession]:
        """Give a run a home and a workspace of its own, and end all that it has started.

        Parameters
        ----------
        run : Run
            From the engine.

        Yields
        ------
        CLISession
        """
        arm, driver = self._arm, self._driver
        workspace, home = arm.scratch / "workspace", arm.scratch / "home"
        source = await asyncio.to_thread(template, driver.workspace, arm.scratch)
        await asyncio.to_thread(renew, workspace, source)
        await asyncio.to_thread(_fresh, home)
        if isinstance(self._gateway, ServesTools):  # for agents that are given the shared tools
            await self._gateway.serve_tools(workspace)
        about = driver.about
        dialect = driver.dialect or about.dialects[0]
        setup = Setup(
            home=home,
            workspace=workspace,
            executable=about.locate(driver.version),
            dialect=dialect,
            base_url=self._gateway.base_url(dialect),
            token=self._gateway.token,
            model=split_model("AgentCLI", driver.model)[1],
            context_tokens=driver.context_tokens,
            output_tokens=driver.max_output_tokens,
            system=driver.system,
            flags=tuple(driver.flags),
        )
        children = Children()
        async with children:
            run.own(children.pid)
            session = CLISession(about, setup, run, self._gateway, children, self._network)
            try:
                yield session
            finally:
                await asyncio.shield(self._end(session, children, run))

    async def _end(self, session: CLISession, children: Children, run: Run) -> None:
        survivors = await children.close(term_s=0.0 if self._arm.hurry else 0.5)
        session.close()
        if survivors:
            run.issue("survivors", ", ".join(survivors), discard=True)
            raise CleanupError(
                f"still alive after clean-up: {', '.join(survivors)}; end them by their pid",
                survivors=survivors,
            )


@contextlib.asynccontextmanager
async def open_arm(driver: AgentCLI, arm: Arm) -> AsyncGenerator[AgentArm]:
    """Check an arm before its first run, and make its network.

    Parameters
    ----------
    driver : AgentCLI
        Settings.
    arm : Arm
        From the engine.

    Yields
    ------
    AgentArm

    Raises
    ------
    ConfigError
        No gateway, or too many turns for an agent that cannot resume.
    StartupError
        Not installed, or no network can be made.
    """
    about = driver.about
    if arm.gateway is None:
        raise ConfigError(
            f"AgentCLI({driver.agent!r}) needs a gateway: it is given no other model, and its requests and "
            "its end are read there. Give gateway=Gateway(...), to it or to record"
        )
    if len(arm.scenario.turns) > 1 and not about.resumes:
        raise ConfigError(
            f"AgentCLI({driver.agent!r}): {about.title} cannot go on with a session, and the scenario "
            f"{arm.scenario.name!r} has {len(arm.scenario.turns)} turns; give it one"
        )
    about.locate(driver.version)
    async with contextlib.AsyncExitStack() as stack:
        network = None
        if driver.network == "loopback":
            network = await stack.enter_async_context(loopback(arm.gateway.base_url("chat")))
        yield AgentArm(driver, arm, arm.gateway, network)


def _fresh(home: Path) -> None:
    if home.exists():
        shutil.rmtree(home)
    home.mkdir(mode=0o700)
