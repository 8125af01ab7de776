"""What stands under a figure of estimates: intervals, coverage, flags, reasons."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, cast

from . import words
from .rows import Row

if TYPE_CHECKING:
    import pandas as pd


def estimates_caption(rows: list[Row], *, drawn: bool = True) -> list[str]:
    """Say how estimates were made and what is behind them.

    Parameters
    ----------
    rows : list of Row
        What is shown.
    drawn : bool
        Whether there are bars, arrows and markers to be explained.

    Returns
    -------
    list of str
        One paragraph each; empty for no rows.
    """
    sentences = [
        _bars(rows, drawn=drawn),
        _runs(rows),
        _blocks(rows),
        _missing(rows),
        _flags(rows),
        *_reasons(rows),
    ]
    return [sentence for sentence in sentences if sentence]


def noted(frame: pd.DataFrame) -> list[str]:
    """Return what whoever made a frame wants to be said under its figure, e.g. which filter was on.

    Parameters
    ----------
    frame : pandas.DataFrame
        Sentences stand in ``frame.attrs["agentlab"]["notes"]``.

    Returns
    -------
    list of str
    """
    about: Any = getattr(frame, "attrs", {}).get("agentlab")
    notes: Any = cast("dict[str, Any]", about).get("notes") if isinstance(about, dict) else None
    return [str(note) for note in cast("list[Any]", notes)] if isinstance(notes, list) else []


def _bars(rows: list[Row], *, drawn: bool) -> str:
    levels = sorted({row.level for row in rows if row.level is not None and row.has_interval})
    said: list[str] = []
    if any(row.has_interval for row in rows):
        percent = " and ".join(f"{100 * level:g} %" for level in levels) or "of unknown level,"
        said.append(f"{'Bars: ' if drawn else ''}{percent} intervals over runs ({_methods(rows)}).")
        if lines := [name for name in dict.fromkeys(row.metric for row in rows) if words.is_line(name)]:
            said.append(f"{', '.join(lines)}: lines through runs, of which whole blocks are the units.")
    if drawn and any(row.open_lower or row.open_upper for row in rows):
        said.append("Arrow: the end is not known.")
    if drawn and any(row.estimate is not None and not row.has_interval for row in rows):
        said.append("Hollow: no interval, for the reason beside it.")
    return " ".join(said)


def _methods(rows: list[Row]) -> str:
    """Name the interval methods: once for all metrics that share them."""
    by_metric: dict[str, list[str]] = {}
    for row in rows:
        if row.interval and row.has_interval:
            name = f"{row.kind}s {words.INTERVALS.get(row.interval, row.interval)}"
            found = by_metric.setdefault(row.metric, [])
            if name not in found:
                found.append(name)
    metrics: dict[str, list[str]] = {}
    for metric, names in by_metric.items():
        metrics.setdefault(", ".join(names), []).append(metric)
    if len(metrics) <= 1:
        return next(iter(metrics), "method not named")
    return "; ".join(f"{', '.join(group)}: {names}" for names, group in metrics.items())


def _runs(rows: list[Row]) -> str:
    """Say the runs used and discarded by arm; where metrics disagree, the range."""
    parts: list[str] = []
    for arm in dict.fromkeys(row.arm for row in rows if row.kind == "level" and row.arm):
        own = [row for row in rows if row.arm == arm and row.kind == "level"]
        used = sorted({row.n_runs for row in own if row.n_runs is not None})
        discarded = max((row.n_discarded or 0 for row in own), default=0)
        runs = "unknown" if not used else f"{used[0]}" if len(used) == 1 else f"{used[0]} to {used[-1]}"
        parts.append(f"{arm}\u00a0{runs}" + (f" ({discarded}\u00a0discarded)" if discarded else ""))
    return f"Runs used: {', '.join(parts)}." if parts else ""


def _blocks(rows: list[Row]) -> str:
    """Say how differences were paired, and which blocks they lost."""
    others = [row for row in rows if row.kind != "level"]
    said: list[str] = []
    if any(row.paired for row in others):
        dropped = {
            f"{row.arm} {row.n_blocks_dropped}" for row in others if row.paired and row.n_blocks_dropped
        }
        lost = f" (blocks dropped: {', '.join(sorted(dropped))})" if dropped else " (no block dropped)"
        said.append(f"Differences are paired by block{lost}.")
    if any(row.paired is False for row in others):
        said.append("Differences are unpaired." if not said else "Some differences are unpaired.")
    return " ".join(said)


def _missing(rows: list[Row]) -> str:
    parts = [
        f"{row.metric}, {row.arm}\u00a0{row.n_missing:,}"
        for row in rows
        if row.kind == "level" and row.n_missing
    ]
    return f"Unknown values left out: {'; '.join(parts)}." if parts else ""


def _flags(rows: list[Row]) -> str:
    flags = words.explain(rows)
    return f"Flags: {'; '.join(flags)}." if flags else ""


def _reasons(rows: list[Row]) -> list[str]:
    """Give the reasons that say more than the words beside the numbers."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for row in rows:
        told = row.status in ("degenerate", "too_few_runs") or words.STATUSES.get(row.status) == row.reason
        if row.reason and not told:
            metrics, arms = found.setdefault(row.reason, ([], []))
            metrics.append(row.metric)
            arms.append(row.arm)
    said: list[str] = []
    for reason, (metrics, arms) in found.items():
        of = ", ".join(arm for arm in dict.fromkeys(arms) if arm)
        what = ", ".join(dict.fromkeys(metrics)) + (f" of {of}" if of else "")
        said.append(textwrap.shorten(f"{what}: {reason}", 240, placeholder=" …"))
    return said
