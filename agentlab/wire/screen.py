"""What a terminal would show: the text of its screen, without colours.

Only what decides where a character stands is modelled, after the control sequences that xterm documents
(ctlseqs) and ECMA-48: cursor, margins, modes, tab stops, both screens. Colours and attributes are read and
forgotten, so that a screen costs little beside the program that is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from .grid import Grid, width

#: Private modes that are known here, and the value each begins with. Those of keyboard, mouse, focus and
#: pasting are tracked and have no effect: nobody presses a key that was not asked for.
PRIVATE_MODES = {
    **dict.fromkeys((1, 5, 6, 9, 12, 47, 66), False),
    **dict.fromkeys((1000, 1002, 1003, 1004, 1005, 1006, 1007, 1047, 1048, 1049, 2004), False),
    7: True,  # wrap at the right margin
    25: True,  # the cursor is visible
}
#: The same for ANSI modes: insert, and newline implies carriage return.
ANSI_MODES = {4: False, 20: False}

_LINE_DRAWING = str.maketrans("`afgjklmnopqrstuvwxyz{|}~", "◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")


class Screen:
    r"""Text of a terminal's screen; the handler of a :class:`~agentlab.wire.vtparse.VTParser`.

    Parameters
    ----------
    cols, rows : int
        Size in characters.

    Attributes
    ----------
    x, y : int
        Cursor, counted from 0. After a character in the last column it stays there until the next one.
    title : str
        Window title.
    modes : dict
        ``"?25"`` (private) or ``"4"`` (ANSI) to whether it is set.
    inked : bool
        Whether a character other than white space was drawn since this was last set to False; it may have
        been erased since.

    Examples
    --------
    >>> screen = Screen(cols=10, rows=3)
    >>> screen.csi("", "2;4", "", "H"); screen.text("hello")
    >>> screen.lines(), (screen.x, screen.y), screen.shows("hell")
    (['', '   hello', ''], (8, 1), True)
    """

    def __init__(self, *, cols: int = 120, rows: int = 40) -> None:
        if cols < 1 or rows < 1:
            raise ValueError(f"a screen needs a row and a column, not {cols} x {rows}")
        self.cols, self.rows = cols, rows
        self.inked = False
        self._reset()

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column of the cursor as a terminal reports them: from 1, from the margin in origin mode."""
        return self.y + 1 - (self._top if self.modes["?6"] else 0), self.x + 1

    @property
    def margins(self) -> tuple[int, int]:
        """First and last row that scroll, from 1."""
        return self._top + 1, self._bottom + 1

    def lines(self) -> list[str]:
        """Return the rows from top to bottom, without white space at their ends."""
        return [line.rstrip() for line in self._grid.lines()]

    def shows(self, text: str) -> bool:
        """Tell whether a text stands on the screen, within one row."""
        return any(text in line for line in self._grid.lines())

    def count(self, text: str) -> int:
        """Count how often a text stands on the screen."""
        return sum(line.count(text) for line in self._grid.lines())

    def blank(self) -> bool:
        """Tell whether nothing but white space is on the screen."""
        return all(line.isspace() for line in self._grid.lines())

    def resize(self, cols: int, rows: int) -> None:
        """Change the size; what stands above the cursor goes first when rows are too few.

        Parameters
        ----------
        cols, rows : int
            New size in characters.
        """
        above = max(0, self.y + 1 - rows)
        for grid in self._main, self._other:
            grid.resize(cols, rows, above=above)
        self.cols, self.rows = cols, rows
        self._top, self._bottom = 0, rows - 1
        self._go(self.x, self.y - above)

    # -- what the parser calls

    def text(self, text: str) -> None:
        """Draw characters at the cursor."""
        if self._drawing[self._shifted]:
            text = text.translate(_LINE_DRAWING)
        widths = [width(char) for char in text]
        self.inked = self.inked or not text.isspace()
        if self.modes["4"] or not self.modes["?7"] or widths.count(1) != len(widths):
            for char, columns in zip(text, widths, strict=True):
                self._draw(char, columns)
        else:
            self._draw_run(text)

    def control(self, char: str) -> None:
        """Carry out a C0 control."""
        if char == "\r":
            self._go(0, self.y)
        elif char in "\n\v\f":
            self._index()
            if self.modes["20"]:
                self._go(0, self.y)
        elif char == "\b":
            self._go(self.x - 1, self.y)
        elif char == "\t":
            self._tab(1)
        elif char in "\x0e\x0f":
            self._shifted = char == "\x0e"

    def escape(self, intermediates: str, final: str) -> None:
        """Carry out an escape sequence."""
        if intermediates in ("(", ")"):
            self._drawing[intermediates == ")"] = final == "0"
        elif intermediates == "#" and final == "8":
            self._grid.fill("E")
            self._go(0, 0)
        elif not intermediates and (act := self._ESCAPES.get(final)):
            act(self)

    def csi(self, private: str, params: str, intermediates: str, final: str) -> None:
        """Carry out a control sequence; those that only change looks or the keyboard do nothing."""
        numbers = [int(p.partition(":")[0] or 0) if len(p) < 9 else 0 for p in params.split(";")]
        if final in "hl" and private in ("", "?") and not intermediates:
            for number in numbers:
                self._set_mode(f"{private}{number}", final == "h")
        elif (private, intermediates, final) == ("", "!", "p"):
            self._soft_reset()
        elif private == "?" and final in "JK" and not intermediates:
            self._SEQUENCES[final](self, numbers[0])  # selective: nothing is protected here
        elif not private and not intermediates and (act := self._SEQUENCES.get(final)):
            act(self, *numbers[:2])

    def string(self, kind: str, payload: str, end: str) -> None:
        """Keep the window's title; all other strings draw nothing."""
        number, _, text = payload.partition(";")
        if kind == "OSC" and number in ("0", "2"):
            self.title = text

    # -- drawing

    def _draw(self, char: str, columns: int) -> None:
        if columns == 0:
            # A mark belongs to the character before the cursor; without one it is dropped.
            x = self.x if self._wrap_next else self.x - 1
            if x >= 0:
                self._grid.mark(x, self.y, char)
            return
        columns = min(columns, self.cols)
        if self._wrap_next or self.x + columns > self.cols:
            if self.modes["?7"]:
                self._next()
            else:
                self._go(self.cols - columns, self.y)
        if self.modes["4"]:
            self._grid.insert(self.x, self.y, columns)
        self._put([char, *[""] * (columns - 1)])
        self._last = char

    def _draw_run(self, text: str) -> None:
        """Draw characters of one column each, in replace mode with wrapping."""
        at = 0
        while at < len(text):
            if self._wrap_next:
                self._next()
            piece = text[at : at + self.cols - self.x]
            self._put(list(piece))
            at += len(piece)
        self._last = text[-1]

    def _put(self, cells: list[str]) -> None:
        self._grid.put(self.x, self.y, cells)
        end = self.x + len(cells)
        self._wrap_next = end >= self.cols
        self.x = min(end, self.cols - 1)

    def _repeat(self, n: int = 1, *_: int) -> None:
        for _i in range(min(n or 1, self.cols * self.rows)):
            self._draw(self._last, width(self._last))

    # -- moving

    def _go(self, x: int, y: int) -> None:
        self.x = min(max(x, 0), self.cols - 1)
        self.y = min(max(y, 0), self.rows - 1)
        self._wrap_next = False

    def _position(self, row: int = 1, col: int = 1) -> None:
        if self.modes["?6"]:
            self._go((col or 1) - 1, min((row or 1) - 1 + self._top, self._bottom))
        else:
            self._go((col or 1) - 1, (row or 1) - 1)

    def _up(self, n: int = 1, *_: int) -> None:
        self._go(self.x, max(self.y - (n or 1), self._top if self.y >= self._top else 0))

    def _down(self, n: int = 1, *_: int) -> None:
        last = self._bottom if self.y <= self._bottom else self.rows - 1
        self._go(self.x, min(self.y + (n or 1), last))

    def _right(self, n: int = 1, *_: int) -> None:
        self._go(self.x + (n or 1), self.y)

    def _left(self, n: int = 1, *_: int) -> None:
        self._go(self.x - (n or 1), self.y)

    def _next_line(self, n: int = 1, *_: int) -> None:
        self._down(n)
        self._go(0, self.y)

    def _previous_line(self, n: int = 1, *_: int) -> None:
        self._up(n)
        self._go(0, self.y)

    def _column(self, col: int = 1, *_: int) -> None:
        self._go((col or 1) - 1, self.y)

    def _line(self, row: int = 1, *_: int) -> None:
        self._position(row, self.x + 1)

    def _tab(self, n: int = 1, *_: int) -> None:
        ahead = sorted(stop for stop in self._tabs if stop > self.x)
        self._go(ahead[(n or 1) - 1] if (n or 1) <= len(ahead) else self.cols - 1, self.y)

    def _tab_back(self, n: int = 1, *_: int) -> None:
        behind = sorted((stop for stop in self._tabs if stop < self.x), reverse=True)
        self._go(behind[(n or 1) - 1] if (n or 1) <= len(behind) else 0, self.y)

    def _set_tab(self) -> None:
        self._tabs.add(self.x)

    def _clear_tab(self, how: int = 0, *_: int) -> None:
        self._tabs -= {self.x} if how == 0 else self._tabs if how == 3 else set()

    def _save(self, *_: int) -> None:
        self._saved = (self.x, self.y, self._wrap_next, self._shifted, [*self._drawing], self.modes["?6"])

    def _restore(self, *_: int) -> None:
        x, y, wrap_next, self._shifted, drawing, self.modes["?6"] = self._saved
        self._drawing = [*drawing]
        self._go(x, y)
        self._wrap_next = wrap_next and self.x == self.cols - 1

    # -- scrolling and erasing

    def _index(self) -> None:
        if self.y == self._bottom:
            self._scroll_up()
        else:
            self._go(self.x, self.y + 1)
        self._wrap_next = False

    def _reverse_index(self) -> None:
        if self.y == self._top:
            self._scroll_down()
        else:
            self._go(self.x, self.y - 1)

    def _next(self) -> None:
        self._index()
        self._go(0, self.y)

    def _scroll_up(self, n: int = 1, *_: int) -> None:
        self._grid.scroll(self._top, self._bottom, n or 1)

    def _scroll_down(self, n: int = 1, *_: int) -> None:
        self._grid.scroll(self._top, self._bottom, -(n or 1))

    def _insert_lines(self, n: int = 1, *_: int) -> None:
        if self._top <= self.y <= self._bottom:
            self._grid.scroll(self.y, self._bottom, -(n or 1))
            self._go(0, self.y)

    def _delete_lines(self, n: int = 1, *_: int) -> None:
        if self._top <= self.y <= self._bottom:
            self._grid.scroll(self.y, self._bottom, n or 1)
            self._go(0, self.y)

    def _margins(self, top: int = 1, bottom: int = 0) -> None:
        top, bottom = (top or 1) - 1, min(bottom or self.rows, self.rows) - 1
        if top < bottom:
            self._top, self._bottom = top, bottom
            self._position()

    def _insert_blanks(self, n: int = 1, *_: int) -> None:
        self._grid.insert(self.x, self.y, n or 1)
        self._wrap_next = False

    def _delete_characters(self, n: int = 1, *_: int) -> None:
        self._grid.delete(self.x, self.y, n or 1)
        self._wrap_next = False

    def _erase_characters(self, n: int = 1, *_: int) -> None:
        self._grid.wipe(self.y, self.x, min(self.x + (n or 1), self.cols))
        self._wrap_next = False

    def _erase_in_display(self, how: int = 0, *_: int) -> None:
        self._erase_in_line(how)
        if how == 0:
            self._grid.wipe_rows(self.y + 1, self.rows)
        elif how in (1, 2):
            self._grid.wipe_rows(0, self.y if how == 1 else self.rows)

    def _erase_in_line(self, how: int = 0, *_: int) -> None:
        if how in (0, 1, 2):
            self._grid.wipe(self.y, 0 if how else self.x, self.x + 1 if how == 1 else self.cols)
            self._wrap_next = False

    # -- modes

    def _set_mode(self, mode: str, on: bool) -> None:
        if mode not in self.modes:
            return
        if mode in ("?47", "?1047", "?1049"):
            self._switch(mode, on)
        elif mode == "?1048":
            (self._save if on else self._restore)()
        self.modes[mode] = on
        if mode == "?6":
            self._position()
        elif mode == "?7" and not on:
            self._wrap_next = False

    def _switch(self, mode: str, on: bool) -> None:
        """Show the alternate screen, or the main one again."""
        if mode == "?1049" and on:
            self._save()
        if mode == "?1047" and not on and self._grid is self._other:
            self._grid.fill(" ")
        self._grid = self._other if on else self._main
        if mode == "?1049" and on:
            self._grid.fill(" ")
        elif mode == "?1049":
            self._restore()
        for one in ("?47", "?1047", "?1049"):
            self.modes[one] = on

    def _soft_reset(self) -> None:
        self._top, self._bottom = 0, self.rows - 1
        self._shifted, self._drawing = False, [False, False]
        self.modes.update({"?1": False, "?6": False, "?7": True, "?25": True, "4": False})
        self._saved = (0, 0, False, False, [False, False], False)

    def _reset(self) -> None:
        self.title = ""
        self.modes = {f"?{mode}": on for mode, on in PRIVATE_MODES.items()}
        self.modes |= {f"{mode}": on for mode, on in ANSI_MODES.items()}
        self._main, self._other = Grid(self.cols, self.rows), Grid(self.cols, self.rows)
        self._grid = self._main
        self._tabs = set(range(8, self.cols, 8))
        self._last = " "
        self._soft_reset()
        self._go(0, 0)

    _ESCAPES: ClassVar[dict[str, Callable[[Screen], None]]] = {
        "7": _save,
        "8": _restore,
        "D": _index,
        "E": _next,
        "H": _set_tab,
        "M": _reverse_index,
        "c": _reset,
    }
    _SEQUENCES: ClassVar[dict[str, Callable[..., None]]] = {
        "@": _insert_blanks,
        "A": _up,
        "B": _down,
        "C": _right,
        "D": _left,
        "E": _next_line,
        "F": _previous_line,
        "G": _column,
        "H": _position,
        "I": _tab,
        "J": _erase_in_display,
        "K": _erase_in_line,
        "L": _insert_lines,
        "M": _delete_lines,
        "P": _delete_characters,
        "S": _scroll_up,
        "T": _scroll_down,
        "X": _erase_characters,
        "Z": _tab_back,
        "`": _column,
        "a": _right,
        "b": _repeat,
        "d": _line,
        "e": _down,
        "f": _position,
        "g": _clear_tab,
        "r": _margins,
        "s": _save,
        "u": _restore,
    }
