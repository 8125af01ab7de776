"""The view's pieces as HTML: used by the live widgets and by the static card alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...issues import CODES
from ...plots import words
from ...plots.rows import Row
from .. import markup
from ..estimates import badges, cells_of, whiskers
from .runs import RunRow
from .scene import Scene, key

if TYPE_CHECKING:
    import pandas as pd

    from ...recording import Recording

_MOST_ROWS = 40
_MOST_EVENTS = 80
#: Too many of a kind to be read; they are in the figure.
_UNLISTED = ("chunk", "request.chunk", "pressure")

#: column -> (heading, digits after the point or None for text)
_TURNS = {
    "turn": ("turn", 0), "ttft_ms": ("TTFT ms", 1), "latency_ms": ("latency ms", 1),
    "n_requests": ("requests", 0), "n_tools": ("tools", 0), "input_total_tokens": ("input", 0),
    "cache_read_tokens": ("cached", 0), "output_tokens": ("output", 0), "warmup": ("warm-up", None),
    "ended": ("ended", None), "reason": ("why unknown", None),
}  # fmt: skip
_REQUESTS = {
    "request": ("request", 0), "turn": ("turn", 0), "chain": ("chain", None), "attempt": ("try", 0),
    "source": ("seen by", None), "ttft_ms": ("TTFT ms", 1), "latency_ms": ("latency ms", 1),
    "input_total_tokens": ("input", 0), "cache_read_tokens": ("cached", 0),
    "output_tokens": ("output", 0), "prefix_share": ("prefix", 3), "cost_usd": ("USD", 5),
    "status": ("status", None), "reason": ("why unknown", None), "ttft_reason": ("why no TTFT", None),
}  # fmt: skip
_EVENTS = {
    "t_ns": ("s", 3), "source": ("seen by", None), "kind": ("event", None), "turn": ("turn", 0),
    "state": ("state", None), "detail": ("detail", None),
}  # fmt: skip


def estimate_cells(scene: Scene, rows: Sequence[Row]) -> list[list[str]]:
    """Write the estimates of one metric.

    Parameters
    ----------
    scene : Scene
        What is shown.
    rows : sequence of Row
        Estimates of one metric.

    Returns
    -------
    list of list of str
        HTML of number, interval, bar, coverage and doubts.
    """
    made: list[list[str]] = []
    for row, bar in zip(rows, whiskers(rows), strict=True):
        _, number, interval, _, _ = map(markup.text, cells_of(row))
        made.append([f"<b>{number}</b>", interval, bar, markup.text(scene.stands_on[key(row)]), badges(row)])
    return made


def run_cells(scene: Scene, rows: Sequence[RunRow]) -> list[list[str]]:
    """Write runs: arm, the value of each with a dot on one scale, state, issues.

    Parameters
    ----------
    scene : Scene
        What is shown; the scale holds all its runs.
    rows : sequence of RunRow
        Those to write.

    Returns
    -------
    list of list of str
        HTML.
    """
    known = [row.value for row in scene.runs if row.value is not None]
    one_size = len({row.n_sessions for row in scene.runs}) < 2
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    margin = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
    made: list[list[str]] = []
    for row in rows:
        value = run_value(scene, row)
        ends = row.value if row.state == "used" else None  # hollow: the estimate does not stand on it
        dot = markup.whisker(row.value, ends, ends, (low - margin, high + margin))
        block = "" if row.block is None else f"block {row.block + 1}"
        arm = row.arm if one_size else f"{row.arm}, {words.count(row.n_sessions or 0, 'session')}"
        other = [code for code in row.issues if code not in row.state]
        state = row.state if row.state == "used" else ""
        doubts = [] if state else [markup.badge(row.state, markup.BAD)]
        doubts += [markup.badge(code) for code in other]
        made.append([markup.text(arm), block, f"<b>{markup.text(value)}</b>", dot, state + " ".join(doubts)])
    return made


def run_value(scene: Scene, row: RunRow) -> str:
    """Write what the picked metric is in one run, with its unit.

    Parameters
    ----------
    scene : Scene
        What is shown.
    row : RunRow
        The run.

    Returns
    -------
    str
    """
    metric = scene.view.estimate[0] if scene.view.estimate else ""
    unit = next((own.unit for group in scene.groups for own in group if own.metric == metric), "")
    return words.estimate(Row(metric=metric, kind="level", arm=row.arm, unit=unit, estimate=row.value))


def run_head(run: Recording) -> tuple[str, list[str]]:
    """Say what a run is and what is doubtful about it.

    Parameters
    ----------
    run : Recording
        One run.

    Returns
    -------
    (str, list of str)
        A title and sentences, plain text.
    """
    use = "eligible" if run.eligible else "discarded: " + ", ".join(run.info.discard_codes)
    title = f"Run {run.run_id}: arm {run.arm}, {run.info.status}, {use}"
    lines = [
        f"{issue.code}: {CODES.get(issue.code, 'a code of the driver')}"
        + (f" ({issue.detail})" if issue.detail else "")
        + (", discards the run" if issue.discard else "")
        for issue in run.issues[:12]
    ]
    if len(run.issues) > len(lines):
        lines.append(f"and {len(run.issues) - len(lines):,} more issues")
    return title, lines


def run_tables(run: Recording, *, events: bool) -> str:
    """Write a run's turns and requests, and perhaps its events.

    Parameters
    ----------
    run : Recording
        One run.
    events : bool
        Whether its events are in it, folded.

    Returns
    -------
    str
        HTML.
    """
    turns, requests = run.table("turns"), run.table("requests")
    parts = [_table(turns, _TURNS, "turn"), _table(requests, _REQUESTS, "request")]
    if events:
        listed = run.table("events")
        listed = listed[~listed["kind"].isin(_UNLISTED)]
        zero = turns["send_ns"].min() if len(turns) else listed["t_ns"].min()
        listed = listed.assign(t_ns=(listed["t_ns"] - zero) / 1e9)
        n = words.count(len(listed), "event")
        table = _table(listed, _EVENTS, "event", most=_MOST_EVENTS)
        summary = (
            f'<summary style="cursor:pointer">{n} besides chunks; s since the first prompt was sent</summary>'
        )
        parts.append(f"<details>{summary}{table}</details>")
    return f'<div style="overflow-x:auto;font-size:92%">{"".join(parts)}</div>'


def _table(
    frame: pd.DataFrame, columns: Mapping[str, tuple[str, int | None]], what: str, *, most: int = _MOST_ROWS
) -> str:
    """Write the columns in which anything is known."""
    if not len(frame):
        return markup.notes([f"No {what}."])
    shown = {name: spec for name, spec in columns.items() if name in frame and frame[name].notna().any()}
    records: list[dict[Any, Any]] = frame.iloc[:most][list(shown)].to_dict("records")
    rows = [
        [markup.text(_write(record[name], digits)) for name, (_, digits) in shown.items()]
        for record in records
    ]
    right = [at for at, (_, digits) in enumerate(shown.values()) if digits is not None]
    more = [f"{len(frame) - most:,} more in the table."] if len(frame) > most else []
    return markup.table([head for head, _ in shown.values()], rows, right=right, narrow=True) + markup.notes(
        more
    )


def _write(value: Any, digits: int | None) -> str:  # noqa: ANN401
    """Write a cell; unknown is a dash, never 0."""
    if str(value) in ("<NA>", "nan", "None"):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if digits is not None and math.isfinite(value):
        return f"{value:,.{digits}f}"
    text = str(value)
    return text if len(text) <= 90 else text[:89] + "…"
