"""Read a whole JSON file as plain data, and write a file anew, with errors that name it."""

from __future__ import annotations

import contextlib
import os
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
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise RecordingError(f"{path} cannot be written: {error.strerror}") from error
