"""The private folder of one run: homes and workspace, at paths that are equally long for every run."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import shutil
import time
from pathlib import Path

from ...agents.cache import cache_home
from ...errors import StartupError
from ...wire.children import Children
from ...wire.procid import ProcessId

_OWNER = "owner.json"
#: After so long a folder of another machine or container, whose processes cannot be seen here, is abandoned.
_FOREIGN_S = 7 * 86_400


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
    base = cache_home() / "runs"
    place = base / secrets.token_hex(4)
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_abandoned(base)
        await children.ask({"op": "own", "path": str(place)})
        place.mkdir(mode=0o700)
        owner = dataclasses.asdict(ProcessId.of(os.getpid())) | {"namespace": _namespace()}
        (place / _OWNER).write_text(json.dumps(owner))
    except OSError as error:
        raise StartupError(
            f"no home can be made beside the installed agents: {error.strerror}; set AGENTLAB_CACHE to a "
            "folder that can be written",
            driver="terminal",
            phase="startup",
        ) from error
    return place


def remove_abandoned(base: Path) -> None:
    """Remove folders whose owner ended together with its watchdog.

    Parameters
    ----------
    base : Path
        Holds the folders of all runs of this user, also of those in containers and on machines that share
        the cache. One without an owner's name is just being made, and stays.
    """
    for place in base.iterdir():
        with contextlib.suppress(OSError, ValueError, TypeError):
            owner = json.loads((place / _OWNER).read_text())
            here = owner.pop("namespace", None) == _namespace()
            process = ProcessId(**owner)
            if here and process.boot == ProcessId.of(os.getpid()).boot:
                abandoned = not process.alive()
            else:
                abandoned = time.time() - place.stat().st_mtime > _FOREIGN_S
            if abandoned:
                shutil.rmtree(place, ignore_errors=True)


def _namespace() -> str | None:
    """Return in which numbering of processes this one is; None: the system does not tell."""
    with contextlib.suppress(OSError):
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 (no path, but a name)
    return None


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
