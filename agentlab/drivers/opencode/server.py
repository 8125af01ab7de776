"""OpenCode's server, one of our own or one that runs already: checked, warmed up, used."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from ...agents.base import split_model
from ...agents.plugins import brought_by
from ...errors import AgentlabError, ConfigError, StartupError
from ...wire.children import Child
from ..base import Arm, Opened, Run
from ..workspace import renew, template
from .api import Api
from .checks import NO_GATEWAY
from .launch import launch
from .session import (
    HURRY_S,
    OpenCodeSession,
    create_session,
    delete_session,
    open_session,
    prompt_body,
)

if TYPE_CHECKING:
    from . import OpenCode

_WARMUP = "Reply with one word: ready."
_WARMUP_S = 60.0


class Server:
    """A ready server.

    Attributes
    ----------
    api : Api
        Its calls.
    version : str
        What it says of itself.
    child : Child or None
        Its process; None when it was not started here.
    warmup_problem : str or None
        Why the throw-away prompt did not succeed.
    plugins_seen : bool
        Whether it is known that all plugins loaded.
    """

    def __init__(
        self,
        driver: OpenCode,
        arm: Arm,
        api: Api,
        child: Child | None = None,
        *,
        plugins_seen: bool = True,
    ) -> None:
        self.api = api
        self.child = child
        self.version = ""
        self.warmup_problem: str | None = None
        self.plugins_seen = plugins_seen
        self._driver = driver
        self._arm = arm

    @contextlib.asynccontextmanager
    async def session(self, run: Run) -> AsyncGenerator[OpenCodeSession]:
        """Open one session in a renewed workspace."""
        if self._driver.url is None:
            await _renew(self._driver, self._arm)
        else:
            run.issue("foreign_server")
        if not self.plugins_seen:
            run.issue("plugin_unproven")
        if self.warmup_problem is not None:
            run.issue("warmup_failed", self.warmup_problem)
        async with open_session(self._driver, self.api, self._arm, run) as session:
            yield session

    async def check(self) -> None:
        """Ask for version, agents and models before anything is measured.

        Raises
        ------
        StartupError
            It does not answer, or lacks the agent or the model; the message lists what there is.
        """
        limit = self._arm.scenario.timeouts.start
        try:
            health, _ = await self.api.call("GET", "/global/health", timeout_s=limit)
            agents, _ = await self.api.call("GET", "/agent", timeout_s=limit)
            providers, _ = await self.api.call("GET", "/config/providers", timeout_s=limit)
        except AgentlabError as error:
            raise StartupError(
                f"OpenCode does not answer: {error}. With url=: look whether `opencode serve` runs there",
                driver="opencode",
                phase="startup",
            ) from error
        try:
            self.version = str(health["version"])
            names = [str(a["name"]) for a in agents]
            found = {str(p["id"]): list(p.get("models", {})) for p in providers["providers"]}
        except (KeyError, TypeError, AttributeError):
            raise StartupError(
                "what answers is not OpenCode; url= must be the address of `opencode serve`",
                driver="opencode",
                phase="startup",
            ) from None
        plugin = brought_by(self._driver.agent)
        hint = (
            f". {self._driver.agent!r} comes with the plugin {plugin}: plugins=[{plugin!r}]" if plugin else ""
        )
        _among("agent", self._driver.agent, names, hint)
        provider, model = split_model("OpenCode", self._driver.model)
        if provider not in found and self._arm.gateway is None and self._driver.url is None:
            raise StartupError(
                f"OpenCode knows no provider {provider!r}: give gateway=, or describe it in config=",
                driver="opencode",
                phase="startup",
            )
        _among("provider", provider, list(found))
        _among("model", model, found[provider])

    async def warm_up(self) -> None:
        """Send a throw-away prompt in a session of its own: the first one of a server is seconds dearer."""
        session: str | None = None
        try:
            async with asyncio.timeout(min(_WARMUP_S, self._arm.scenario.timeouts.prompt)):
                session = await create_session(self._driver, self.api, self._arm.scenario.timeouts.start)
                route = f"/session/{quote(session, safe='')}/message"
                body = prompt_body(self._driver, _WARMUP)
                reply, _ = await self.api.call("POST", route, body, timeout_s=None)
            error = (reply["info"].get("error") or {}).get("name")
            self.warmup_problem = None if error is None else str(error)
        except TimeoutError:
            self.warmup_problem = "no reply in time"
        except AgentlabError as error:
            self.warmup_problem = str(error)
        finally:
            budget_s = HURRY_S if self._arm.hurry else self._arm.scenario.timeouts.cleanup
            with contextlib.suppress(AgentlabError, TimeoutError):
                async with asyncio.timeout(budget_s):
                    if session is not None:
                        await delete_session(self.api, session)


def _among(what: str, wanted: str, found: list[str], hint: str = "") -> None:
    if wanted not in found:
        there = ", ".join(sorted(found)[:20]) or "none"
        raise StartupError(
            f"OpenCode has no {what} {wanted!r}; it has: {there}{hint}", driver="opencode", phase="startup"
        )


async def _renew(driver: OpenCode, arm: Arm) -> Path:
    """Make the arm's workspace afresh."""
    workspace = arm.scratch / "workspace"
    source = await asyncio.to_thread(template, driver.workspace, arm.scratch)
    await asyncio.to_thread(renew, workspace, source)
    return workspace


@contextlib.asynccontextmanager
async def open_arm(driver: OpenCode, arm: Arm) -> AsyncGenerator[Opened]:
    """Open an arm: one server for all its runs, or one that is made anew for each.

    Parameters
    ----------
    driver : OpenCode
        Settings.
    arm : Arm
        From the engine.

    Yields
    ------
    Opened
    """
    if driver.server == "arm":
        async with running_server(driver, arm) as server:
            await server.warm_up()
            yield server
        return
    async with running_server(driver, arm):
        pass  # what is wrong is said before a run is spent
    yield _ServerPerRun(driver, arm)


class _ServerPerRun:
    def __init__(self, driver: OpenCode, arm: Arm) -> None:
        self._driver = driver
        self._arm = arm

    @contextlib.asynccontextmanager
    async def session(self, run: Run) -> AsyncGenerator[OpenCodeSession]:
        async with running_server(self._driver, self._arm) as server:
            await server.warm_up()
            async with server.session(run) as session:
                yield session


@contextlib.asynccontextmanager
async def running_server(driver: OpenCode, arm: Arm) -> AsyncGenerator[Server]:
    """Start a server, or use the one at ``driver.url``; checked, but not warm.

    Parameters
    ----------
    driver : OpenCode
        Settings.
    arm : Arm
        From the engine.

    Yields
    ------
    Server

    Raises
    ------
    ConfigError
        A gateway is to stand before a server that runs already.
    StartupError
        It did not become ready, or not with all plugins, the agent and the model.
    """
    async with contextlib.AsyncExitStack() as stack:
        if driver.url is None:
            api, child, plugins_seen = await launch(driver, arm, await _renew(driver, arm), stack)
            server = Server(driver, arm, api, child, plugins_seen=plugins_seen)
        elif arm.gateway is not None:
            raise ConfigError(f"arm {arm.name!r}, OpenCode(url=...), record(gateway=...): {NO_GATEWAY}")
        else:
            api = Api(
                driver.url,
                auth=driver.auth,
                headers=tuple(driver.headers),
                retries=driver.retries,
                retry_delay_s=driver.retry_delay_s,
            )
            stack.push_async_callback(api.close)
            server = Server(driver, arm, api)
        await server.check()
        yield server
