"""JSON lines: an incremental reader on bytes.

A record ends at byte 0x0A and nowhere else: U+2028, U+0085 and CR inside a string are text. Lines may be as
long as they like, a last line without its newline counts, and any cutting of the same bytes gives the same
records.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, cast


class Record(NamedTuple):
    """One JSON object and when it was read.

    Parameters
    ----------
    data : dict
        The object.
    t : int
        Stamp in ns of the read that completed its line.
    n_bytes : int
        Length of the line without its newline, in bytes.
    """

    data: dict[str, Any]
    t: int
    n_bytes: int


class JSONLines:
    r"""Turn the bytes of a JSON-lines stream into records.

    Lines that are no JSON object are counted and passed over: programs print banners and warnings between
    their records.

    Parameters
    ----------
    limit_bytes : int, default 256 MiB
        A longer line is dropped and counted, so that a stream without newlines cannot fill the memory.

    Attributes
    ----------
    n_bytes, n_records : int
        Bytes fed, records given.
    n_foreign : int
        Lines that are not empty and no JSON object.
    n_dropped : int
        Lines longer than the limit.
    unterminated : bool
        True after :meth:`close` when the last line had no newline.

    Examples
    --------
    >>> lines = JSONLines()
    >>> lines.feed(b'{"a": 1}\n{"b"', t=1)
    [Record(data={'a': 1}, t=1, n_bytes=8)]
    >>> lines.feed(b': 2}', t=2), lines.close()
    ([], [Record(data={'b': 2}, t=2, n_bytes=8)])
    """

    def __init__(self, *, limit_bytes: int = 256 * 2**20) -> None:
        self.n_bytes = self.n_records = self.n_foreign = self.n_dropped = 0
        self.unterminated = False
        self._limit = limit_bytes
        self._partial: list[bytes] = []  # in pieces, so that long lines stay linear
        self._size = 0
        self._t = 0

    def feed(self, data: bytes, *, t: int) -> list[Record]:
        """Read some bytes.

        Parameters
        ----------
        data : bytes
            As they came.
        t : int
            Stamp of the read, CLOCK_MONOTONIC in ns.

        Returns
        -------
        list of Record
            Those whose lines are complete now.
        """
        self.n_bytes += len(data)
        self._t = t if data else self._t
        *complete, rest = data.split(b"\n")
        records: list[Record] = []
        for end in complete:
            self._keep(end)
            self._finish(records)
        self._keep(rest)
        return records

    def close(self) -> list[Record]:
        """Read the last line if it had no newline; call it once, at the end of the stream.

        Returns
        -------
        list of Record
            At most one.
        """
        records: list[Record] = []
        self.unterminated = self._size > 0
        self._finish(records)
        return records

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            self._partial.clear()
        elif piece:
            self._partial.append(piece)

    def _finish(self, records: list[Record]) -> None:
        size, self._size = self._size, 0
        line = b"".join(self._partial)
        self._partial.clear()
        if size > self._limit:
            self.n_dropped += 1
            return
        if not line.strip():
            return
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            self.n_foreign += 1
            return
        self.n_records += 1
        records.append(Record(cast("dict[str, Any]", data), self._t, size))
