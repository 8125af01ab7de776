"""What the parts of a report are made of: tables and sentences with a plain-text twin, which never raise."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import ParamSpec

from ..widgets import markup
from ..widgets.bundle import Bundle, columns

P = ParamSpec("P")


class Block:
    """Something that is shown as the last line of a cell.

    Parameters
    ----------
    bundle : dict
        MIME type -> content, ``text/plain`` and ``text/html`` among them.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Bundle:
        return self._bundle

    def __repr__(self) -> str:
        return self._bundle["text/plain"]

    def __add__(self, other: Block) -> Block:
        joined = {
            kind: self._bundle[kind] + "\n" + other._bundle[kind] for kind in ("text/plain", "text/html")
        }
        return Block(joined)


def heading(words: str, *, level: int) -> Block:
    """Write a heading.

    Parameters
    ----------
    words : str
        Plain text.
    level : int
        1 to 6.

    Returns
    -------
    Block
    """
    return Block({"text/plain": words, "text/html": f"<h{level}>{markup.text(words)}</h{level}>"})


def sentences(lines: Iterable[str]) -> Block:
    """Write paragraphs.

    Parameters
    ----------
    lines : iterable of str
        Plain text, one paragraph each; empty ones are left out.

    Returns
    -------
    Block
    """
    said = [line for line in lines if line]
    return Block(
        {"text/plain": "\n".join(said), "text/html": "".join(f"<p>{markup.text(line)}</p>" for line in said)}
    )


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    notes: Iterable[str] = (),
) -> Block:
    """Write a table with notes below.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : sequence of sequence of str
        Cells, plain text.
    right : sequence of int
        Columns that are aligned to the right.
    notes : iterable of str
        Plain text.

    Returns
    -------
    Block
    """
    said = [note for note in notes if note]
    shown = markup.table(head, [[markup.text(cell) for cell in row] for row in rows], right=right)
    plain = "\n".join([*columns([head, *rows]), *said])
    return Block({"text/plain": plain, "text/html": f"{shown}{markup.notes(said)}"})


def never_fails(make: Callable[P, Block]) -> Callable[P, Block]:
    """Let one part of a page say that it cannot be made, so that all others are.

    Parameters
    ----------
    make : callable
        Makes a block; its first line of documentation says what it shows.

    Returns
    -------
    callable
    """

    @functools.wraps(make)
    def safe(*args: P.args, **options: P.kwargs) -> Block:
        try:
            return make(*args, **options)
        except Exception as error:
            return _failure(make.__name__.replace("_", " "), error)

    return safe


@contextlib.contextmanager
def part(name: str) -> Generator[None]:
    """Show an error inside the ``with`` block as a sentence and go on.

    Parameters
    ----------
    name : str
        What is made there.
    """
    try:
        yield
    except Exception as error:
        from IPython.display import display

        display(_failure(name, error))


def _failure(name: str, error: Exception) -> Block:
    return sentences([f"This part ({name}) cannot be made: {type(error).__name__}: {str(error)[:600]}"])
