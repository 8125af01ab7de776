"""When each streamed piece stood on the page: the observer's stamps, carried over by share of the text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..values import as_count, as_int, ms

if TYPE_CHECKING:
    from ..conversation import Turn
    from .evidence import PageEvidence

#: The stamps of one clock that a piece passes, in this order. The server's is of whole ms and left out.
STAGES = ("emit", "gateway", "arrive", "dom", "paint")


def add_shown(rows: list[dict[str, Any]], page: PageEvidence, sessions: Collection[str]) -> None:
    """Fill in when the pieces of the answers stood in the document and were painted.

    A page shows text without its markup, so characters of the stream and of the page differ: a piece counts
    as shown when the same share of all text is. Between them markup is taken to be spread evenly.

    Parameters
    ----------
    rows : list of dict
        Rows of ``chunks`` of one run; changed.
    page : PageEvidence
        Its page; a run without one is left as it is.
    sessions : collection of str
        Conversations that it shows: not those of subagents.
    """
    if not page.all("dom"):
        return
    growths = _growths(page)
    pieces = _pieces(rows, sessions)
    for row in rows:
        row |= {"shown": False, "dom_reason": "not_shown"}
    streamed = sum(row["n_chars"] for row in pieces)
    grown = growths[-1][1] if growths else 0
    so_far = 0
    for row in pieces:
        row["shown"] = True
        so_far += row["n_chars"]
        needed = so_far * grown / streamed if streamed else 0.0
        place = bisect_left(growths, needed - 0.5, key=lambda one: one[1])
        if not grown or place == len(growths):
            row["dom_reason"] = "not_seen"
            continue
        at, _, painted = growths[place]
        row |= {"dom_ns": at, "paint_ns": painted, "dom_reason": None}
    for row in rows:
        _judge(row)


def first_paint(page: PageEvidence, turn: Turn) -> int | None:
    """Find the frame in which text of a turn's answer first stood on the page.

    Parameters
    ----------
    page : PageEvidence
        The run's page; with none, or one on which nothing was seen, it is not known.
    turn : Turn
        Of a conversation that the page shows; it begins when the answer before stands on the page.

    Returns
    -------
    int or None
        CLOCK_MONOTONIC ns.
    """
    return next((painted for at, _, painted in _growths(page) if turn.holds(at)), None)


def _growths(page: PageEvidence) -> list[tuple[int, int, int | None]]:
    """Return stamp, characters and stamp of the next paint where text grew, in order of time."""
    read: list[tuple[int, int, int | None]] = []
    for row in page.rows("dom"):
        at, n, painted = [*row, None, None, None][:3]
        stamp, count = as_int(at), as_count(n)
        if stamp is not None and count is not None:
            read.append((stamp, count, as_int(painted)))
    read.sort(key=lambda one: one[0])
    grown: list[tuple[int, int, int | None]] = []
    for stamp, count, painted in read:
        if count > (grown[-1][1] if grown else 0):
            grown.append((stamp, count, painted))
    later: int | None = None
    for place in reversed(range(len(grown))):  # text is on the screen by the next paint that was seen
        stamp, count, painted = grown[place]
        later = painted if painted is not None else later
        grown[place] = stamp, count, later
    return grown


def _pieces(rows: Sequence[dict[str, Any]], sessions: Collection[str]) -> list[dict[str, Any]]:
    """Return the rows that are shown as text, once each, in the order in which they were streamed."""
    shown = [row for row in rows if row["session_id"] in sessions]
    text = [row for row in shown if row["kind"] == "text" and row["n_chars"]]
    told = [row for row in text if row["source"] != "gateway"]
    asked = told or [row for row in text if row["turn"] is not None]
    return sorted(asked, key=lambda row: row["arrive_ns"] or row["gateway_ns"] or 0)


def _judge(row: dict[str, Any]) -> None:
    """Say whether a piece's stamps follow each other."""
    row["dom_lag_ms"] = ms(row["dom_ns"], row["arrive_ns"])
    row["paint_lag_ms"] = ms(row["paint_ns"], row["arrive_ns"])
    known = [(stage, at) for stage in STAGES if (at := row[f"{stage}_ns"]) is not None]
    if len(known) < 2:
        return
    wrong = [f"{one}>{other}" for (one, at), (other, later) in pairwise(known) if later < at]
    row["ordered"] = not wrong
    row["disorder"] = ",".join(wrong) or None
