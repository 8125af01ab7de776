"""A server of one's own: configured and started in isolation, awaited, ended with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...agents import opencode as agent
from ...agents.base import split_model
from ...agents.plugins import Plugin, find_plugin
from ...errors import AgentlabError, CleanupError, ConfigError, StartupError
from ...redact import Redactor
from ...wire.children import Child, Children
from ..base import Arm
from .api import Api
from .boot import boot

if TYPE_CHECKING:
    from . import OpenCode


async def launch(
    driver: OpenCode, arm: Arm, workspace: Path, stack: contextlib.AsyncExitStack
) -> tuple[Api, Child, bool]:
    """Start a server in a home of its own.

    Parameters
    ----------
    driver : OpenCode
        Settings.
    arm : Arm
        From the engine.
    workspace : Path
        Where it runs.
    stack : AsyncExitStack
        Ends all of it.

    Returns
    -------
    tuple
        Its calls, its process, and whether all plugins are known to have loaded.

    Raises
    ------
    ConfigError
        A plugin was changed since the arm's first server.
    StartupError
        It did not become ready, or not with its plugins; holds the redacted end of its output.
    """
    home = arm.scratch / secrets.token_hex(4)
    home.mkdir(mode=0o700)
    plugins = [find_plugin(plugin) for plugin in driver.plugins]
    check_builds(plugins, arm.scratch / "plugins.json")
    files = {name: data for plugin in plugins for name, data in plugin.files(driver.model).items()}
    agent.prepare_home(home, driver.version, files=files)
    password = secrets.token_urlsafe(24)  # nobody else on this machine talks to it
    environment = agent.server_environment(
        home=home,
        database=home / "opencode.db",
        config=_config(driver, arm, plugins),
        password=password,
    )
    children = await stack.enter_async_context(Children())
    arm.own(children.pid)
    stack.push_async_callback(_end, children, arm)
    child = await children.spawn(
        agent.serve_argv(agent.locate(driver.version)),
        env=environment,
        cwd=workspace,
        stdout="pipe",
        stderr=home / "server.log",
    )
    hidden = [password, *([arm.gateway.token] if arm.gateway else [])]
    url = await _ready(child, arm, home, Redactor(secrets=hidden, paths={str(home): "<home>"}))
    drain = asyncio.create_task(_drain(child))
    stack.callback(drain.cancel)
    api = Api(url, auth=("opencode", password))
    stack.push_async_callback(api.close)
    return api, child, not plugins or await _boot(api, home, plugins, arm)


def check_builds(plugins: Sequence[Plugin], first: Path) -> None:
    """Refuse a plugin that was changed since the arm's first server: its runs would be of two builds.

    Parameters
    ----------
    plugins : sequence of Plugin
        As they are now.
    first : Path
        Holds what they were; written when absent.

    Raises
    ------
    ConfigError
        One differs.
    """
    builds = json.dumps([plugin.identity() for plugin in plugins])
    if not first.exists():
        first.write_text(builds)
    elif first.read_text() != builds:
        names = ", ".join(plugin.name for plugin in plugins)
        raise ConfigError(f"OpenCode(plugins=...): {names} changed while the study runs; record a new one")


def _config(driver: OpenCode, arm: Arm, plugins: Sequence[Plugin]) -> dict[str, Any]:
    gateway = arm.gateway
    base_url = gateway.base_url("chat") if gateway else None
    config = agent.server_config(
        driver.model,
        base_url=base_url,
        token=gateway.token if gateway else None,
        permissions=driver.permissions,
        plugins=plugins,
        snapshot=driver.snapshot,
        extra=driver.config,
    )
    provider, _ = split_model("OpenCode", driver.model)
    if base_url is not None and _address(config, provider) != base_url:
        raise ConfigError(
            f"OpenCode(config=...): its provider {provider!r} has an address of its own, which leads around "
            "the gateway. Leave the address out, or measure without a gateway"
        )
    return config


def _address(config: Mapping[str, Any], provider: str) -> Any:  # noqa: ANN401
    """Return where the provider's requests go; None where the configuration is of no known form."""
    found: Any = config
    for key in ("provider", provider, "options", "baseURL"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


async def _ready(child: Child, arm: Arm, home: Path, hide: Redactor) -> str:
    """Wait for the server's address, and say what it said when it does not come."""
    limit = arm.scenario.timeouts.start
    log = home / "server.log"
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
    return url


async def _boot(api: Api, home: Path, plugins: Sequence[Plugin], arm: Arm) -> bool:
    try:
        return await boot(api, home, plugins, arm.scenario.timeouts.start)
    except StartupError:
        raise
    except AgentlabError as error:
        raise StartupError(
            f"OpenCode does not start with its plugins: {error}", driver="opencode", phase="startup"
        ) from error


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
