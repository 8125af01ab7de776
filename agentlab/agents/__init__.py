"""Agents: how each is installed, isolated and launched; and what this machine can measure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .machine_check import Report

__all__ = ["Installed", "doctor", "install"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Installed:
    """Name an installed agent or plugin.

    Parameters
    ----------
    name : str
        Its name.
    version : str
        Its version, as the executable itself, or the plugin's package, reported it.
    executable : pathlib.Path
        Where it is: a file to run, or the folder of a plugin's package.
    """

    name: str
    version: str
    executable: Path


def install(name: str, *, version: str | None = None, say: Callable[[str], None] | None = None) -> Installed:
    """Install an agent, or a plugin of one, into the cache unless it is there.

    The cache is ``$AGENTLAB_CACHE``, default ``~/.cache/agentlab``.

    Parameters
    ----------
    name : str
        An agent: ``"pi"``, ``"opencode"``, ``"codex"``, ``"claude_code"``, ``"gemini_cli"``, ``"cline"`` or
        ``"mini_swe_agent"`` (``-`` and ``_`` are the same); or a plugin of OpenCode,
        ``"oh-my-opencode-slim"``.
    version : str, optional
        Exact version; default: the one agentlab is tested with.
    say : callable, optional
        Receives progress, one line at a time.

    Returns
    -------
    Installed
        An agent has answered ``--version``.

    Raises
    ------
    ConfigError
        Unknown name, or not a version.
    StartupError
        npm or pip is missing or failed; nothing half-installed is left.

    Examples
    --------
    >>> install("opencode").version  # doctest: +SKIP
    '1.18.33'
    """
    from ..errors import ConfigError
    from . import catalogue, npm, plugins

    tell = say or (lambda _line: None)
    agent = catalogue.AGENTS.get(name.replace("-", "_"))
    plugin = plugins.KNOWN.get(name)
    if agent is None and plugin is None:
        raise ConfigError(f"install({name!r}): known are {', '.join([*catalogue.AGENTS, *plugins.KNOWN])}")
    pinned = agent.version if agent else plugins.KNOWN[name].VERSION
    wanted = pinned if version is None else version
    if not wanted[:1].isdigit() or not all(c.isalnum() or c in ".-+" for c in wanted):
        raise ConfigError(f"install({name!r}, version={wanted!r}): give an exact version such as {pinned}")
    if agent is not None:
        found = catalogue.install_agent(agent, wanted, say=tell)
        return Installed(name=agent.name, version=wanted, executable=found)
    package = plugins.KNOWN[name].PACKAGE

    def find(folder: Path) -> Path:
        return plugins.find_package(package, wanted, folder)

    found = npm.install_package(name, package, wanted, find, say=tell)
    return Installed(name=name, version=wanted, executable=found)


def doctor() -> Report:
    """Look at this machine: what can be measured, which columns stay empty and why, and what mends it.

    Returns
    -------
    Report
        Shown as a table; ``.ok`` is True when nothing that agentlab needs is missing.

    Examples
    --------
    >>> doctor().checks[0].name
    'python'
    """
    from .machine_check import check_machine

    return check_machine()
