"""Put an agent into the cache: completely or not at all, once, whoever else is about to."""

from __future__ import annotations

import contextlib
import fcntl
import json
import shutil
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

from ..errors import StartupError
from .cache import agent_folder, installed_executable


def install_once(
    name: str, version: str, fetch: Callable[[Path], None], find: Callable[[Path], Path]
) -> Path:
    """Fetch an agent or plugin into a new folder, and rename it into place when it is right.

    Parameters
    ----------
    name, version : str
        Of the agent.
    fetch : callable
        Fills an empty folder.
    find : callable
        Gives the executable, or a plugin's package, of that folder; raises StartupError when it is not what
        was asked for.

    Returns
    -------
    pathlib.Path
        What ``find`` found, at its place; nothing is fetched when it is there.

    Raises
    ------
    StartupError
        As ``fetch`` and ``find``; or the cache cannot be written. Nothing is left in the cache.
    """
    folder = agent_folder(name, version)
    with _locked(folder):
        known = installed_executable(folder)
        if known is not None:
            return known
        _clear_leftovers(folder)
        work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            fetch(work)
            found = find(work)
            _write(work, found, name, version)
            work.chmod(0o755)
            if folder.exists():  # an installation that is damaged
                shutil.rmtree(folder)
            work.rename(folder)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
    return folder / found.relative_to(work)


def _write(folder: Path, executable: Path, name: str, version: str) -> None:
    facts = {"name": name, "version": version, "executable": str(executable.relative_to(folder))}
    (folder / "agent.json").write_text(json.dumps(facts, indent=2) + "\n")


@contextlib.contextmanager
def _locked(folder: Path) -> Generator[None]:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        handle = (folder.parent / f".{folder.name}.lock").open("w")
    except OSError as error:
        raise StartupError(
            f"the cache folder for agents cannot be written ({error.strerror}). "
            "Set AGENTLAB_CACHE to a folder of yours.",
            phase="install",
        ) from None
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)  # the kernel releases it when the holder ends in any way
        yield


def _clear_leftovers(folder: Path) -> None:
    # Only under the lock: a temporary folder seen here belongs to an installation that was killed.
    for old in folder.parent.glob(f".{folder.name}.*"):
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
