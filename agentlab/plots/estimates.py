"""The figure of ESTIMATES: levels with intervals per arm, and the differences beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..errors import ConfigError
from .canvas import caption, caption_height, estimates_origin, new_figure, remember
from .captions import estimates_caption, noted
from .intervals import Slot, draw_panel
from .rows import Row, read_rows
from .style import ArmStyle, arm_styles, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..recording import Recordings

Kind = Literal["level", "difference", "ratio"]

_WIDTHS = {1: 5.6, 2: 7.4, 3: 10.4}
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
    frame: Any = estimates if hasattr(estimates, "to_dict") else _compare(estimates, metrics, reference)
    if len(frame.columns) and "estimate" not in frame:
        raise ConfigError(
            "plot_estimates(DataFrame): it has no column `estimate`; give what compare(recs, ...) returned, "
            "or the Recordings"
        )
    return _plot(frame, _kinds(kinds), ax=ax, shown=True)


def estimates_png(frame: pd.DataFrame, *, dpi: int = 100) -> bytes:
    """Draw estimates into a PNG, e.g. for a card; nothing else is shown.

    Parameters
    ----------
    frame : pandas.DataFrame
        As :func:`agentlab.compare` returns it.
    dpi : int
        Pixels an inch.

    Returns
    -------
    bytes
    """
    from .export import png

    return png(hidden_estimates(frame), dpi=dpi)


def hidden_estimates(frame: pd.DataFrame) -> Axes:
    """Draw the figure of :func:`plot_estimates` where no notebook shows it, e.g. to be saved.

    Parameters
    ----------
    frame : pandas.DataFrame
        As :func:`agentlab.compare` returns it.

    Returns
    -------
    matplotlib.axes.Axes
        The first panel.
    """
    return _plot(frame, ("level", "difference"), ax=None, shown=False)


def _plot(frame: pd.DataFrame, chosen: tuple[str, ...], *, ax: Axes | None, shown: bool) -> Axes:
    rows = [row for row in read_rows(frame) if row.kind in chosen]
    panels = _panels(rows, chosen)
    if ax is not None and len(panels) > 1:
        raise ConfigError(
            f"plot_estimates(ax=...): one Axes holds one panel, but there are {len(panels)} "
            f"({', '.join(f'{m} {k}' for m, k in panels)}): select one metric and one of kinds={chosen}"
        )
    styles = arm_styles([row.arm for row in read_rows(frame)])
    notes = [*estimates_caption(rows), *noted(frame)]
    with style():
        first = _draw(rows, panels, chosen, styles, notes, ax, shown=shown)
    origin = estimates_origin(getattr(frame, "attrs", {}), rows)
    remember(first, "plot_estimates", {**origin, "kinds": list(chosen)})
    return first


def _kinds(kinds: Any) -> tuple[str, ...]:  # noqa: ANN401
    given = (kinds,) if isinstance(kinds, str) else kinds
    chosen = tuple(dict.fromkeys(given)) if isinstance(given, Iterable) else ()
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
    notes: list[str],
    ax: Axes | None,
    *,
    shown: bool,
) -> Axes:
    if not panels:
        return _empty(ax, kinds, shown=shown)
    slots = {panel: _slots(rows, *panel) for panel in panels}
    axes = [ax] if ax is not None else _axes(panels, slots, notes, shown=shown)
    for i, (metric, kind) in enumerate(panels):
        beside = i > 0 and panels[i - 1][0] == metric
        draw_panel(axes[i], slots[metric, kind], kind=kind, metric=metric, styles=styles, beside=beside)
    caption(axes[0], notes, own=ax is None)
    return axes[0]


def _axes(
    panels: list[tuple[str, str]], slots: dict[tuple[str, str], list[Slot]], notes: list[str], *, shown: bool
) -> list[Axes]:
    """Make a figure as high as its text needs: a row of panels per metric, a column per kind."""
    columns = len({kind for _, kind in panels})
    width = _WIDTHS[columns]
    heights = [
        max(len(slots[p]) * max(slot.height for slot in slots[p]) for p in panels[i : i + columns])
        for i in range(0, len(panels), columns)
    ]
    height = sum(heights) + len(heights) * _PANEL + caption_height(notes, width)
    figure = new_figure(width, height, shown=shown)
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    return [figure.add_subplot(grid[i // columns, i % columns]) for i in range(len(panels))]


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


def _empty(ax: Axes | None, kinds: tuple[str, ...], *, shown: bool) -> Axes:
    target = ax if ax is not None else new_figure(5.6, 1.6, shown=shown).add_subplot()
    target.set_axis_off()
    what = " or ".join(kinds)
    target.text(
        0.5, 0.5, f"Nothing to draw: the frame holds no {what}.\nNo run with data, or all were discarded.",
        ha="center", va="center", transform=target.transAxes, color="#404040",
    )  # fmt: skip
    return target
