"""Where installed agents live: outside every repository, shared by all studies of this user."""

from __future__ import annotations

import json
import os
from pathlib import Path


def cache_home() -> Path:
    """Return the folder that holds what agentlab installs.

    Returns
    -------
    pathlib.Path
        ``$AGENTLAB_CACHE``, else ``$XDG_CACHE_HOME/agentlab``, else ``~/.cache/agentlab``. It need not exist.

    Examples
    --------
    >>> cache_home().is_absolute()
    True
    """
    own = os.environ.get("AGENTLAB_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    # The XDG specification has relative values ignored.
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(xdg) if xdg.startswith("/") else Path.home() / ".cache"
    return base / "agentlab"


def runs_home() -> Path:
    """Return the folder that holds the homes and workspaces of terminal agents while they are measured.

    Returns
    -------
    pathlib.Path
        It need not exist.

    Examples
    --------
    >>> runs_home().parent == cache_home()
    True
    """
    return cache_home() / "runs"


def agent_folder(name: str, version: str) -> Path:
    """Return the folder of one agent at one version.

    Parameters
    ----------
    name : str
        Name of the agent, e.g. ``"opencode"``.
    version : str
        Its version.

    Returns
    -------
    pathlib.Path
        It exists only when the installation is complete: it is renamed into place.

    Examples
    --------
    >>> agent_folder("opencode", "1.18.33").name
    'opencode-1.18.33'
    """
    return cache_home() / "agents" / f"{name}-{version}"


def installed_executable(folder: Path) -> Path | None:
    """Return the executable of a complete installation.

    Parameters
    ----------
    folder : pathlib.Path
        As :func:`agent_folder` returns it.

    Returns
    -------
    pathlib.Path or None
        None when nothing usable is installed there.
    """
    try:
        executable = folder / json.loads((folder / "agent.json").read_text())["executable"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return executable if os.access(executable, os.X_OK) else None
