"""Where a version of an agent comes from, what runs it, and how it is put into the cache."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from . import npm, pypi
from .runtime import Runtime

if TYPE_CHECKING:
    from .base import Agent


@dataclasses.dataclass(frozen=True, kw_only=True)
class Release:
    """Say how one version of an agent is installed.

    Parameters
    ----------
    package : str
        Package of npm or PyPI; name of the program where no registry has it.
    candidates : callable
        Executables of an installation folder, best first.
    source : {"npm", "pypi", "path"}
        Where it comes from; ``"path"``: the user has installed it.
    runtime : {"node", "bun", "python"} or None
        What runs it; None: nothing but itself.
    beside : tuple of str
        Packages of npm that are installed with it, each with its version: the runtime it needs.
    module : str
        From PyPI: what ``python -m`` runs; its last word names the file that does so.
    says : str
        What ``--version`` gives, where that is not its version.
    """

    package: str
    candidates: Callable[[Path], list[Path]]
    source: Literal["npm", "pypi", "path"] = "npm"
    runtime: Runtime | None = None
    beside: tuple[str, ...] = ()
    module: str = ""
    says: str = ""


def release_of(agent: Agent) -> Release:
    """Return the release of a command-line agent, which is the same for each of its versions.

    Parameters
    ----------
    agent : Agent
        Of the catalogue.

    Returns
    -------
    Release
    """
    return Release(
        package=agent.package,
        candidates=agent.candidates,
        source=agent.source,
        runtime=agent.runtime,
        module=agent.module,
    )


def install_release(name: str, version: str, release: Release, *, say: Callable[[str], None]) -> Path:
    """Install one version into the cache unless it is there.

    Parameters
    ----------
    name, version : str
        Of the agent.
    release : Release
        From npm or PyPI.
    say : callable
        Receives progress, one line at a time.

    Returns
    -------
    pathlib.Path
        Its executable, which has answered ``--version``.

    Raises
    ------
    StartupError
        It cannot be installed, or does not run here; nothing half-installed is left.
    """

    def find(folder: Path) -> Path:
        return npm.first_that_runs(release.candidates(folder), name, version, says=release.says)

    if release.source == "pypi":
        launcher = release.module.rpartition(".")[2]
        return pypi.install_package(name, release.package, version, release.module, launcher, find, say=say)
    return npm.install_package(name, release.package, version, find, beside=release.beside, say=say)
