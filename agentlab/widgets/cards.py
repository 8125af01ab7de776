"""Cards: what recordings, a running study and estimates look like as the last line of a cell.

Each card is a pure function to a MIME bundle with ``text/plain`` and ``text/html`` (and ``image/png`` where
it holds a figure). It never raises: what cannot be shown becomes text.
"""

from __future__ import annotations

import base64
import functools
import html
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..issues import CODES
from ..plots import words
from ..plots.captions import estimates_caption
from ..plots.rows import Row, read_rows
from . import markup

if TYPE_CHECKING:
    import pandas as pd

    from ..recording import Recordings

Bundle = dict[str, str]

_MOST_ROWS = 120
_MOST_BYTES = 200_000

#: status of a running study -> words
STATES: dict[str, str] = {
    "running": "recording",
    "done": "done",
    "cancelled": "cancelled; what was measured is kept",
    "interrupted": "interrupted; what was measured is kept",
    "owner_lost": "ended because its notebook or script ended; what was measured is kept",
    "failed": "ended by an error; what was measured is kept",
}


def _never_raises(make: Callable[..., Bundle]) -> Callable[..., Bundle]:
    @functools.wraps(make)
    def safe(thing: Any, **options: Any) -> Bundle:  # noqa: ANN401
        try:
            return make(thing, **options)
        except Exception as error:
            return _fallback(thing, error)

    return safe


def _fallback(thing: Any, error: Exception) -> Bundle:  # noqa: ANN401
    """Show the plain representation when the card cannot be made."""
    try:
        shown = repr(thing)[:20_000]
    except Exception:
        shown = f"<{type(thing).__name__}>"
    said = f"{shown}\n(no card: {type(error).__name__})"
    return {"text/plain": said, "text/html": f"<pre>{html.escape(said)}</pre>"}


@_never_raises
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
    names = list(dict.fromkeys(map(str, recs.runs["study"]))) if total else []
    title = f"{', '.join(names) or 'Recordings'}: "
    title += f"{used:,} of {words.count(total, 'run')} used" if total else "no run was recorded"
    counts = _counts(recs)
    head = ["arm", "used", "runs", "discarded because", "turns", "TTFT unknown", "requests", "tokens unknown"]
    cells = [_recordings_cells(arm, counts.get(arm["arm"], {})) for arm in arms]
    lines = _doubts_of(recs)
    where = _place(recs)
    body = [
        markup.table(head, [[markup.text(c) for c in row] for row in cells], right=(1, 2, 4, 5, 6, 7)),
        markup.notes([*lines, *where]),
    ]
    if not arms:
        body = [markup.notes(where)]
    plain = [title, *_columns([head, *cells] if cells else []), *lines, *where]
    return {"text/plain": "\n".join(plain), "text/html": markup.card(title, body)}


def _recordings_cells(arm: Mapping[str, Any], counts: Mapping[str, int]) -> list[str]:
    reasons = ", ".join(f"{code} {n}" for code, n in arm["reasons"].items()) or (
        "unknown" if arm["n_discarded"] else ""
    )
    numbers = [_number(counts.get(name)) for name in ("turns", "no_ttft", "requests", "no_tokens")]
    return [arm["arm"], _number(arm["n_used"]), _number(arm["n_runs"]), reasons or "none", *numbers]


def _number(n: int | None) -> str:
    return "?" if n is None else f"{n:,}"


def _counts(recs: Recordings) -> dict[str, dict[str, int]]:
    """Count rows of used runs by arm; a table that cannot be read leaves its counts unknown."""
    found: dict[str, dict[str, int]] = {}
    for name, column, missing in (
        ("turns", "ttft_ms", "no_ttft"),
        ("requests", "input_total_tokens", "no_tokens"),
    ):
        try:
            frame = recs.table(name)
            frame = frame[frame["eligible"].fillna(value=False).astype(bool)]
            for arm in recs.arms:
                own = frame[frame["arm"] == arm]
                found.setdefault(arm, {}).update({name: len(own), missing: int(own[column].isna().sum())})
        except Exception:  # a table may be damaged; the card still shows the others
            continue
    return found


def _doubts_of(recs: Recordings) -> list[str]:
    """Explain the issues, those that discard a run first."""
    issues = recs.issues
    lines: list[str] = []
    for discard in (True, False):
        chosen = issues[issues["discard"].fillna(value=False).astype(bool) == discard]
        for code, own in chosen.groupby("code", sort=False):
            n = len(own.drop_duplicates(["study", "run_id"]))
            meaning = CODES.get(str(code), "a code of the driver")
            effect = "discarded" if discard else "kept"
            lines.append(f"{code}: {meaning} ({words.count(n, 'run')}, {effect})")
    return lines[:24] + ([f"and {len(lines) - 24} more codes in .issues"] if len(lines) > 24 else [])


def _place(recs: Recordings) -> list[str]:
    """Say where it is, without the way to it: a home folder belongs into no shared notebook."""
    scenario = recs.scenario
    said: list[str] = []
    if scenario is not None:
        turns = len(scenario.get("turns", ()))
        said.append(f"Scenario {scenario.get('name', 'unknown')}, {words.count(turns, 'turn')}")
    return [*said, *(f"Folder {short_path(path)}" for path in recs.paths)]


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


