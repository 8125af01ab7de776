"""The cursor of a terminal's screen: where it is, and what moves it without drawing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar


class Cursor:
    """A place on the screen, between margins and tab stops. Rows and columns count from 0 here.

    Parameters
    ----------
    cols, rows : int
        Size of the screen.
    modes : mapping
        Of the screen; with ``"?6"`` (origin mode) rows are told and set from the top margin.

    Attributes
    ----------
    x, y : int
        Column and row.
    wrap_next : bool
        A character stands in the last column, and the next one begins a new row.
    top, bottom : int
        First and last row that scroll.
    """

    def __init__(self, cols: int, rows: int, modes: Mapping[str, bool]) -> None:
        self.cols, self.rows = cols, rows
        self.x = self.y = 0
        self.wrap_next = False
        self.top, self.bottom = 0, rows - 1
        self._modes = modes
        self._tabs = set(range(8, cols, 8))

    def go(self, x: int, y: int) -> None:
        """Go to a place, or as near to it as the screen has one."""
        self.x = min(max(x, 0), self.cols - 1)
        self.y = min(max(y, 0), self.rows - 1)
        self.wrap_next = False

    def told(self) -> tuple[int, int]:
        """Return row and column as a terminal reports them: from 1."""
        return self.y + 1 - (self.top if self._modes["?6"] else 0), self.x + 1

    def resize(self, cols: int, rows: int) -> None:
        """Hear of a new size, which also takes the margins away."""
        self.cols, self.rows = cols, rows
        self.top, self.bottom = 0, rows - 1

    def set_tab(self) -> None:
        """Set a tab stop here."""
        self._tabs.add(self.x)

    def tab(self, n: int = 1, *_: int) -> None:
        """Go to the n-th tab stop to the right, or to the last column."""
        ahead = sorted(stop for stop in self._tabs if stop > self.x)
        self.go(ahead[(n or 1) - 1] if (n or 1) <= len(ahead) else self.cols - 1, self.y)

    def position(self, row: int = 1, col: int = 1) -> None:
        """Go to a row and a column, both from 1."""
        if self._modes["?6"]:
            self.go((col or 1) - 1, min((row or 1) - 1 + self.top, self.bottom))
        else:
            self.go((col or 1) - 1, (row or 1) - 1)

    def _up(self, n: int = 1, *_: int) -> None:
        self.go(self.x, max(self.y - (n or 1), self.top if self.y >= self.top else 0))

    def _down(self, n: int = 1, *_: int) -> None:
        last = self.bottom if self.y <= self.bottom else self.rows - 1
        self.go(self.x, min(self.y + (n or 1), last))

    def _right(self, n: int = 1, *_: int) -> None:
        self.go(self.x + (n or 1), self.y)

    def _left(self, n: int = 1, *_: int) -> None:
        self.go(self.x - (n or 1), self.y)

    def _next_row(self, n: int = 1, *_: int) -> None:
        self._down(n)
        self.go(0, self.y)

    def _previous_row(self, n: int = 1, *_: int) -> None:
        self._up(n)
        self.go(0, self.y)

    def _column(self, col: int = 1, *_: int) -> None:
        self.go((col or 1) - 1, self.y)

    def _row(self, row: int = 1, *_: int) -> None:
        self.position(row, self.x + 1)

    def _tab_back(self, n: int = 1, *_: int) -> None:
        behind = sorted((stop for stop in self._tabs if stop < self.x), reverse=True)
        self.go(behind[(n or 1) - 1] if (n or 1) <= len(behind) else 0, self.y)

    def _clear_tab(self, how: int = 0, *_: int) -> None:
        if how == 0:
            self._tabs.discard(self.x)
        elif how == 3:
            self._tabs.clear()

    def _margins(self, top: int = 1, bottom: int = 0) -> None:
        top, bottom = (top or 1) - 1, min(bottom or self.rows, self.rows) - 1
        if top < bottom:
            self.top, self.bottom = top, bottom
            self.position()

    #: Final byte of a control sequence to what it does, with up to two numbers.
    MOVES: ClassVar[dict[str, Callable[..., None]]] = {
        "A": _up,
        "B": _down,
        "C": _right,
        "D": _left,
        "E": _next_row,
        "F": _previous_row,
        "G": _column,
        "H": position,
        "I": tab,
        "Z": _tab_back,
        "`": _column,
        "a": _right,
        "d": _row,
        "e": _down,
        "f": position,
        "g": _clear_tab,
        "r": _margins,
    }
