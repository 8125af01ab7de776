"""OpenCode's server: started in isolation, awaited, checked, warmed up, ended with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ...agents import opencode as agent
from ...errors import AgentlabError, CleanupError, ConfigError, StartupError
from ...redact import Redactor
from ...wire.children import Child, Children
from ..base import Arm, Opened, Run
from . import NO_GATEWAY
from .api import Api
from .session import (
    HURRY_S,
    OpenCodeSession,
    create_session,
    delete_session,
    open_session,
    prompt_body,
)
from .workspace import renew

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
    """

    def __init__(
        self, driver: OpenCode, arm: Arm, api: Api, *, child: Child | None, workspace: Path | None
    ) -> None:
        self.api = api
        self.child = child
        self.version = ""
        self.warmup_problem: str | None = None
        self._driver = driver
        self._arm = arm
        self._workspace = workspace

    @contextlib.asynccontextmanager
    async def session(self, run: Run) -> AsyncGenerator[OpenCodeSession]:
        """Open one session in a renewed workspace."""
        if self._workspace is not None:
            template = self._driver.workspace
            await asyncio.to_thread(renew, self._workspace, None if template is None else Path(template))
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
                f"OpenCode does not answer: {error}", driver="opencode", phase="startup"
            ) from error
        self.version = str(health.get("version", ""))
        _among("agent", self._driver.agent, [str(a["name"]) for a in agents])
        provider, model = agent.split_model(self._driver.model)
        found = {str(p["id"]): list(p.get("models", {})) for p in providers["providers"]}
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


def _among(what: str, wanted: str, found: list[str]) -> None:
    if wanted not in found:
        there = ", ".join(sorted(found)[:20]) or "none"
        raise StartupError(
            f"OpenCode has no {what} {wanted!r}; it has: {there}", driver="opencode", phase="startup"
        )


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
    if driver.server == "run":
        yield _ServerPerRun(driver, arm)
        return
    async with running_server(driver, arm) as server:
        yield server


class _ServerPerRun:
    def __init__(self, driver: OpenCode, arm: Arm) -> None:
        self._driver = driver
        self._arm = arm

    @contextlib.asynccontextmanager
    async def session(self, run: Run) -> AsyncGenerator[OpenCodeSession]:
        async with running_server(self._driver, self._arm) as server, server.session(run) as session:
            yield session


@contextlib.asynccontextmanager
async def running_server(driver: OpenCode, arm: Arm) -> AsyncGenerator[Server]:
    """Start a server, or use the one at ``driver.url``; checked and warm.

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
        It did not become ready; the message holds the redacted end of its output.
    """
    async with contextlib.AsyncExitStack() as stack:
        workspace: Path | None = None
        child: Child | None = None
        if driver.url is not None:
            if arm.gateway is not None:
                raise ConfigError(f"arm {arm.name!r}, OpenCode(url=...), record(gateway=...): {NO_GATEWAY}")
            api = Api(driver.url, auth=driver.auth, headers=tuple(driver.headers))
        else:
            home = arm.scratch / secrets.token_hex(4)
            home.mkdir(mode=0o700)
            agent.prepare_home(home, driver.version)
            workspace = arm.scratch / "workspace"
            await asyncio.to_thread(
                renew, workspace, None if driver.workspace is None else Path(driver.workspace)
            )
            children = await stack.enter_async_context(Children())
            stack.push_async_callback(_end, children, arm)
            api, child = await _launch(driver, arm, children, home, workspace, stack)
        stack.push_async_callback(api.close)
        server = Server(driver, arm, api, child=child, workspace=workspace)
        await server.check()
        await server.warm_up()
        yield server


async def _end(children: Children, arm: Arm) -> None:
    survivors = await children.close(term_s=0.0 if arm.hurry else 0.5)
    if survivors:
        raise CleanupError(
            f"still alive after clean-up: {', '.join(survivors)}; end them by their pid",
            survivors=survivors,
            driver="opencode",
            phase="cleanup",
            code="survivors",
        )


async def _launch(
    driver: OpenCode,
    arm: Arm,
    children: Children,
    home: Path,
    workspace: Path,
    stack: contextlib.AsyncExitStack,
) -> tuple[Api, Child]:
    gateway = arm.gateway
    password = secrets.token_urlsafe(24)  # nobody else on this machine talks to it
    config = agent.server_config(
        driver.model,
        base_url=gateway.base_url("chat") if gateway else None,
        token=gateway.token if gateway else None,
        permissions=driver.permissions,
        plugins=tuple(driver.plugins),
        snapshot=driver.snapshot,
        extra=driver.config,
    )
    environment = agent.server_environment(
        home=home, database=home / "opencode.db", config=config, password=password
    )
    log = home / "server.log"
    child = await children.spawn(
        agent.serve_argv(agent.locate(driver.version)),
        env=environment,
        cwd=workspace,
        stdout="pipe",
        stderr=log,
    )
    limit = arm.scenario.timeouts.start
    hide = Redactor(secrets=[password, *([gateway.token] if gateway else [])], paths={str(home): "<home>"})
    try:
        async with asyncio.timeout(limit):
            url = await _listening(child)
    except TimeoutError:
        raise StartupError(
            f"OpenCode was not ready within {limit:g} s; Timeouts(start=...) allows more{_tail(log, hide)}",
            driver="opencode",
            phase="startup",
        ) from None
    if url is None:
        code = await child.wait()
        raise StartupError(
            f"OpenCode ended with exit code {code} at its start{_tail(log, hide)}",
            driver="opencode",
            phase="startup",
        )
    drain = asyncio.create_task(_drain(child))
    stack.callback(drain.cancel)
    return Api(url, auth=("opencode", password)), child


async def _listening(child: Child) -> str | None:
    """Wait for the line that says it listens: a request before it would never be answered."""
    assert child.stdout is not None
    while line := await child.stdout.readline():
        if (match := agent.LISTENING.search(line)) is not None:
            return match[1].decode()
    return None


async def _drain(child: Child) -> None:
    assert child.stdout is not None
    while await child.stdout.read(1 << 16):
        pass


def _tail(log: Path, hide: Redactor) -> str:
    with contextlib.suppress(OSError):
        text: Any = log.read_text(errors="replace").strip()
        return f": {hide.redact(text[-600:])}" if text else ""
    return ""
