"""The private folder of one run: homes and workspace, at paths that are equally long for every run."""

from __future__ import annotations

import shutil
from pathlib import Path

from ...agents.cache import runs_home
from ...errors import StartupError
from ...wire.children import Children


async def private_place(children: Children) -> Path:
    """Make a private folder (0700) that goes with the run's processes, whatever happens.

    It lies beside the installed agents and not in the system's temporary folder: Codex refuses part of its
    work there, and where that folder is a file system in memory, an agent's files would count as its memory.

    Parameters
    ----------
    children : Children
        Removes it when everything of it has ended.

    Returns
    -------
    Path
        An existing folder with a short path of fixed length.

    Raises
    ------
    StartupError
        It cannot be made.
    """
    base = runs_home()
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        return await children.folder(base)
    except OSError as error:
        raise StartupError(
            f"no home can be made beside the installed agents: {error.strerror}; set AGENTLAB_CACHE to a "
            "folder that can be written",
            driver="terminal",
            phase="startup",
        ) from error


def fresh_home(place: Path, number: int) -> Path:
    """Make an empty home.

    Parameters
    ----------
    place : Path
        As :func:`private_place` returns it.
    number : int
        0-based, below 100; tells homes of one run apart.

    Returns
    -------
    Path
    """
    home = place / f"home-{number:02d}"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700)
    return home
