"""The figure of ESTIMATES: levels with intervals per arm, and the differences beside them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..errors import ConfigError
from . import words
from .canvas import caption, caption_height, estimates_origin, new_figure, remember
from .intervals import Slot, draw_panel
from .rows import Row, read_rows
from .style import ArmStyle, arm_styles, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..recording import Recordings

Kind = Literal["level", "difference", "ratio"]

_WIDTH = 7.4
_ROW = 0.42
_PANEL = 0.78


def plot_estimates(
    estimates: pd.DataFrame | Recordings,
    *,
    ax: Axes | None = None,
    kinds: Kind | Iterable[Kind] = ("level", "difference"),
    metrics: Sequence[Any] = (),
    reference: str | None = None,
) -> Axes:
    """Draw levels with their intervals per arm, and beside them the differences from the reference.

    Each metric is one row of panels and each arm one line in it. What stands behind a number (runs, discarded
    runs, missing values, flags) is written beside it, how it was computed below the figure. A number without
    interval is a hollow marker and says why; an end that is not known is an arrow.

    Parameters
    ----------
    estimates : pandas.DataFrame or Recordings
        A frame of :func:`agentlab.compare`. Recordings are compared first, with `metrics` and `reference`.
    ax : matplotlib.axes.Axes, optional
        Where to draw one panel; then the rows must be of one metric and one kind.
    kinds : {"level", "difference", "ratio"} or several of them
        Which columns of panels to draw.
    metrics : sequence of Metric
        For recordings only; default TTFT and CACHE_HIT_RATE.
    reference : str, optional
        For recordings only; the arm that others are compared with.

    Returns
    -------
    matplotlib.axes.Axes
        The first panel (levels of the first metric); the others are in ``ax.figure.axes``, metric by metric.

    Raises
    ------
    ConfigError
        If `kinds` is not known, or `ax` is given for more than one panel. A frame without data is drawn,
        with the reason.

    Examples
    --------
    >>> from agentlab.testing.estimates import estimates_frame
    >>> ax = plot_estimates(estimates_frame(arms=("stable", "volatile")))
    >>> len(ax.figure.axes)
    2
    """
    chosen = _kinds(kinds)
    frame = estimates if hasattr(estimates, "to_dict") else _compare(estimates, metrics, reference)
    rows = [row for row in read_rows(frame) if row.kind in chosen]  # pyright: ignore[reportArgumentType]
    panels = _panels(rows, chosen)
    if ax is not None and len(panels) > 1:
        raise ConfigError(
            f"plot_estimates(ax=...): one Axes holds one panel, but there are {len(panels)} "
            f"({', '.join(f'{m} {k}' for m, k in panels)}): select one metric and one of kinds={chosen}"
        )
    styles = arm_styles([row.arm for row in read_rows(frame)])  # pyright: ignore[reportArgumentType]
    with style():
        first = _draw(rows, panels, chosen, styles, ax)
    origin = estimates_origin(getattr(frame, "attrs", {}), rows)
    remember(first, "plot_estimates", {**origin, "kinds": list(chosen)})
    return first


def _kinds(kinds: str | Iterable[str]) -> tuple[str, ...]:
    chosen = (kinds,) if isinstance(kinds, str) else tuple(dict.fromkeys(kinds))
    known = get_args(Kind)
    if not chosen or any(kind not in known for kind in chosen):
        raise ConfigError(
            f"plot_estimates(kinds={kinds!r}): write one or more of {', '.join(map(repr, known))}"
        )
    return chosen


def _compare(recordings: Any, metrics: Sequence[Any], reference: str | None) -> pd.DataFrame:  # noqa: ANN401
    from ..stats.compare import compare

    if not metrics:
        from ..stats.metrics import CACHE_HIT_RATE, TTFT

        metrics = (TTFT, CACHE_HIT_RATE)
    return compare(recordings, *metrics, reference=reference)


def _panels(rows: list[Row], kinds: tuple[str, ...]) -> list[tuple[str, str]]:
    """List the panels as (metric, kind): a rectangle, without columns in which nothing is."""
    present = [kind for kind in kinds if any(row.kind == kind for row in rows)]
    return [(metric, kind) for metric in dict.fromkeys(row.metric for row in rows) for kind in present]


def _draw(
    rows: list[Row],
    panels: list[tuple[str, str]],
    kinds: tuple[str, ...],
    styles: dict[str, ArmStyle],
    ax: Axes | None,
) -> Axes:
    notes = _caption(rows)
    if not panels:
        return _empty(ax, kinds)
    slots = {panel: _slots(rows, *panel) for panel in panels}
    if ax is not None:
        axes = [ax]
    else:
        metrics, columns = len({m for m, _ in panels}), len({k for _, k in panels})
        heights = [
            max(len(slots[p]) for p in panels[i : i + columns]) for i in range(0, len(panels), columns)
        ]
        height = sum(heights) * _ROW + metrics * _PANEL + caption_height(notes, _WIDTH)
        figure = new_figure(_WIDTH if columns > 1 else 5.6, max(1.8, height))
        grid = figure.add_gridspec(metrics, columns, height_ratios=heights)
        axes = [figure.add_subplot(grid[i // columns, i % columns]) for i in range(len(panels))]
    for i, panel in enumerate(panels):
        beside = i > 0 and panels[i - 1][0] == panel[0]
        draw_panel(axes[i], slots[panel], kind=panel[1], metric=panel[0], styles=styles, beside=beside)
    caption(axes[0], notes, own=ax is None)
    return axes[0]


def _slots(rows: list[Row], metric: str, kind: str) -> list[Slot]:
    """Give each arm its line; with several references, each pair."""
    own = [row for row in rows if row.metric == metric]
    found = [row for row in own if row.kind == kind]
    references = {row.reference for row in found if row.reference}
    if kind != "level" and len(references) > 1:
        return [
            Slot(f"{r.arm} − {r.reference}" if kind == "difference" else f"{r.arm} / {r.reference}", r.arm, r)
            for r in found
        ]
    by_arm = {row.arm: row for row in found}
    arms = dict.fromkeys([*(row.arm for row in own if row.kind == "level"), *by_arm])
    return [Slot(arm, arm, by_arm.get(arm), is_reference=arm in references) for arm in arms]


def _empty(ax: Axes | None, kinds: tuple[str, ...]) -> Axes:
    target = ax if ax is not None else new_figure(5.6, 1.6).add_subplot()
    target.set_axis_off()
    what = " or ".join(kinds)
    target.text(
        0.5, 0.5, f"Nothing to draw: the frame holds no {what}.\nNo run with data, or all were discarded.",
        ha="center", va="center", transform=target.transAxes, color="#404040",
    )  # fmt: skip
    return target


def _caption(rows: list[Row]) -> list[str]:
    notes: list[str] = []
    level = sorted({row.level for row in rows if row.level is not None and row.has_interval})
    if level:
        percent = " and ".join(f"{100 * value:g} %" for value in level)
        notes.append(f"Bars: {percent} intervals over runs ({_methods(rows)}). Hollow: no interval.")
    elif rows:
        notes.append("Hollow: no interval, for the reason beside it.")
    sentence = _totals(rows)
    if sentence:
        notes.append(sentence)
    flags = words.explain(rows)
    if flags:
        notes.append("Flags: " + "; ".join(flags) + ".")
    reasons = [f"{row.metric}, {row.arm}: {row.reason}" for row in rows if row.reason and row.status != "ok"]
    notes.extend(textwrap.shorten(reason, 220, placeholder=" …") for reason in dict.fromkeys(reasons))
    return notes


def _methods(rows: list[Row]) -> str:
    by_metric: dict[str, list[str]] = {}
    for row in rows:
        if row.interval and row.has_interval:
            found = by_metric.setdefault(row.metric, [])
            name = row.interval.replace("_", " ")
            if name not in found:
                found.append(name)
    if len({tuple(names) for names in by_metric.values()}) == 1:
        return ", ".join(next(iter(by_metric.values())))
    return "; ".join(f"{metric}: {', '.join(names)}" for metric, names in by_metric.items()) or "not named"


def _totals(rows: list[Row]) -> str:
    """Sum up runs by arm; where metrics disagree, the range."""
    parts: list[str] = []
    for arm in dict.fromkeys(row.arm for row in rows if row.kind == "level"):
        own = [row for row in rows if row.arm == arm and row.kind == "level"]
        used = sorted({row.n_runs for row in own if row.n_runs is not None})
        discarded = max((row.n_discarded or 0 for row in own), default=0)
        runs = f"{used[0]}" if len(used) == 1 else f"{used[0]} to {used[-1]}" if used else "unknown"
        parts.append(f"{arm} {runs}" + (f" ({discarded} discarded)" if discarded else ""))
    return f"Runs used: {', '.join(parts)}." if parts else ""
