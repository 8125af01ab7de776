"""What a terminal printed, kept with the stamp of each read, so that it can be looked at again."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ..errors import ImportFormatError

_MAGIC = b"agentlab pty 1\n"
_SIZE = struct.Struct("<HH")
_HEAD = struct.Struct("<QI")  # stamp in ns, length


class PtyWriter:
    """A file of the reads of one terminal: size of the window, then stamp, length and bytes of each.

    Parameters
    ----------
    path : Path
        Made anew, 0600: it holds content.
    cols, rows : int
        Size of the window.
    """

    def __init__(self, path: Path, *, cols: int, rows: int) -> None:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._file = os.fdopen(fd, "wb", 1 << 16)
        self._file.write(_MAGIC + _SIZE.pack(cols, rows))

    def write(self, data: bytes, t: int) -> None:
        """Keep one read.

        Parameters
        ----------
        data : bytes
            What was read.
        t : int
            Its stamp in ns.
        """
        self._file.write(_HEAD.pack(t, len(data)))
        self._file.write(data)

    def close(self) -> None:
        """Write what is buffered."""
        self._file.close()


class PtyRecord(NamedTuple):
    """Reads of one terminal: ``cols`` and ``rows`` of its window, ``reads`` as (stamp in ns, bytes)."""

    cols: int
    rows: int
    reads: list[tuple[int, bytes]]


def read_pty(path: Path) -> PtyRecord:
    """Read a file of :class:`PtyWriter`; a read that is not whole, at its end, is left out.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    PtyRecord
        Feed its reads to an :class:`~agentlab.wire.emulator.Emulator` to see the screen again.

    Raises
    ------
    ImportFormatError
        It is no such file.
    """
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC or len(size := file.read(_SIZE.size)) < _SIZE.size:
            raise ImportFormatError(f"{path.name} is no recording of a terminal")
        cols, rows = _SIZE.unpack(size)
        return PtyRecord(cols, rows, list(_reads(file)))


def _reads(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        t, length = _HEAD.unpack(head)
        if len(data := file.read(length)) < length:
            return
        yield t, data
