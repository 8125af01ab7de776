"""Writing that a crash or a full disk cannot spoil: append-only lines, and whole files by rename."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..errors import RecordingError, StudyBusy
from ..jsonfile import not_recorded, read_json, replacing

#: In a study that is recorded detached: who measures it (agentlab.host.lease).
HOST_FILE = "host.json"
#: In a study whose next run waits for a quiet machine: which run, why, since when, how long at most.
WAITING_FILE = "waiting.json"
#: Held by who records into a study.
LOCK_FILE = ".lock"
_encoder = msgspec.json.Encoder()


def _encode(data: Mapping[str, Any]) -> bytes:
    """Spell JSON; half of a surrogate pair, where an agent has cut a text, becomes U+FFFD."""
    try:
        return _encoder.encode(data)
    except UnicodeEncodeError:
        plain = json.dumps(data, ensure_ascii=False).encode("utf-16", "surrogatepass")
        return _encoder.encode(json.loads(plain.decode("utf-16", "replace")))


class LineWriter:
    """Append JSON lines to one file, each in one write.

    Parameters
    ----------
    path : Path
        File; made with mode 0600.

    Raises
    ------
    RecordingError
        The folder is not writable or the disk is full. A line is on disk whole or not at all.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_lines = 0
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise not_recorded(path, error) from error
        self._size = os.fstat(self._fd).st_size

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one line.

        Parameters
        ----------
        record : mapping
            Plain JSON data; NaN becomes null, and half of a surrogate pair U+FFFD.
        """
        line = _encode(record) + b"\n"
        try:
            done = os.write(self._fd, line)
            if done != len(line):  # the disk filled up within the line: the next write names the reason
                os.write(self._fd, line[done:])
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise not_recorded(self.path, error) from error
        self._size += len(line)
        self.n_lines += 1

    def close(self) -> None:
        """Close the file; twice is harmless."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def write_json(path: Path, data: Mapping[str, Any], *, durable: bool = True) -> None:
    """Write a whole JSON file (mode 0600) under a temporary name, then rename it.

    Parameters
    ----------
    path : Path
        Target.
    data : mapping
        Plain JSON data.
    durable : bool, default True
        Wait until it is on the disk, so that a power failure leaves the old file or the new. That can take
        tens of milliseconds, in which the caller's loop stands still.

    Raises
    ------
    RecordingError
        It cannot be written; what stood there before stays.
    """
    try:
        with replacing(path) as part, open(part, "wb", opener=_private) as file:
            file.write(msgspec.json.format(_encode(data), indent=1) + b"\n")
            if durable:
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise not_recorded(path, error) from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextlib.contextmanager
def lock(folder: Path) -> Generator[None]:
    """Let one process at a time write into a study; the lock ends with its process.

    Parameters
    ----------
    folder : Path
        Study folder.

    Raises
    ------
    StudyBusy
        Another process records into it.
    RecordingError
        The folder cannot be written.
    """
    path = folder / LOCK_FILE
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise not_recorded(path, error) from error
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StudyBusy(_who(folder)) from None
        yield
    finally:
        os.close(fd)


def is_locked(folder: Path) -> bool:
    """Say whether some process, here or in another container, records into a study.

    Parameters
    ----------
    folder : Path
        Study folder.

    Returns
    -------
    bool
    """
    try:
        fd = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # never locked; asking leaves nothing behind
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _who(folder: Path) -> str:
    with contextlib.suppress(RecordingError):
        if read_json(folder / HOST_FILE).get("outcome") is None:
            return (
                f"{folder} is being recorded by another process, detached: "
                f"agentlab.attach({str(folder)!r}) shows it, waits for it and can cancel it"
            )
    return f"{folder} is being recorded by another process; wait for it or cancel it"
