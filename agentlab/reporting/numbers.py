"""The numbers of a report: estimates with intervals, and medians of what was sent."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UnstableWarning
from ..plots import words
from ..widgets.cards import estimates_card
from .blocks import Block, never_fails, sentences, table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..recording import Recordings

#: What is estimated when nothing is asked for: those of them that have data. Table -> metrics of a study that
#: has rows in it.
_BY_TABLE = {
    "turns": (
        "TTFT", "TURN_LATENCY", "ITL", "CACHE_HIT_RATE", "PREFIX_REUSE", "INPUT_TOKENS", "REQUESTS",
        "TOOL_FAILURES", "COST",
    ),
    "page": ("LONG_TASKS", "TBT", "DROPPED_FRAMES", "INP"),
    "memory": ("MEM_SLOPE", "MEM_INTERCEPT", "PSS_TOTAL", "PAINT", "FIRST_INPUT"),
    "exec": ("EXEC_REPORT", "EXEC_LOST"),
}  # fmt: skip
METRICS = tuple(name for names in _BY_TABLE.values() for name in names)
_MOST_POSITIONS = 12
_MOST_IN_FIGURE = 4
#: column of requests -> heading; medians over the requests at one place in the conversation
_SENT = {
    "input_total_tokens": "input tokens",
    "cache_read_tokens": "cached",
    "output_tokens": "output tokens",
    "ttft_ms": "TTFT ms",
    "canonical_bytes": "bytes",
    "prefix_bytes": "as before",
}


def estimate(recs: Recordings, metrics: Sequence[str] = (), reference: str | None = None) -> pd.DataFrame:
    """Compare the arms in the metrics asked for, or in all named ones that have data.

    Parameters
    ----------
    recs : Recordings
        What was measured.
    metrics : sequence of str
        Names; empty: :data:`METRICS`, without those that no run has data for.
    reference : str, optional
        Arm that others are compared with; default: the first.

    Returns
    -------
    pandas.DataFrame
        As :func:`agentlab.compare` returns it.
    """
    from ..stats.compare import compare

    with warnings.catch_warnings():  # the table and the figure say it
        warnings.simplefilter("ignore", UnstableWarning)
        frame = compare(recs, *(metrics or METRICS), reference=reference)
    if metrics:
        return frame
    told = frame["estimate"].notna() | (frame["status"] == "mixed_setup")
    known = set(frame.loc[told, "metric"])
    return frame[frame["metric"].isin(known)]


@never_fails
def estimates(recs: Recordings, frame: pd.DataFrame, metrics: Sequence[str] = ()) -> Block:
    """Show estimates with intervals and coverage, and name what could not be estimated.

    Parameters
    ----------
    recs : Recordings
        What was measured.
    frame : pandas.DataFrame
        Of :func:`estimate`.
    metrics : sequence of str
        As given there.

    Returns
    -------
    Block
    """
    usual = [name for table, names in _BY_TABLE.items() if len(recs.table(table)) for name in names]
    lost = [name for name in metrics or usual if name not in set(frame["metric"])]
    line = f"Not estimated, because no used run has data for it: {', '.join(lost)}." if lost else ""
    return Block(estimates_card(frame)) + sentences([line])


def figures(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Give the estimates in parts that fit on a page: those with an interval, else with a value, else all.

    Parameters
    ----------
    frame : pandas.DataFrame
        Of :func:`estimate`.

    Yields
    ------
    pandas.DataFrame
    """
    told = frame[frame["lower"].notna() | frame["upper"].notna()]
    known = frame[frame["estimate"].notna()]
    chosen = next((some for some in (told, known) if len(some)), frame)
    metrics = list(dict.fromkeys(chosen["metric"]))
    for at in range(0, len(metrics), _MOST_IN_FIGURE):
        yield frame[frame["metric"].isin(metrics[at : at + _MOST_IN_FIGURE])]


def first_tokens(recs: Recordings) -> Iterator[Axes]:
    """Draw how long answers took to begin, where any used run has one.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Yields
    ------
    matplotlib.axes.Axes
    """
    from ..plots.ttft import plot_ttft
    from ..stats.first import has_data
    from ..stats.metrics import TTFT
    from ..stats.runs import Runs

    if has_data(Runs(recs), TTFT):
        yield plot_ttft(recs)


@never_fails
def requests(recs: Recordings) -> Block:
    """Show what was sent and cached at each place of the conversation; nothing without a request.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    Block
    """
    frame = recs.requests
    used = frame[frame["eligible"].fillna(value=False)]
    main = used[(used["chain"] == "main") & used["position"].notna()]
    if main.empty:
        return sentences([])
    known = {name: head for name, head in _SENT.items() if main[name].notna().any()}
    changed = main["first_changed"].notna().any()
    places = sorted(main["position"].unique())
    rows = [
        _place(own, arm, int(place), known, changed=bool(changed))
        for arm in recs.arms
        for place in places[:_MOST_POSITIONS]
        if len(own := main[(main["arm"] == arm) & (main["position"] == place)])
    ]
    head = ["arm", "request", "runs", *known.values(), *(["first change in"] if changed else [])]
    right = tuple(range(1, 3 + len(known)))
    return table(head, rows, right=right, notes=_said(recs, used, main, known, len(places)))


def _place(own: pd.DataFrame, arm: str, place: int, known: dict[str, str], *, changed: bool) -> list[str]:
    cells = [arm, f"{place:,}", f"{len(own.drop_duplicates(['study', 'run_id'])):,}"]
    for name in known:
        values = own[name].dropna()
        lost = len(own) - len(values)
        middle = float(values.median()) if len(values) else None
        whole = f"{middle:,.0f}" if middle is not None and not name.endswith("_ms") else words.value(middle)
        cells.append("unknown" if middle is None else whole)
        if lost and len(values):
            cells[-1] += f" ({lost:,} unknown)"
    if changed:
        cells.append(", ".join(map(str, own["first_changed"].dropna().unique())))
    return cells


def _said(
    recs: Recordings, used: pd.DataFrame, main: pd.DataFrame, known: dict[str, Any], n_places: int
) -> list[str]:
    lines = [
        "Medians over the requests at that place in the main conversation of each used run, warm-up "
        "included. How sure a number is, only the estimates say.",
        _totals(recs, used),
    ]
    if n_places > _MOST_POSITIONS:
        lines.append(f"Places after the {_MOST_POSITIONS}th are left out; the longest run has {n_places:,}.")
    other = len(used) - len(main)
    if other:
        lines.append(
            f"{words.count(other, 'request')} outside the main conversation (titles, children) left out."
        )
    lost = [head for name, head in _SENT.items() if name not in known]
    if lost:
        lines.append(f"Unknown in this recording: {', '.join(lost)}.")
    if "prefix_bytes" in known:
        lines.append(
            "As before: bytes from the start that are equal to the request before; unknown for the first."
        )
    if main["first_changed"].notna().any():
        lines.append(
            "First change in: the part of the prompt where it first differs from the request before."
        )
    return lines


def _totals(recs: Recordings, used: pd.DataFrame) -> str:
    said: list[str] = []
    for arm in recs.arms:
        own = used[used["arm"] == arm]
        tokens = own["input_total_tokens"].dropna()
        total = f"{int(tokens.sum()):,} input tokens" if len(tokens) else "unknown input tokens"
        lost = f" ({len(own) - len(tokens):,} unknown)" if 0 < len(tokens) < len(own) else ""
        said.append(f"{arm} {words.count(len(own), 'request')}, {total}{lost}")
    return f"All requests of used runs: {'; '.join(said)}."
