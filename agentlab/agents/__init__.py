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
        An agent of the command line or of the terminal, e.g. ``"pi"``, ``"codex"`` or ``"copilot"`` (``-``
        and ``_`` are the same; an unknown name lists all); or a plugin of OpenCode,
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
    from .installable import find_installable

    known = find_installable(name)
    wanted = known.version if version is None else version
    if not wanted[:1].isdigit() or not all(c.isalnum() or c in ".-+" for c in wanted):
        raise ConfigError(
            f"install({name!r}, version={wanted!r}): give an exact version such as {known.version}"
        )
    return Installed(
        name=known.name, version=wanted, executable=known.fetch(wanted, say or (lambda _line: None))
    )


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
