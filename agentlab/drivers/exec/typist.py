"""What is typed into a command: queued, never blocking, and cut so that no terminal's line limit loses it."""

from __future__ import annotations

import asyncio
import os
import termios
from collections.abc import Callable

from ...errors import DriverError

#: A line discipline that edits lines keeps this many bytes of one that is not complete, and drops the rest.
LINE_BYTES = 4095
_FLUSH_BYTES = 3840
_PIECE_BYTES = 1 << 16
_LINE_ENDS = b"\n\r"


class Lines:
    r"""Cut lines that a terminal could not hold whole.

    The end-of-file character inside a line means "give out what is there" (termios(3)): the program reads the
    same bytes, in two pieces. It is put only after a visible character, because alone it would end the input.
    Programs that read byte by byte need Linux 5.12 for that.

    Parameters
    ----------
    flush_bytes : int, default 3840
        Length after which a line is given out, bytes.

    Examples
    --------
    >>> Lines(flush_bytes=4).cut(b"abcdef\nghijk", b"\x04")
    b'abcd\x04ef\nghij\x04k'
    """

    def __init__(self, *, flush_bytes: int = _FLUSH_BYTES) -> None:
        self._flush_bytes = flush_bytes
        self._length = 0

    def cut(self, data: bytes, end_of_file: bytes) -> bytes:
        """Return the bytes to write for the next piece of what is typed.

        Parameters
        ----------
        data : bytes
            The next piece.
        end_of_file : bytes
            The terminal's character for it.

        Returns
        -------
        bytes
            `data` with characters put into long lines.

        Raises
        ------
        DriverError
            ``line_too_long``: a line has no place where it could be cut.
        """
        last = max(data.rfind(b"\n"), data.rfind(b"\r"))
        if self._length + len(data) < self._flush_bytes:
            self._length = self._length + len(data) if last < 0 else len(data) - 1 - last
            return data
        out = bytearray()
        length, can_cut = self._length, end_of_file != b"\0"
        for byte in data:
            out.append(byte)
            length = 0 if byte in _LINE_ENDS or byte == end_of_file[0] else length + 1
            if length >= self._flush_bytes and byte >= 0x20 and byte != 0x7F and can_cut:
                out += end_of_file
                length = 0
            elif length >= LINE_BYTES:
                raise _too_long()
        self._length = length
        return bytes(out)


def _too_long() -> DriverError:
    return DriverError(
        f"the line cannot be typed: its terminal keeps {LINE_BYTES} bytes of a line, and this one cannot be"
        " cut. Send it in several lines, or use tty=False",
        driver="exec",
        code="line_too_long",
    )


def end_of_file_of(terminal: int) -> bytes | None:
    r"""Return a terminal's end-of-file character while it edits lines.

    Parameters
    ----------
    terminal : int
        Descriptor of either side.

    Returns
    -------
    bytes or None
        None: it passes on what is typed as it comes. ``b"\0"``: it has none.
    """
    mode = termios.tcgetattr(terminal)
    return mode[6][termios.VEOF] if mode[3] & termios.ICANON else None


class Typist:
    """Write to a descriptor as fast as it takes it, on the loop it was made in.

    Parameters
    ----------
    fd : int
        Non-blocking descriptor.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._queue = bytearray()
        self._then: Callable[[], None] | None = None

    @property
    def unsent_bytes(self) -> int:
        """Bytes that were not taken yet."""
        return len(self._queue)

    def type(self, data: bytes) -> None:
        """Queue bytes.

        Parameters
        ----------
        data : bytes
            What is typed.
        """
        self._queue += data
        self._write()

    def then(self, function: Callable[[], None]) -> None:
        """Call something once all is written.

        Parameters
        ----------
        function : callable
            Without parameters.
        """
        self._then = function
        self._write()

    def forget(self) -> None:
        """Drop what was not taken: nobody reads any more, or it was interrupted."""
        self._queue.clear()
        self._loop.remove_writer(self._fd)

    def _write(self) -> None:
        try:
            while self._queue:
                n = os.write(self._fd, memoryview(self._queue)[:_PIECE_BYTES])
                del self._queue[:n]
        except BlockingIOError:
            self._loop.add_writer(self._fd, self._write)
            return
        except OSError:  # the other side is closed: what is left counts as unsent
            self._loop.remove_writer(self._fd)
            return
        self._loop.remove_writer(self._fd)
        if self._then is not None:
            then, self._then = self._then, None
            then()
