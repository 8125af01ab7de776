"""Cards: what recordings, a running study and estimates look like as the last line of a cell.

Each card is a pure function to a MIME bundle with ``text/plain`` and ``text/html`` (and ``image/png`` where
it holds a figure). It never raises: what cannot be shown becomes text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..issues import CODES
from ..plots import words
from ..plots.memory_runs import PRESSURE, both_figures, measured
from ..progress import until
from . import markup
from .bundle import Bundle, columns, never_raises, short_path
from .counts import counted, counts
from .estimates import estimates_card

if TYPE_CHECKING:
    from ..recording import Recordings

__all__ = ["estimates_card", "recordings_card", "running_card"]

#: status of a running study -> words
STATES: dict[str, str] = {
    "running": "recording",
    "done": "done",
    "cancelled": "cancelled; what was measured is kept",
    "interrupted": "interrupted; what was measured is kept",
    "owner_lost": "ended because its notebook or script ended; what was measured is kept",
    "deadline": "ended by its deadline; what was measured is kept",
    "failed": "ended by an error; what was measured is kept",
    "left": "recording when this notebook was left",
}


_UNREAD = "?: {tables} are not read yet; recs.{first} reads them, and then they are counted here."


@never_raises
def recordings_card(recs: Recordings) -> Bundle:
    """Show which runs there are, which are used, and why the others are not.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    dict
        ``text/plain`` and ``text/html``.
    """
    arms = recs.coverage()
    used, total = sum(arm["n_used"] for arm in arms), len(recs)
    names = [str(about["name"]) for about in recs.studies] if total else []
    title = f"{', '.join(names) or 'Recordings'}: "
    title += f"{used:,} of {words.count(total, 'run')} used" if total else "no run"
    what = counted(recs)
    heads = [head for one in what for head in one.heads]
    known = counts(recs, what)
    head = ["arm", "used", "runs", "discarded because", *heads]
    cells = [_recordings_cells(arm, heads, known.get(arm["arm"], {})) for arm in arms]
    lines = [*_both_figures(recs), *_doubts_of(recs)]
    if arms and not any(known.values()):
        tables = " and ".join(one.table for one in what)
        lines.insert(0, _UNREAD.format(tables=tables, first=what[0].table))
    where = _place(recs)
    right = (1, 2, *range(4, len(head)))
    body = [
        markup.table(head, [[markup.text(c) for c in row] for row in cells], right=right),
        markup.notes([*lines, *where]),
    ]
    if not arms:
        body = [markup.notes(where)]
    plain = [title, *columns([head, *cells] if cells else []), *lines, *where]
    return {"text/plain": "\n".join(plain), "text/html": markup.card(title, body)}


def _recordings_cells(arm: Mapping[str, Any], heads: list[str], known: Mapping[str, int]) -> list[str]:
    reasons = ", ".join(f"{code} {n}" for code, n in arm["reasons"].items()) or (
        "unknown" if arm["n_discarded"] else ""
    )
    numbers = [_number(known.get(name)) for name in heads]
    return [arm["arm"], _number(arm["n_used"]), _number(arm["n_runs"]), reasons or "none", *numbers]


def _number(n: int | None) -> str:
    return "?" if n is None else f"{n:,}"


def _both_figures(recs: Recordings) -> list[str]:
    """Say the settled totals with and without runs that were discarded for memory pressure alone."""
    pressed = any(run.info.discard_codes == (PRESSURE,) for run in recs)
    if not pressed or not recs.at_hand("memory"):
        return []
    return [
        f"settled total, runs under memory pressure: {said}" for said in both_figures(measured(recs).curves)
    ]


def _doubts_of(recs: Recordings) -> list[str]:
    """Explain the issues, those that discard a run first."""
    found: dict[tuple[bool, str], set[tuple[str, str]]] = {}
    for run in recs:
        for issue in run.issues:
            found.setdefault((issue.discard, issue.code), set()).add((run.info.study, run.run_id))
    lines: list[str] = []
    for (discard, code), runs in sorted(found.items(), key=lambda item: not item[0][0]):
        meaning = CODES.get(code, "a code of the driver")
        effect = "discarded" if discard else "kept"
        lines.append(f"{code}: {meaning} ({words.count(len(runs), 'run')}, {effect})")
    return lines[:24] + ([f"and {len(lines) - 24} more codes in .issues"] if len(lines) > 24 else [])


def _place(recs: Recordings) -> list[str]:
    """Say where it is, without the way to it: a home folder belongs into no shared notebook."""
    scenario = recs.scenario
    said: list[str] = []
    if scenario is not None:
        turns = len(scenario.get("turns", ()))
        said.append(f"Scenario {scenario.get('name', 'unknown')}, {words.count(turns, 'turn')}")
    return [*said, *(f"Folder {short_path(path)}" for path in recs.paths)]


def left_card(state: Mapping[str, Any]) -> Bundle:
    """Show how far a study was when a notebook was left; what became of it is not known there.

    Parameters
    ----------
    state : mapping
        As for :func:`running_card`.

    Returns
    -------
    dict
        ``text/plain`` and ``text/html``.
    """
    return running_card({**state, "status": "left"})


@never_raises
def running_card(state: Mapping[str, Any]) -> Bundle:
    """Show how far a study is.

    Parameters
    ----------
    state : mapping
        As ``Running.state()`` gives it: ``folder``, ``status``, ``planned``, ``finished``, ``elapsed_s`` and
        ``arms``, for each arm ``planned``, ``finished``, ``eligible``, ``discarded`` and ``running`` (runs)
        and ``reasons`` (code: discarded runs).

    Returns
    -------
    dict
        ``text/plain`` and ``text/html``.
    """
    folder, status = state["folder"], str(state["status"])
    title = f"{Path(folder).name}: {STATES.get(status, status)}, {state['finished']:,} of "
    title += words.count(state["planned"], "run")
    if state.get("elapsed_s") is not None:
        title += f", {_duration(state['elapsed_s'])}"
    head = ["arm", "finished", "used", "discarded", "because", "under way"]
    cells, bars = list[list[str]](), list[str]()
    for name, arm in state["arms"].items():
        because = ", ".join(f"{code} {n}" for code, n in arm.get("reasons", {}).items())
        counts = [
            f"{arm['finished']:,} of {arm['planned']:,}",
            f"{arm['eligible']:,}",
            f"{arm['discarded']:,}",
        ]
        cells.append([str(name), *counts, because, f"{arm['running']:,}"])
        bars.append(markup.progress(arm["eligible"], arm["discarded"], arm["running"], arm["planned"]))
    rows = [[*map(markup.text, row), bar] for row, bar in zip(cells, bars, strict=True)]
    codes = dict.fromkeys(code for arm in state["arms"].values() for code in arm.get("reasons", {}))
    lines = [f"{code}: {CODES[code]}" for code in codes if code in CODES]
    lines.append(f"Folder {short_path(folder)}")
    if (alone := until(state)) is not None:
        lines.append(f"It {alone}; agentlab.attach({str(folder)!r}) shows it.")
    if status not in ("running", "done"):
        lines.append("The same record(...) call makes the runs that are missing.")
    if status == "left":
        lines.append(f"agentlab.load({str(folder)!r}) reads all that was measured.")
    plain = "\n".join([title, *columns([head, *cells]), *lines])
    shown = markup.card(title, [markup.table([*head, ""], rows, right=(1, 2, 3, 5)), markup.notes(lines)])
    return {"text/plain": plain, "text/html": shown}


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{rest} s" if not minutes else f"{minutes:,} min {rest:02d} s"
