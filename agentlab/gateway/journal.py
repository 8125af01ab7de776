"""The gateway's evidence: append-only JSON lines, so that a crash loses at most what was written last."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

_encoder = msgspec.json.Encoder()
_encode = _encoder.encode


def json_line(row: dict[str, Any]) -> bytes:
    """Spell one line; this is done for every streamed piece.

    Parameters
    ----------
    row : dict
        Plain data.

    Returns
    -------
    bytes
        Compact JSON and a line feed. Half of a surrogate pair, where an agent has cut a text, becomes U+FFFD:
        readers take it for a damaged line.
    """
    try:
        return _encode(row) + b"\n"
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate, or a count beyond 64 bits
        plain = json.dumps(row, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode() + b"\n"


# A Struct, not a dict: one is made for every streamed piece. gc=False: it holds no cycle.
class ChunkLine(msgspec.Struct, omit_defaults=True, kw_only=True, gc=False):
    """Spell ``request.chunk``, without content.

    Parameters
    ----------
    t, kind, request, chunk, n_chars, n_bytes, visible, emit_ns
        See ``docs/events.md``.
    """

    t: int
    kind: Literal["request.chunk"]
    request: int
    chunk: str
    n_chars: int
    n_bytes: int
    visible: bool
    emit_ns: int | None = None


class Journal:
    """Append lines to the files of the runs (mode 0600).

    Parameters
    ----------
    token : str
        The gateway's: hidden in every line, for an agent's tools can read it in their environment and send it
        to the model.

    Attributes
    ----------
    failed : str or None
        Name of the file system's first error, e.g. ``"ENOSPC"``. Requests go on; the owner is told.
    """

    def __init__(self, token: str = "") -> None:
        self._token = token.encode()
        self.failed: str | None = None
        self._files: dict[str, int] = {}
        self._torn: set[str] = set()

    def open(self, path: str | None) -> None:
        """Open a file ahead of its first line.

        Parameters
        ----------
        path : str or None
            File; None: nothing.
        """
        if path is None or path in self._files:
            return
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._files[path] = os.open(path, flags, 0o600)
        except OSError as error:
            self._fail(error)

    def write(self, path: str | None, t: int, kind: str, fields: dict[str, Any]) -> None:
        """Append one line.

        Parameters
        ----------
        path : str or None
            File; None: the line is not kept.
        t : int
            CLOCK_MONOTONIC in ns.
        kind : str
            See ``docs/events.md``.
        fields : dict
            Plain data; None values are unknown and left out.
        """
        if path is None:
            return
        row = {"t": t, "kind": kind, **{key: value for key, value in fields.items() if value is not None}}
        self._append(path, json_line(row))

    def write_chunks(self, path: str | None, chunks: Sequence[ChunkLine]) -> None:
        """Append the lines of pieces that came together, in one write.

        Parameters
        ----------
        path : str or None
            File; None: the lines are not kept.
        chunks : sequence of ChunkLine
            In their order.
        """
        if path is not None:
            self._append(path, _encoder.encode_lines(chunks))

    def _append(self, path: str, line: bytes) -> None:
        self.open(path)
        file = self._files.get(path)
        if file is None:
            return
        if self._token and self._token in line:
            line = line.replace(self._token, b"<token>")
        try:
            if path in self._torn:
                line = b"\n" + line
            written = os.write(file, line)
            self._torn.discard(path)
            if written < len(line):
                self._torn.add(path)
                raise OSError(errno.ENOSPC, "short write")
        except OSError as error:
            self._fail(error)

    def close(self, path: str | None) -> None:
        """Close one file; it is opened again when it is written to later.

        Parameters
        ----------
        path : str or None
            Which one.
        """
        file = self._files.pop(path, None) if path is not None else None
        if file is not None:
            os.close(file)

    def close_all(self) -> None:
        """Close all files."""
        for path in list(self._files):
            self.close(path)

    def _fail(self, error: OSError) -> None:
        self.failed = self.failed or errno.errorcode.get(error.errno or 0, "EIO")
