"""Whole files: JSON as plain data, and files that are replaced as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

from .errors import RecordingError


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Parameters
    ----------
    path : Path
        File.

    Returns
    -------
    dict

    Raises
    ------
    RecordingError
        It is missing, unreadable, or holds something else.
    """
    import msgspec

    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RecordingError(f"{path} is damaged: {error}") from None


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file anew; it appears whole or stays what it was.

    Parameters
    ----------
    path : Path
        File; its folder exists.
    content : str or bytes
        All of it; text as UTF-8.

    Raises
    ------
    RecordingError
        It cannot be written.
    """
    try:
        with replacing(path) as part, part.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise RecordingError(f"{path} cannot be written: {error.strerror}") from error


@contextlib.contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Lend a name beside a file; what is written there takes the file's place at the end, or goes.

    Parameters
    ----------
    path : Path
        File; its folder exists.

    Yields
    ------
    Path
        Where to write; hidden, and no other thread or process has it.

    Raises
    ------
    OSError
        It cannot take the file's place, which is what it was.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        yield part
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def not_recorded(path: Path, error: OSError) -> RecordingError:
    """Say that a file of a study cannot be written, and how the study goes on.

    Parameters
    ----------
    path : Path
        File.
    error : OSError
        What the system says.

    Returns
    -------
    RecordingError
        To be raised.
    """
    return RecordingError(
        f"{path} cannot be written: {error.strerror}; what was recorded before is kept. "
        "Make room or choose another folder with to=, then run the same call again to resume"
    )
