"""A table of short cells as text."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(rows: Sequence[Sequence[str]]) -> str:
    """Write rows in columns: the first to the left, all others to the right.

    Parameters
    ----------
    rows : sequence of sequence of str
        Equally many cells each, the head first.

    Returns
    -------
    str

    Examples
    --------
    >>> print(text_table([["arm", "ms"], ["stable", "7"]]))
    arm     ms
    stable   7
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    return "  ".join([first.strip().ljust(widths[0]), *others])
