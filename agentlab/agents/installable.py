"""Everything that can be installed by its name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from ..errors import ConfigError, did_you_mean
from . import npm, plugins
from .catalogue import AGENTS
from .release import Release, install_release, release_of
from .tui.catalogue import TERMINALS


@dataclasses.dataclass(frozen=True, kw_only=True)
class Installable:
    """Say what can be installed under one name.

    Parameters
    ----------
    name : str
        Its name.
    version : str
        The version that agentlab is tested with.
    kind : {"agent", "terminal", "plugin"}
        ``"terminal"``: an agent that is only used on a terminal.
    fetch : callable
        Puts a version into the cache and returns where it is.
    """

    name: str
    version: str
    kind: str
    fetch: Callable[[str, Callable[[str], None]], Path]


def installables() -> dict[str, Installable]:
    """List what can be installed.

    Returns
    -------
    dict
        By name.

    Examples
    --------
    >>> installables()["pi"].version
    '0.73.1'
    """
    found = {
        name: _agent(name, agent.version, "agent", _always(release_of(agent)))
        for name, agent in AGENTS.items()
    }
    for name, terminal in TERMINALS.items():
        if terminal.version:  # what no registry has cannot be installed
            kind = "agent" if name in AGENTS else "terminal"
            found[name] = _agent(name, terminal.version, kind, terminal.release)
    return found | {
        name: _plugin(name, module.PACKAGE, module.VERSION) for name, module in plugins.KNOWN.items()
    }


def find_installable(name: str) -> Installable:
    """Return what can be installed under a name.

    Parameters
    ----------
    name : str
        ``-`` and ``_`` are the same.

    Returns
    -------
    Installable

    Raises
    ------
    ConfigError
        Nothing can.
    """
    found = installables()
    wanted = found.get(name) or found.get(name.replace("-", "_"))
    if wanted is not None:
        return wanted
    lost = TERMINALS.get(name.replace("-", "_"))
    if lost is not None:
        raise ConfigError(
            f"install({name!r}): {lost.title} is on no package registry. Install it as its makers say; "
            f"agentlab finds it on the PATH."
        )
    raise ConfigError(f"install({name!r}): known are {', '.join(found)}{did_you_mean(name, found)}")


def _always(release: Release) -> Callable[[str], Release]:
    return lambda _version: release


def _agent(name: str, version: str, kind: str, release: Callable[[str], Release]) -> Installable:
    def fetch(wanted: str, say: Callable[[str], None]) -> Path:
        return install_release(name, wanted, release(wanted), say=say)

    return Installable(name=name, version=version, kind=kind, fetch=fetch)


def _plugin(name: str, package: str, version: str) -> Installable:
    def fetch(wanted: str, say: Callable[[str], None]) -> Path:
        def find(folder: Path) -> Path:
            return plugins.find_package(package, wanted, folder)

        return npm.install_package(name, package, wanted, find, say=say)

    return Installable(name=name, version=version, kind="plugin", fetch=fetch)
