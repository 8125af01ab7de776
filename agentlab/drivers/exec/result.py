"""What a call to an exec session gives back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from .spool import Spool, Taken

State = Literal["running", "exited", "already_exited"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExecResult:
    """The output since the last call, and what has become of the command.

    Attributes
    ----------
    session : int
        Number of the session, for further calls.
    state : {"running", "exited", "already_exited"}
        ``"exited"`` once, in the call that reports it; ``"already_exited"`` after that, with the same exit.
    exit_code : int or None
        None while it runs; negative: ended by that signal. None also when its leader was killed, so that the
        code cannot be known (``ended_by`` is None then, the state ``"exited"``).
    ended_by : str or None
        ``"self"``; ``"signal N"`` (sent by whom is unknown, or a ^C of ours); ``"timeout"`` or ``"close"``
        (us).
    stopped : {"timeout"} or None
        Whether its time-out ended it.
    wall_ms : float
        From start to end in ms, or to now.
    cpu_s : float or None
        CPU seconds of the command and of what it waited for; None while it runs, or when nobody knows.
    offset : int
        Position of the first byte in all of the session's output.
    n_bytes : int
        Bytes since the last call; each byte is in exactly one result.
    lost_bytes : int
        Bytes since the last call that were printed and could not be kept (disk full, ``max_bytes``).
    unsent_bytes : int
        Bytes that were typed and not taken by the program or its terminal yet.
    preview : bytes
        All of it, or its beginning and end with a line between them that says how much is left out.
    reads : tuple of (int, int)
        Of each read: its end in this result in bytes, and CLOCK_MONOTONIC directly after it in ns. Beyond
        16,384 they are thinned out, and a byte gets the stamp of a later read, never of an earlier.
    background : int
        Processes of the session that are alive although the command has ended.
    survivors : tuple of str
        What outlived the end by a time-out or :meth:`ExecSessions.close`, as ``"pid name"``.
    """

    session: int
    state: State
    exit_code: int | None
    ended_by: str | None
    stopped: Literal["timeout"] | None
    wall_ms: float
    cpu_s: float | None
    offset: int
    n_bytes: int
    lost_bytes: int
    unsent_bytes: int
    preview: bytes
    reads: tuple[tuple[int, int], ...] = dataclasses.field(repr=False)
    background: int = 0
    survivors: tuple[str, ...] = ()
    spool: Spool | None = dataclasses.field(repr=False, compare=False)

    @property
    def cut(self) -> bool:
        """Whether ``preview`` leaves something out; :meth:`read` does not."""
        return self.spool is not None

    def read(self) -> bytes:
        """Return all bytes of this call.

        Returns
        -------
        bytes
            ``n_bytes`` of them, as often as asked.
        """
        return b"".join(self.pieces())

    def pieces(self) -> Iterator[bytes]:
        """Give all bytes of this call in blocks of at most 1 MiB.

        Yields
        ------
        bytes
        """
        if self.spool is None:
            yield self.preview
        else:
            yield from self.spool.pieces(self.offset, self.n_bytes)

    def text(self, errors: str = "replace") -> str:
        """Return all bytes of this call as text.

        Parameters
        ----------
        errors : str, default "replace"
            What is done with bytes that are no UTF-8, as in :meth:`bytes.decode`.

        Returns
        -------
        str
        """
        return self.read().decode("utf-8", errors)

    def save(self, path: str | Path) -> None:
        """Write all bytes of this call to a file.

        Parameters
        ----------
        path : path
            New or old file.
        """
        with Path(path).open("wb") as file:
            file.writelines(self.pieces())


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExecInfo:
    """A session that is alive.

    Attributes
    ----------
    session : int
        Its number.
    command : str
        What it was started with.
    state : {"running", "background", "exited"}
        ``"background"``: the command has ended and left processes running; ``"exited"``: nothing of it runs,
        and no call has reported its end.
    tty : bool
        Whether it is on a terminal.
    wall_ms : float
        Since its start, ms.
    unread_bytes : int
        Output that no call has returned yet.
    """

    session: int
    command: str
    state: Literal["running", "background", "exited"]
    tty: bool
    wall_ms: float
    unread_bytes: int


def bounded(spool: Spool | None, taken: Taken, most: int) -> bytes:
    r"""Return a piece of the output, or its two ends.

    Parameters
    ----------
    spool : Spool or None
        Where it is; None: it is empty.
    taken : Taken
        Which piece.
    most : int
        Bytes of output that are shown, at most.

    Returns
    -------
    bytes
        The two ends have a line between them: ``\n[... 123 bytes ...]\n``.
    """
    if spool is None or taken.n_bytes == 0:
        return b""
    if taken.n_bytes <= most:
        return spool.read(taken.offset, taken.n_bytes)
    head, tail = most - most // 2, most // 2
    gap = b"\n[... %d bytes ...]\n" % (taken.n_bytes - most)
    return spool.read(taken.offset, head) + gap + spool.read(taken.offset + taken.n_bytes - tail, tail)
