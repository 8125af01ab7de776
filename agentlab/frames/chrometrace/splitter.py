"""Find the objects of a trace's list of events by their braces: any layout, cut anywhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KEY = re.compile(rb'"traceEvents"\s*:\s*$')
_KEY_BYTES = 200
_SPACE = b" \t\r\n"
_QUOTE, _OPEN, _CLOSE, _LIST, _END = b'"{}[]'


class Splitter:
    """Cut text at the events' ends; the state between two texts is only where in the file one is.

    Attributes
    ----------
    form : {"object", "array"} or None
        What the file is; None: not known yet, or neither.
    inside : bool
        Right now in the list of events.
    listed : bool
        The list of events was found.
    closed : bool
        It had an end.
    over : bool
        Nothing of the list can follow.
    """

    def __init__(self) -> None:
        self.form: Literal["object", "array"] | None = None
        self.inside = self.listed = self.closed = self.over = False
        self._nested = 0  # lists that are open, events apart

    def cut(self, text: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Find the whole events of a text that begins between two events.

        Parameters
        ----------
        text : bytes
            What the last text left, and what follows.

        Returns
        -------
        starts, ends : ndarray of int64
            Of each event.
        used : int
            Bytes that need not be seen again.
        """
        import numpy as np

        begin = self._begin(text) if self.form is None else 0
        if self.form is None or self.over:
            return np.empty(0, np.int64), np.empty(0, np.int64), begin
        at, kinds = _tokens(text, begin)
        depth = np.cumsum((kinds == _OPEN).astype(np.int64) - (kinds == _CLOSE))
        beyond = np.flatnonzero(depth < 0)  # the end of the object that holds the list
        if len(beyond):
            n = int(beyond[0])
            at, kinds, depth = at[:n], kinds[:n], depth[:n]
            self.over = True
        starts = at[(kinds == _OPEN) & (depth == 1)]
        ends = at[(kinds == _CLOSE) & (depth == 0)] + 1
        listed, last = self._listed(text, at[((kinds == _LIST) | (kinds == _END)) & (depth == 0)])
        whole = starts[: len(ends)]
        kept = np.zeros(len(ends), bool)
        for low, high in listed:
            kept |= (whole >= low) & (whole < high)
        used = max(begin, last, int(ends[-1]) if len(ends) else 0)
        if self.closed:
            used = last
        elif len(starts) > len(ends):
            used = int(starts[-1])
        elif self.inside:
            used += len(text) - used - len(text[used:].lstrip(_SPACE + b","))
        return whole[kept], ends[kept], used

    def _begin(self, text: bytes) -> int:
        rest = text.lstrip(_SPACE)
        if rest.startswith(b"{"):
            self.form = "object"
            return len(text) - len(rest) + 1
        if rest.startswith(b"["):
            self.form = "array"
        elif rest:
            self.over = True
        return 0

    def _listed(self, text: bytes, brackets: NDArray[np.int64]) -> tuple[list[tuple[int, int]], int]:
        """Return the stretches of the text inside the list of events, and where the last bracket ended."""
        stretches: list[tuple[int, int]] = []
        begin, last = 0, 0
        for at in brackets.tolist():
            last = at + 1
            if text[at] == _LIST:
                if self._nested == 0:
                    named = _KEY.search(text[max(0, at - _KEY_BYTES) : at]) is not None
                    self.inside = self.form == "array" or named
                    self.listed |= self.inside
                    begin = last
                self._nested += 1
                continue
            self._nested -= 1
            if self._nested == 0 and self.inside:
                stretches.append((begin, at))
                self.inside, self.closed, self.over = False, True, True
                return stretches, last
        if self.inside:
            stretches.append((begin, len(text)))
        return stretches, last


def _tokens(text: bytes, begin: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return where braces and brackets stand outside of strings, and which."""
    import numpy as np

    if b"\\" in text:
        text = text.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")
    codes = np.frombuffer(text, np.uint8)
    quoted = np.cumsum(codes == _QUOTE, dtype=np.uint8) & 1
    structural = ((codes | 0x20) == (_OPEN | 0x20)) | ((codes | 0x20) == (_CLOSE | 0x20))
    structural &= quoted == 0
    structural[:begin] = False
    at = np.flatnonzero(structural)
    return at, codes[at]
