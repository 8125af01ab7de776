"""Read a whole JSON file as plain data, with errors that name it."""

from __future__ import annotations

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
