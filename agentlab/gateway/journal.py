"""The gateway's evidence: append-only JSON lines, one ``write`` each, so that a crash loses at most the last."""

from __future__ import annotations

import errno
import json
import os
from typing import Any


class Journal:
    """Append lines to the files of the runs; a file is opened on first use, with mode 0600."""

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        #: Name of the first error of the file system, e.g. ``"ENOSPC"``; requests go on, the owner is told.
        self.failed: str | None = None

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
        line = json.dumps(row, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        try:
            file = self._files.get(path)
            if file is None:
                file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
                self._files[path] = file
            written = os.write(file, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, "short write")
        except OSError as error:
            self.failed = self.failed or errno.errorcode.get(error.errno or 0, "EIO")

    def close(self, path: str | None = None) -> None:
        """Close one file, or all.

        Parameters
        ----------
        path : str, optional
            Which one; it is opened again when written to.
        """
        for name in [path] if path is not None else list(self._files):
            file = self._files.pop(name, None) if name is not None else None
            if file is not None:
                os.close(file)
