"""The cells of a terminal's screen: one character each, wide ones followed by an empty cell."""

from __future__ import annotations

from functools import lru_cache

from wcwidth import wcwidth

_MARKS = 16  # characters that one cell may hold


@lru_cache(8192)
def width(char: str) -> int:
    """Return the columns that a character takes: 0 (marks, controls), 1 or 2.

    Parameters
    ----------
    char : str
        One character; of an empty string it is 0.

    Returns
    -------
    int
    """
    return max(wcwidth(char), 0) if char else 0


class Grid:
    """Rows of cells. A wide character is never left as a half, whatever is written over it.

    Parameters
    ----------
    cols, rows : int
        Size in characters.

    Attributes
    ----------
    rows : list of list of str
        From top to bottom.
    """

    def __init__(self, cols: int, rows: int) -> None:
        self.cols = cols
        self.rows = [[" "] * cols for _ in range(rows)]

    def lines(self) -> list[str]:
        """Return the rows as text, with the white space at their ends."""
        return ["".join(row) for row in self.rows]

    def fill(self, char: str) -> None:
        """Set every cell."""
        self.rows = [[char] * self.cols for _ in self.rows]

    def resize(self, cols: int, rows: int, *, above: int) -> None:
        """Cut or fill rows and columns, after dropping ``above`` rows at the top."""
        self.cols = cols
        self.rows = self.rows[above:][:rows]
        for row in self.rows:
            self._mend(row)
        self.rows += ([" "] * cols for _ in range(rows - len(self.rows)))

    def put(self, x: int, y: int, cells: list[str]) -> None:
        """Write cells over what is there; they must fit."""
        row, end = self.rows[y], x + len(cells)
        if row[x] == "" and x:
            row[x - 1] = " "
        row[x:end] = cells
        if end < self.cols and row[end] == "":
            row[end] = " "

    def wipe(self, y: int, begin: int, end: int) -> None:
        """Blank the cells of a row from ``begin`` to before ``end``."""
        self.put(begin, y, [" "] * (end - begin))

    def wipe_rows(self, begin: int, end: int) -> None:
        """Blank the rows from ``begin`` to before ``end``."""
        self.rows[begin:end] = [[" "] * self.cols for _ in range(begin, end)]

    def insert(self, x: int, y: int, n: int) -> None:
        """Push n blanks in; what goes over the right edge is lost."""
        row = self.rows[y]
        row[x:x] = [" "] * min(n, self.cols)
        self._mend(row)

    def delete(self, x: int, y: int, n: int) -> None:
        """Take n cells out; the rest moves left."""
        row = self.rows[y]
        del row[x : x + n]
        self._mend(row)

    def mark(self, x: int, y: int, char: str) -> None:
        """Add a combining mark to the character at a cell, or to the one it is half of."""
        row = self.rows[y]
        if row[x] == "" and x:
            x -= 1
        if len(row[x]) < _MARKS:
            row[x] += char

    def scroll(self, top: int, bottom: int, n: int) -> None:
        """Move the rows from ``top`` to ``bottom`` (included) up by n, or down by -n."""
        height = bottom + 1 - top
        gone = min(abs(n), height)
        blank = [[" "] * self.cols for _ in range(gone)]
        rows = self.rows[top : bottom + 1]
        self.rows[top : bottom + 1] = [*rows[gone:], *blank] if n > 0 else [*blank, *rows[: height - gone]]

    def _mend(self, row: list[str]) -> None:
        """Bring a row to its width, and blank halves of wide characters."""
        row[self.cols :] = [" "] * (self.cols - len(row))
        if "".join(row).isascii() and "" not in row:
            return
        for x, cell in enumerate(row):
            follows_wide = x > 0 and width(row[x - 1][:1]) == 2
            cut = width(cell[:1]) == 2 and row[x + 1 : x + 2] != [""]
            if cut or (cell == "" and not follows_wide):
                row[x] = " "
