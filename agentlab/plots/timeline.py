"""The figure of one run: what happened when, in lanes over one axis of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from . import words
from .canvas import caption, caption_height, new_figure, remember
from .lane import Lane
from .lanes import OPEN, TONES, lanes_of
from .marks import (
    HEIGHT,
    MANY,
    Marks,
    draw_bars,
    draw_counts,
    draw_curve,
    draw_shares,
    draw_ticks,
    n_columns,
)
from .runtables import RunTables
from .style import FAINT, INK, MUTED, dress, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..recording import Recording, Recordings

_WIDTH = 7.4
_COLUMNS = 5


def plot_timeline(run: Recording | Recordings, *, ax: Axes | None = None) -> Axes:
    """Draw one run in time: turns, model requests of both sides, tools, chunks, its page, events and issues.

    Of a page in a browser there are the text as it came and was painted, the tasks of its main thread,
    frames, what was typed, and the heap; with sampled memory also that of all processes. Sessions on
    terminals show how they started, commands their calls until the close.

    Time runs from the moment the first prompt was sent. Whatever the number of chunks or calls, none is
    lost: more than can be told apart are counted by pixel, and no pixel in which anything happened is empty.

    Parameters
    ----------
    run : Recording or Recordings
        A run, e.g. ``recs[0]``; or Recordings that hold one, e.g. ``recs.where(run_id="0003-stable")``.
        Discarded and unfinished runs are drawn too, and say so.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        Seconds on the x axis.

    Raises
    ------
    ConfigError
        If it is no run, or more than one.

    Examples
    --------
    >>> import agentlab as al
    >>> ax = plot_timeline(al.load(al.example("cache"))[0])
    >>> ax.get_xlabel()
    's since the first prompt was sent'
    """
    one = _one(run)
    tables = RunTables(one)
    lanes = lanes_of(tables)
    notes = _caption(one, tables, lanes)
    with style():
        target = ax
        if target is None:
            height = 1.2 + 0.36 * len(lanes) + caption_height(notes, _WIDTH)
            target = new_figure(_WIDTH, height).add_subplot()
        _draw(target, one, tables, lanes)
        caption(target, notes, own=ax is None)
    origin = {"arms": [one.arm], "studies": [{"name": one.info.study}], "runs": [one.run_id]}
    remember(target, "plot_timeline", origin)
    return target


def _one(run: Any) -> Recording:  # noqa: ANN401
    if hasattr(run, "info") and hasattr(run, "table"):
        return run
    if not hasattr(run, "coverage"):
        raise ConfigError(f"plot_timeline({type(run).__name__}): give a run, e.g. recs[0]")
    if len(run) == 1:
        return run[0]
    if not len(run):
        raise ConfigError("plot_timeline(recs): there is no run in it")
    some = ", ".join(repr(one.run_id) for one in run[:3]) + (", ..." if len(run) > 3 else "")
    raise ConfigError(
        f"plot_timeline(recs): {len(run):,} runs, and it draws one. Choose by place, recs[0], or by id, "
        f"recs.where(run_id={run[0].run_id!r}); there are {some}"
    )


def _draw(ax: Axes, run: Recording, tables: RunTables, lanes: list[Lane]) -> None:
    dress(ax)
    ax.set_xlim(*_limits(tables, lanes))
    ax.set_ylim(len(lanes) - 1 + 0.16, -HEIGHT - 0.16)
    for y, lane in enumerate(lanes):
        draw_lane(ax, y, lane)
        ax.axhline(y + 0.13, color=FAINT, linewidth=0.5, zorder=0)
    ax.set_yticks([y - HEIGHT / 2 for y in range(len(lanes))], labels=[lane.name for lane in lanes])
    ax.tick_params(axis="y", length=0, labelsize=7.5)
    ax.spines["left"].set_visible(False)
    if tables.zero_ns is None:
        ax.set_xticks([])
        ax.set_xlabel("This recording holds no times.")
    else:
        ax.set_xlabel("s since the first prompt was sent" if tables.n_prompts else "s since the run began")
    rows = _legend(ax, lanes)
    ax.set_title(_title(run), loc="left", fontsize=8.5, pad=4 + 13 * rows)


def _limits(tables: RunTables, lanes: list[Lane]) -> tuple[float, float]:
    ends = [end for lane in lanes for end in lane.ends]
    low = min([0.0, *ends])
    high = max([1e-3, *ends]) if ends else max(1e-3, tables.end)
    return low - 0.008 * (high - low), high + 0.008 * (high - low)


def draw_lane(ax: Axes, y: float, lane: Lane) -> None:
    """Draw one lane: its marks one by one or counted by pixel, and its words.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where, with its limits set; the y axis grows downwards by 1 a lane.
    y : float
        Bottom of the lane.
    lane : Lane
        What.
    """
    marks = [mark for mark in lane.marks if len(mark)]
    note = lane.note
    if lane.curve is not None:
        draw_curve(ax, y, lane.curve)
    elif not marks:
        ax.text(
            0.006, y - HEIGHT / 2, lane.why, transform=ax.get_yaxis_transform(), ha="left", va="center",
            fontsize=7, color=MUTED, style="italic",
        )  # fmt: skip
    elif lane.ticks and len(lane) > n_columns(ax) // 4:
        note += f",\n{_draw_dense(ax, y, marks)}"
    elif lane.ticks:
        draw_ticks(ax, y, marks)
    elif len(lane) > MANY:
        draw_shares(ax, y, marks)
        note += ",\nheight: busy share"
    else:
        n_rows = 1 + max((int(mark.row.max()) for mark in marks if mark.row is not None), default=0)
        for mark in marks:
            draw_bars(ax, y, mark, n_rows)
    ax.annotate(
        note if marks or lane.curve else "", (1.0, y - HEIGHT / 2), xycoords=ax.get_yaxis_transform(),
        xytext=(5, 0), textcoords="offset points", va="center", ha="left", fontsize=6.6, color=MUTED,
        annotation_clip=False,
    )  # fmt: skip


def _draw_dense(ax: Axes, y: float, marks: list[Marks]) -> str:
    """Draw numbers by column; return what is said of their scale."""
    most = draw_counts(ax, y, marks)
    low, high = ax.get_xlim()
    return f"most: {most:,.0f} in {words.value(1e3 * (high - low) / n_columns(ax))} ms"


def _title(run: Recording) -> str:
    info = run.info
    verdict = "used" if run.eligible else f"discarded: {', '.join(info.discard_codes)}"
    said = f"{info.study} · {run.run_id} · arm {run.arm}\n{info.status}, {verdict}"
    return "\n".join(line if len(line) < 96 else f"{line[:94]} …" for line in said.split("\n"))


def _legend(ax: Axes, lanes: list[Lane]) -> int:
    """Name the tones that occur, row by row; return the number of rows."""
    from matplotlib.patches import Patch

    used = {tone for lane in lanes for tone in lane.tones}
    tones = [tone for tone in TONES if tone in used]
    if not tones:
        return 0
    n_rows = -(-len(tones) // _COLUMNS)
    n_columns = -(-len(tones) // n_rows)
    # matplotlib fills columns first, and people read rows
    ordered = [tone for column in range(n_columns) for tone in tones[column::n_columns]]
    handles = [
        Patch(facecolor=t.color, edgecolor=INK if t.hatch else t.color, hatch=t.hatch, label=t.name)
        for t in ordered
    ]
    legend = ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=n_columns, fontsize=6.8,
        borderaxespad=0.2, handlelength=1.2, handletextpad=0.4, columnspacing=1.2, frameon=False,
    )  # fmt: skip
    legend.set_in_layout(
        False
    )  # the title above leaves its room; measuring it again costs a tenth of the figure
    return n_rows


def _caption(run: Recording, tables: RunTables, lanes: list[Lane]) -> list[str]:
    notes = [
        "Turns: prompt sent to reply complete, to the session's idle event. Requests by the gateway: body "
        "read, first and last chunk of any kind written. By the agent: its message made (its clock, whole "
        "ms), first and last text or reasoning received, or its tool call. A chunk is no token."
    ]
    names = {lane.name for lane in lanes}
    if "turns" not in names:
        notes = []
    if "sessions" in names:
        notes.append(
            "Sessions: started to first paint, to the first input that shows on the rendered screen."
        )
    if "main\nthread" in names:
        notes.append(
            "Main thread: tasks of the page (wall time) in the measured window. Frames: those in which "
            "something was to be shown, to the next one, at most 50 ms."
        )
    if "commands" in names:
        notes.append(
            "Commands: first call to close. Calls: made to returned; a close is drawn where output was lost."
        )
    if "memory" in names:
        notes.append("Memory: of all processes of the run, daemons that left the tree included.")
    if any(mark.tone is OPEN and len(mark) for lane in lanes for mark in lane.marks):
        notes.append("What has no end in the recording is drawn to its last stamp.")
    return notes
