"""What a terminal would show: the text of its screen, without colours.

Only what decides where a character stands is modelled, after the control sequences that xterm documents
(ctlseqs) and ECMA-48: cursor, margins, modes, tab stops, both screens. Colours and attributes are read and
forgotten, so that a screen costs little beside the program that is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from .cursor import Cursor
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


#: What is saved of a cursor: its place, how letters are drawn, and origin mode.
_HOME: tuple[tuple[int, int, bool], tuple[bool, bool, bool], bool] = (
    (0, 0, False),
    (False, False, False),
    False,
)


class Screen:
    r"""Text of a terminal's screen; the handler of a :class:`~agentlab.wire.vtparse.VTParser`.

    Parameters
    ----------
    cols, rows : int
        Size in characters.

    Attributes
    ----------
    at : Cursor
        Where the next character goes.
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
    >>> screen.lines(), screen.cursor, screen.shows("hell")
    (['', '   hello', ''], (2, 9), True)
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
        return self.at.told()

    @property
    def margins(self) -> tuple[int, int]:
        """First and last row that scroll, from 1."""
        return self.at.top + 1, self.at.bottom + 1

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
        above = max(0, self.at.y + 1 - rows)
        for grid in self._main, self._other:
            grid.resize(cols, rows, above=above)
        self.cols, self.rows = cols, rows
        self.at.resize(cols, rows)
        self.at.go(self.at.x, self.at.y - above)

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
            self.at.go(0, self.at.y)
        elif char in "\n\v\f":
            self._index()
            if self.modes["20"]:
                self.at.go(0, self.at.y)
        elif char == "\b":
            self.at.go(self.at.x - 1, self.at.y)
        elif char == "\t":
            self.at.tab()
        elif char in "\x0e\x0f":
            self._shifted = char == "\x0e"

    def escape(self, intermediates: str, final: str) -> None:
        """Carry out an escape sequence."""
        if intermediates in ("(", ")"):
            self._drawing[intermediates == ")"] = final == "0"
        elif intermediates == "#" and final == "8":
            self._grid.fill("E")
            self.at.go(0, 0)
        elif not intermediates and final == "H":
            self.at.set_tab()
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
        elif not private and not intermediates:
            if move := Cursor.MOVES.get(final):
                move(self.at, *numbers[:2])
            elif act := self._SEQUENCES.get(final):
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
            x = self.at.x if self.at.wrap_next else self.at.x - 1
            if x >= 0:
                self._grid.mark(x, self.at.y, char)
            return
        columns = min(columns, self.cols)
        if self.at.wrap_next or self.at.x + columns > self.cols:
            if self.modes["?7"]:
                self._next()
            else:
                self.at.go(self.cols - columns, self.at.y)
        if self.modes["4"]:
            self._grid.insert(self.at.x, self.at.y, columns)
        self._put([char, *[""] * (columns - 1)])
        self._last = char

    def _draw_run(self, text: str) -> None:
        """Draw characters of one column each, in replace mode with wrapping."""
        at = 0
        while at < len(text):
            if self.at.wrap_next:
                self._next()
            piece = text[at : at + self.cols - self.at.x]
            self._put(list(piece))
            at += len(piece)
        self._last = text[-1]

    def _put(self, cells: list[str]) -> None:
        self._grid.put(self.at.x, self.at.y, cells)
        end = self.at.x + len(cells)
        self.at.wrap_next = end >= self.cols
        self.at.x = min(end, self.cols - 1)

    def _repeat(self, n: int = 1, *_: int) -> None:
        for _i in range(min(n or 1, self.cols * self.rows)):
            self._draw(self._last, width(self._last))

    # -- saving, scrolling and erasing

    def _save(self, *_: int) -> None:
        drawing = self._drawing[0], self._drawing[1], self._shifted
        place = self.at.x, self.at.y, self.at.wrap_next
        self._saved[self._grid is self._other] = (place, drawing, self.modes["?6"])

    def _restore(self, *_: int) -> None:
        (x, y, wrap_next), drawing, self.modes["?6"] = self._saved[self._grid is self._other]
        self._drawing, self._shifted = [*drawing[:2]], drawing[2]
        self.at.go(x, y)
        self.at.wrap_next = wrap_next and self.at.x == self.cols - 1

    def _index(self) -> None:
        if self.at.y == self.at.bottom:
            self._scroll_up()
        else:
            self.at.go(self.at.x, self.at.y + 1)
        self.at.wrap_next = False

    def _reverse_index(self) -> None:
        if self.at.y == self.at.top:
            self._scroll_down()
        else:
            self.at.go(self.at.x, self.at.y - 1)

    def _next(self) -> None:
        self._index()
        self.at.go(0, self.at.y)

    def _scroll_up(self, n: int = 1, *_: int) -> None:
        self._grid.scroll(self.at.top, self.at.bottom, n or 1)

    def _scroll_down(self, n: int = 1, *_: int) -> None:
        self._grid.scroll(self.at.top, self.at.bottom, -(n or 1))

    def _insert_lines(self, n: int = 1, *_: int) -> None:
        if self.at.top <= self.at.y <= self.at.bottom:
            self._grid.scroll(self.at.y, self.at.bottom, -(n or 1))
            self.at.go(0, self.at.y)

    def _delete_lines(self, n: int = 1, *_: int) -> None:
        if self.at.top <= self.at.y <= self.at.bottom:
            self._grid.scroll(self.at.y, self.at.bottom, n or 1)
            self.at.go(0, self.at.y)

    def _insert_blanks(self, n: int = 1, *_: int) -> None:
        self._grid.insert(self.at.x, self.at.y, n or 1)
        self.at.wrap_next = False

    def _delete_characters(self, n: int = 1, *_: int) -> None:
        self._grid.delete(self.at.x, self.at.y, n or 1)
        self.at.wrap_next = False

    def _erase_characters(self, n: int = 1, *_: int) -> None:
        self._grid.wipe(self.at.y, self.at.x, min(self.at.x + (n or 1), self.cols))
        self.at.wrap_next = False

    def _erase_in_display(self, how: int = 0, *_: int) -> None:
        self._erase_in_line(how)
        if how == 0:
            self._grid.wipe_rows(self.at.y + 1, self.rows)
        elif how in (1, 2):
            self._grid.wipe_rows(0, self.at.y if how == 1 else self.rows)

    def _erase_in_line(self, how: int = 0, *_: int) -> None:
        if how in (0, 1, 2):
            self._grid.wipe(self.at.y, 0 if how else self.at.x, self.at.x + 1 if how == 1 else self.cols)
            self.at.wrap_next = False

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
            self.at.position()
        elif mode == "?7" and not on:
            self.at.wrap_next = False

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
        self.at.top, self.at.bottom = 0, self.rows - 1
        self._shifted, self._drawing = False, [False, False]
        self.modes.update({"?1": False, "?6": False, "?7": True, "?25": True, "4": False})
        self._saved = [_HOME, _HOME]  # of either screen

    def _reset(self) -> None:
        self.title = ""
        self.modes = {f"?{mode}": on for mode, on in PRIVATE_MODES.items()}
        self.modes |= {f"{mode}": on for mode, on in ANSI_MODES.items()}
        self._main, self._other = Grid(self.cols, self.rows), Grid(self.cols, self.rows)
        self._grid = self._main
        self._last = " "
        self.at = Cursor(self.cols, self.rows, self.modes)
        self._soft_reset()

    _ESCAPES: ClassVar[dict[str, Callable[[Screen], None]]] = {
        "7": _save,
        "8": _restore,
        "D": _index,
        "E": _next,
        "M": _reverse_index,
        "c": _reset,
    }
    _SEQUENCES: ClassVar[dict[str, Callable[..., None]]] = {
        "@": _insert_blanks,
        "J": _erase_in_display,
        "K": _erase_in_line,
        "L": _insert_lines,
        "M": _delete_lines,
        "P": _delete_characters,
        "S": _scroll_up,
        "T": _scroll_down,
        "X": _erase_characters,
        "b": _repeat,
        "s": _save,
        "u": _restore,
    }