@_never_raises
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
    if status not in ("running", "done"):
        lines.append("The same record(...) call makes the runs that are missing.")
    plain = "\n".join([title, *_columns([head, *cells]), *lines])
    shown = markup.card(title, [markup.table([*head, ""], rows, right=(1, 2, 3, 5)), markup.notes(lines)])
    return {"text/plain": plain, "text/html": shown}


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{rest} s" if not minutes else f"{minutes:,} min {rest:02d} s"


@_never_raises
def estimates_card(frame: pd.DataFrame, *, figure: bool = False) -> Bundle:
    """Show estimates with unit, interval, coverage and doubts in words.

    Parameters
    ----------
    frame : pandas.DataFrame
        As :func:`agentlab.compare` returns it.
    figure : bool, default False
        Whether the figure of :func:`agentlab.plot_estimates` is in it, as an image inside the HTML and as
        ``image/png`` for readers that show no HTML. It costs about half a second.

    Returns
    -------
    dict
        ``text/plain``, ``text/html`` and perhaps ``image/png``.
    """
    rows = read_rows(frame)
    shown = rows[:_MOST_ROWS]
    notes = estimates_caption(rows, drawn=False)
    if len(shown) < len(rows):
        notes.insert(0, f"{len(rows) - len(shown):,} more rows are in the frame.")
    levels = sorted({row.level for row in rows if row.level is not None})
    percent = f"{100 * levels[0]:g} % interval" if len(levels) == 1 else "interval"
    html_parts: list[str] = []
    plain: list[str] = []
    for metric in dict.fromkeys(row.metric for row in shown):
        own = [row for row in shown if row.metric == metric]
        title = _metric_title(own)
        table = [_estimate_cells(row) for row in own]
        bars = _whiskers(own)
        html_parts.append(f'<div style="margin-top:4px">{markup.text(title)}</div>')
        html_parts.append(
            markup.table(
                ["arm", "estimate", percent, "", "stands on", "doubts"],
                [
                    [
                        markup.text(a),
                        f"<b>{markup.text(b)}</b>",
                        markup.text(c),
                        bar,
                        markup.text(d),
                        _badges(row),
                    ]
                    for (a, b, c, d, _), bar, row in zip(table, bars, own, strict=True)
                ],
                right=(1,),
            )
        )
        plain += [title, *_columns([["arm", "estimate", percent, "stands on", "doubts"], *table])]
    title = "Estimates" if rows else "Estimates: nothing could be estimated, there is no run with data"
    bundle = {"text/plain": "\n".join([title, *plain, *notes])}
    picture = _picture(frame) if figure and rows else ""
    if picture:
        html_parts.append(f'<img alt="figure of the estimates" src="data:image/png;base64,{picture}">')
    if any(row.kind != "level" for row in shown):
        notes = ["Small bars: levels stand on one scale, differences on another, with a line at 0.", *notes]
    bundle["text/html"] = markup.card(title, [*html_parts, markup.notes(notes)])
    if picture:
        bundle["image/png"] = picture
    return bundle


def _metric_title(rows: Sequence[Row]) -> str:
    unit = words.unit_of([row for row in rows if row.kind == "level"], "level")
    better = next((f"{row.better} is better" for row in rows if row.better), "")
    return " · ".join(part for part in (words.metric_label(rows[0].metric), unit, better) if part)


def _estimate_cells(row: Row) -> tuple[str, str, str, str, str]:
    sign = {"difference": "−", "ratio": "/"}.get(row.kind)
    name = f"{row.arm} {sign} {row.reference}" if sign else row.arm or "(no arm)"
    doubts = ", ".join(words.doubts(row))
    return name, words.estimate(row), words.interval(row) or "none", words.coverage(row), doubts


def _badges(row: Row) -> str:
    color = markup.BAD if row.status in ("no_data", "invalid") else markup.DOUBT
    return " ".join(markup.badge(doubt, color) for doubt in words.doubts(row))


def _whiskers(rows: Sequence[Row]) -> list[str]:
    """Draw levels on one scale and differences on another."""
    scales = {
        kind: _scale([row for row in rows if row.kind == kind], kind) for kind in {row.kind for row in rows}
    }
    baseline = {"difference": 0.0, "ratio": 1.0}
    return [
        markup.whisker(row.estimate, row.lower, row.upper, scales[row.kind], baseline=baseline.get(row.kind))
        for row in rows
    ]


def _scale(rows: Sequence[Row], kind: str) -> tuple[float, float]:
    ends = [
        e for row in rows for e in (row.estimate, row.lower, row.upper) if e is not None and math.isfinite(e)
    ]
    ends += {"difference": [0.0], "ratio": [1.0]}.get(kind, [])
    if not ends:
        return 0.0, 0.0
    low, high = min(ends), max(ends)
    margin = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
    return low - margin, high + margin


def _picture(frame: pd.DataFrame) -> str:
    """Draw the figure, so small that the card stays below its limit; nothing if that fails."""
    from ..plots.estimates import estimates_png

    for dpi in (110, 80, 60):
        picture = base64.b64encode(estimates_png(frame, dpi=dpi)).decode("ascii")
        if len(picture) < 0.75 * _MOST_BYTES:
            return picture
    return ""


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align text in columns."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
