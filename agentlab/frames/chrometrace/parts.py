"""A trace's text, cut into parts of whole events in one pass, in bounded memory.

Chromium and DevTools write one event a line: such lines are found by their newlines alone, and nothing else
of them is looked at here. Where the text is not like that, it is cut by its braces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from .source import Source
from .splitter import Splitter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Bytes that are read at once: more takes no less time.
BLOCK = 1 << 21
_FIRST = 1 << 16
#: Bytes behind the text of a part that may be read, but mean nothing.
MARGIN = 128
_NEWLINE, _COMMA, _OPEN, _CLOSE = b"\n,{}"


class Part(NamedTuple):
    """Whole events, valid until the next part is asked for.

    Parameters
    ----------
    text : bytes or bytearray
        Holds them, with nothing but commas and white space between.
    starts, ends : ndarray of int64
        Of each event in the text.
    lines : bool
        Each stands on a line of its own, and behind the last one are `MARGIN` bytes at least.
    """

    text: bytes | bytearray
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    lines: bool

    def events(self) -> list[bytes]:
        """Return each event's text.

        Returns
        -------
        list of bytes
        """
        pairs = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [bytes(self.text[start:end]) for start, end in pairs]

    def listed(self) -> bytes:
        """Return all events as one JSON list.

        Returns
        -------
        bytes
        """
        return b"[%b]" % memoryview(self.text)[int(self.starts[0]) : int(self.ends[-1])]


class Parts:
    """Cut the text of a source; iterate once.

    Parameters
    ----------
    source : Source
        Plain text of a trace.
    block : int
        Bytes to read at once.

    Attributes
    ----------
    splitter : Splitter
        Knows the file's form, and whether the list of events had an end.
    n_bytes : int
        Bytes of text that were read.
    last : int
        Offset in the text behind the last whole event.
    """

    def __init__(self, source: Source, *, block: int = BLOCK) -> None:
        self.splitter = Splitter()
        self.n_bytes = self.last = 0
        self._source = source
        self._block = block

    def __iter__(self) -> Iterator[Part]:
        size = min(self._block, _FIRST)
        text, have = bytearray(size + MARGIN), 0
        while not self.splitter.over:
            with memoryview(text) as view:
                n = self._source.readinto(view[have : len(text) - MARGIN])
            have += n
            self.n_bytes += n
            offset, used = self.n_bytes - have, 0
            if self.splitter.inside:
                starts, ends = _lines(text, have)
                if len(ends):
                    used = int(ends[-1]) + 2  # the comma and the newline
                    self.last = offset + int(ends[-1])
                    yield Part(text, starts, ends, lines=True)
            left = bytes(memoryview(text)[used:have])
            if not used or n == 0 or b"\n" in left:
                starts, ends, more = self.splitter.cut(left)
                if len(ends):
                    self.last = offset + used + int(ends[-1])
                    yield Part(left, starts, ends, lines=False)
                left = left[more:]
            if n == 0:
                return
            size = max(self._block, 2 * len(left))  # an event may be longer than a block
            if len(text) < size + MARGIN:
                text = bytearray(size + MARGIN)
            have = len(left)
            text[:have] = left


def _lines(text: bytearray, have: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the events at the beginning of a text that are lines, each with its comma behind."""
    import numpy as np

    codes = np.frombuffer(text, np.uint8, have)
    newlines = np.flatnonzero(codes == _NEWLINE)
    starts = np.empty_like(newlines)
    starts[:1] = 0
    starts[1:] = newlines[:-1] + 1
    ends = newlines - 1
    fit = (ends - starts >= 2) & (codes[starts] == _OPEN)
    fit &= (codes[ends] == _COMMA) & (codes[ends - 1] == _CLOSE)
    n = len(fit) if fit.all() else int(fit.argmin())
    return starts[:n], ends[:n]
