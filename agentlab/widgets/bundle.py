"""What all cards share: they never raise, stay small, and have a text twin in columns."""

from __future__ import annotations

import functools
import html
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Bundle = dict[str, str]

#: A notebook with bigger outputs is slow to open and to save.
MOST_BYTES = 200_000


def never_raises(make: Callable[..., Bundle]) -> Callable[..., Bundle]:
    """Turn what cannot be shown, and what is too big to be shown, into text.

    Parameters
    ----------
    make : callable
        Makes a MIME bundle of one thing.

    Returns
    -------
    callable
        Does the same and never raises.
    """

    @functools.wraps(make)
    def safe(thing: Any, **options: Any) -> Bundle:  # noqa: ANN401
        try:
            bundle = make(thing, **options)
        except Exception as error:
            return _fallback(thing, error)
        if len(bundle["text/html"]) > MOST_BYTES:
            bundle["text/html"] = f"<pre>{html.escape(bundle['text/plain'][: MOST_BYTES // 8])}</pre>"
        return bundle

    return safe


def _fallback(thing: Any, error: Exception) -> Bundle:  # noqa: ANN401
    """Show the plain representation when the card cannot be made."""
    try:
        shown = repr(thing)[:20_000]
    except Exception:
        shown = f"<{type(thing).__name__}>"
    said = f"{shown}\n(no card: {type(error).__name__})"
    return {"text/plain": said, "text/html": f"<pre>{html.escape(said)}</pre>"}


def short_path(path: str | os.PathLike[str]) -> str:
    """Write a path relative to the working folder, or only its end.

    Parameters
    ----------
    path : path
        Any path.

    Returns
    -------
    str

    Examples
    --------
    >>> short_path("/somewhere/else/studies/cache")
    '…/studies/cache'
    """
    full, here = Path(path).absolute(), Path.cwd()
    if full.is_relative_to(here):
        return str(full.relative_to(here))
    return str(Path("…", *full.parts[-2:]))


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align text in columns.

    Parameters
    ----------
    rows : sequence of sequence of str
        Cells, as many in each row.

    Returns
    -------
    list of str
        Lines.

    Examples
    --------
    >>> columns([["arm", "runs"], ["stable", "10"]])
    ['  arm     runs', '  stable  10']
    """
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
