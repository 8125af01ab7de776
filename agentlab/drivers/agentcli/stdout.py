"""What an agent writes on stdout, kept byte for byte; only with ``keep="content"``."""

from __future__ import annotations

import os
from pathlib import Path

from ...jsonfile import not_recorded


class Stdout:
    """A file of all that the processes of a run write.

    The gateway's token, which an agent's tools can read in their environment, is written as asterisks, one a
    byte: the file is as long as what was written, and no more of it than that is held in memory.

    Parameters
    ----------
    path : Path or None
        New file, 0600; None: nothing is kept.
    token : str
        The gateway's.

    Raises
    ------
    RecordingError
        It cannot be written.
    """

    def __init__(self, path: Path | None, token: str) -> None:
        self._path = path
        self._token = token.encode()
        self._held = b""  # what may be the beginning of a token
        self._size = 0
        self._last = b"\n"
        self._fd = -1
        if path is not None:
            try:
                self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise not_recorded(path, error) from error

    def begin(self) -> int | None:
        """Begin the output of one process, on a line of its own.

        Returns
        -------
        int or None
            Where it begins, bytes; None: it is not kept.
        """
        if self._fd < 0:
            return None
        if self._last != b"\n":
            self._put(b"\n")
        return self._size

    def write(self, data: bytes) -> None:
        """Keep some bytes.

        Parameters
        ----------
        data : bytes
            As they came.
        """
        if self._fd < 0:
            return
        data = (self._held + data).replace(self._token, b"*" * len(self._token))
        n = next((n for n in range(len(self._token) - 1, 0, -1) if data.endswith(self._token[:n])), 0)
        self._held = data[len(data) - n :]
        self._put(data[: len(data) - n])

    def end(self) -> None:
        """End the output of one process."""
        held, self._held = self._held, b""
        self._put(held)

    def close(self) -> None:
        """Close the file; twice is harmless."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _put(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            try:
                at += os.write(self._fd, data[at:])
            except OSError as error:
                assert self._path is not None
                raise not_recorded(self._path, error) from error
        self._size += len(data)
        self._last = data[-1:] or self._last
