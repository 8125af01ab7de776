"""What runs an agent: the machine's Node.js or Python, or a runtime that was installed with it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Literal

from .cache import cache_home

Runtime = Literal["node", "bun", "python"]
#: Runtimes for agents that want what the machine may not have: a newer Node.js than 20, or Bun.
NODE24, BUN = "24.21.0", "1.4.5"


def platform_name() -> str:
    """Return this machine as packages of npm name it.

    Returns
    -------
    str
        System and processor.

    Examples
    --------
    >>> platform_name()  # doctest: +SKIP
    'linux-x64'
    """
    system = platform.system().lower()
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(
        platform.machine().lower(), platform.machine()
    )
    return f"{system}-{machine}"


def node24() -> tuple[str, ...]:
    """Name the package that is Node.js 24; the package ``node`` itself only fetches it by a script.

    Returns
    -------
    tuple of str
        For ``beside``.
    """
    return (f"node-{platform_name()}@{NODE24}",)


def bun() -> tuple[str, ...]:
    """Name the package that is Bun; the package ``bun`` brings those of all systems.

    Returns
    -------
    tuple of str
        For ``beside``.
    """
    return (f"{_bun()}@{BUN}",)


def _bun() -> str:
    return f"@oven/bun-{platform_name().replace('arm64', 'aarch64')}"


def own_runtimes(executable: Path) -> list[str]:
    """List the folders of the runtimes that were installed with an agent.

    Parameters
    ----------
    executable : pathlib.Path
        In the cache.

    Returns
    -------
    list of str
        To be put before the PATH; empty for one that runs on what the machine has.
    """
    agents = cache_home() / "agents"
    if not executable.is_relative_to(agents):
        return []
    packages = agents / executable.relative_to(agents).parts[0] / "node_modules"
    places = (packages / f"node-{platform_name()}", packages / _bun())
    return [str(place / "bin") for place in places if (place / "bin").is_dir()]


def search_path(executable: Path) -> str:
    """Return the PATH an agent is run with: its own runtime first.

    Parameters
    ----------
    executable : pathlib.Path
        In the cache, or elsewhere.

    Returns
    -------
    str
    """
    return os.pathsep.join([*own_runtimes(executable), os.environ.get("PATH", os.defpath)])
