"""Homes of one run: each with its configuration, environment and command line, and the daemon it needs."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import shutil
import socket
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING

from ...agents.tui.base import TerminalAgent, TerminalSetup, terminal_environment
from ...errors import StartupError
from ...wire.children import Children
from .place import fresh_home

if TYPE_CHECKING:
    from . import Terminal

_STOP_S = 2.0


@dataclasses.dataclass(frozen=True)
class Home:
    """Hold what a session needs to start.

    Parameters
    ----------
    argv : list of str
        Command line.
    environment : dict of str to str
        The whole environment.
    setup : TerminalSetup
        What it was prepared from.
    """

    argv: list[str]
    environment: dict[str, str] = dataclasses.field(repr=False)
    setup: TerminalSetup = dataclasses.field(repr=False)


def locate(driver: Terminal) -> Path:
    """Find what is started.

    Parameters
    ----------
    driver : Terminal
        Settings.

    Returns
    -------
    Path
        Absolute.

    Raises
    ------
    StartupError
        The agent is not installed, or the command is not found.
    """
    if driver.command is None:
        assert driver.about is not None
        return driver.about.locate(driver.version)
    found = shutil.which(driver.command[0])
    if found is None:
        raise StartupError(
            f"Terminal(command=[{driver.command[0]!r:.60}, ...]): command not found; give its whole path",
            driver="terminal",
            phase="startup",
        )
    return Path(found).absolute()


def make_home(driver: Terminal, place: Path, number: int, workspace: Path) -> Home:
    """Make one home from nothing.

    Parameters
    ----------
    driver : Terminal
        Settings.
    place : Path
        Private folder of the run.
    number : int
        0-based.
    workspace : Path
        Existing folder where its sessions work.

    Returns
    -------
    Home
    """
    about, executable = driver.about, locate(driver)
    setup = TerminalSetup(
        home=fresh_home(place, number),
        workspace=workspace,
        executable=executable,
        version=driver.version or (about.version if about else ""),
        port=_free_port() if about is not None and about.needs_port else None,
        flags=tuple(driver.flags),
    )
    environment = (about.prepare if about else terminal_environment)(setup) | dict(driver.env)
    if driver.command is not None:
        argv = [str(executable), *driver.command[1:], *driver.flags]
    else:
        assert about is not None
        argv = about.argv(setup)
    return Home(argv, environment, setup)


@contextlib.asynccontextmanager
async def service_of(
    about: TerminalAgent | None, home: Home, children: Children, *, start_s: float
) -> AsyncGenerator[None]:
    """Start the daemon that must be up before the first session of a home, and ask it to stop at the end.

    Parameters
    ----------
    about : TerminalAgent or None
        The recipe; without a service nothing happens.
    home : Home
        Its commands run in this home's environment.
    children : Children
        Starts them, and ends what is left.
    start_s : float
        Longest wait for it, s.

    Raises
    ------
    StartupError
        A command failed, or it did not come up in time.
    """
    service = about.service if about else None
    if about is None or service is None:
        yield
        return
    ready = service.ready(home.setup)
    try:
        async with asyncio.timeout(start_s):
            for command in service.start(home.setup):
                code = await _run(command, home, children)
                if code != 0:
                    raise StartupError(
                        f"{about.title}: {' '.join(command[1:3])!r} ended with exit code {code}",
                        driver="terminal",
                        phase="startup",
                    )
            while not ready.exists():  # noqa: ASYNC110 (another process makes it)
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise StartupError(
            f"{about.title}: its daemon was not up within {start_s:g} s; Timeouts(start=...) allows more",
            driver="terminal",
            phase="startup",
        ) from None
    yield
    with contextlib.suppress(StartupError, TimeoutError):
        async with asyncio.timeout(_STOP_S):
            for command in service.stop(home.setup):
                await _run(command, home, children)


async def _run(command: list[str], home: Home, children: Children) -> int | None:
    child = await children.spawn(command, env=home.environment, cwd=home.setup.workspace)
    return await child.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
