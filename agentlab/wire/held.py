"""Private folders that a later process can tell from those of a process that was killed.

Each has a file that is locked from before it has its name. The lock belongs to the open file: whoever is
given its descriptor holds it too, and it is free once all of them are gone, however they ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

#: How the names of all private folders begin.
PREFIX = "agentlab-"
_FILE = ".held"


def make_held(prefix: str, parent: Path | None = None) -> tuple[Path, IO[bytes]]:
    """Make a private folder (0700) and hold it.

    Parameters
    ----------
    prefix : str
        Begin of its name.
    parent : Path, optional
        Where; absent: the temporary folder.

    Returns
    -------
    Path, file
        The folder, and a file in it, open for writing and reading, whose descriptor holds it.

    Raises
    ------
    OSError
        It cannot be made.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    unnamed = folder / f"{_FILE}.new"
    file = unnamed.open("w+b")
    with contextlib.suppress(OSError):  # a file system without locks: then it is never taken for left
        fcntl.flock(file, fcntl.LOCK_EX)
    unnamed.rename(folder / _FILE)
    return folder, file


def left_behind(prefix: str, parent: Path) -> Iterator[Path]:
    """Yield the folders that nobody holds any more; nobody else is given one at the same time.

    Parameters
    ----------
    prefix : str
        Begin of their names.
    parent : Path
        Where they are.

    Yields
    ------
    Path
        A folder of this user's.
    """
    for folder in parent.glob(f"{prefix}*"):
        with contextlib.suppress(OSError), (folder / _FILE).open("rb") as file:
            if os.fstat(file.fileno()).st_uid == os.getuid():
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield folder
