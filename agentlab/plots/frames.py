"""The figure of frames: per run a strip of what was shown, shown in part, and dropped."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from . import words
from .canvas import caption, caption_height, new_figure, remember
from .lanes_browser import STATES, frame_spans
from .marks import HEIGHT, MANY, Marks, draw_bars, draw_shares
from .style import FAINT, INK, MUTED, dress, style
from .webruns import WebRuns, web_runs

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..recording import Recordings

_WIDTH = 7.4
_NEEDED = ("arm", "run_id", "t_ms", "state", "dropped")
#: More strips than these cannot be told apart on a page.
_MOST = 40


@dataclasses.dataclass(frozen=True, eq=False)
class _Strip:
    arm: str
    run_id: str
    marks: tuple[Marks, ...]
    note: str


def plot_frames(recs_or_frames: Recordings | pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the frames of each run while the answer streams: a strip a run, in time.

    A frame in which nothing was to be shown is no frame here, and leaves a gap. Runs whose page was hidden
    have none that is known, and are said.

    Parameters
    ----------
    recs_or_frames : Recordings or pandas.DataFrame
        Recordings, or their table `frames`.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        Seconds since the prompt on the x axis.

    Raises
    ------
    ConfigError
        If it is neither Recordings nor a table of frames. Recordings without frames are drawn, with the
        reason.

    Examples
    --------
    >>> import pandas as pd
    >>> frames = pd.DataFrame({"arm": "a", "run_id": "1", "t_ms": [0.0, 17.0],
    ...                        "state": ["presented", "dropped"], "dropped": [False, True]})
    >>> plot_frames(frames).get_xlabel()
    's since the prompt was sent'
    """
    found = web_runs(recs_or_frames, "frames", _NEEDED, "plot_frames")
    strips = [strip for arm in found.arms for strip in _strips(found, arm)]
    with style():
        target = _draw(strips, found, ax) if strips else _empty(found, ax)
    remember(target, "plot_frames", {"arms": found.arms, "studies": found.studies})
    return target


def _strips(found: WebRuns, arm: str) -> list[_Strip]:
    rows, run, _ = found.streamed(arm)
    strips: list[_Strip] = []
    for code in dict.fromkeys(run.tolist()):
        own = rows[run == code]
        begin = own["t_ms"].to_numpy(dtype=float, na_value=float("nan")) / 1e3
        spans = frame_spans(begin, own)
        n = {state: len(at) for state, (at, _) in spans.items()}
        if sum(n.values()):
            marks = tuple(Marks(STATES[state], *ends) for state, ends in spans.items())
            strips.append(_Strip(arm, str(own["run_id"].iloc[0]), marks, _note(n)))
    return strips


def _note(n: dict[str, int]) -> str:
    wanted = sum(n.values())
    return f"{words.value(100 * n['dropped'] / wanted)} % of {wanted:,} dropped"


def _draw(strips: list[_Strip], found: WebRuns, ax: Axes | None) -> Axes:
    shown = strips[:_MOST]
    notes = _notes(strips, found)
    target = ax
    if target is None:
        height = 1.0 + 0.27 * len(shown) + caption_height(notes, _WIDTH)
        target = new_figure(_WIDTH, height).add_subplot()
    dress(target)
    last = max(float(mark.end.max()) for strip in shown for mark in strip.marks if len(mark))
    target.set_xlim(-0.005 * last, 1.005 * last)
    target.set_ylim(len(shown) - 1 + 0.16, -HEIGHT - 0.16)
    for y, strip in enumerate(shown):
        _draw_strip(target, y, strip)
        if y and strip.arm != shown[y - 1].arm:
            target.axhline(y - 1 + 0.13, color=FAINT, linewidth=0.8, zorder=0)
    target.set_yticks([y - HEIGHT / 2 for y in range(len(shown))], labels=[_name(s) for s in shown])
    target.tick_params(axis="y", length=0, labelsize=7.5)
    target.spines["left"].set_visible(False)
    target.set_xlabel("s since the prompt was sent")
    _legend(target)
    caption(target, notes, own=ax is None)
    return target


def _draw_strip(ax: Axes, y: float, strip: _Strip) -> None:
    marks = [mark for mark in strip.marks if len(mark)]
    if sum(map(len, marks)) > MANY:
        draw_shares(ax, y, marks)
    else:
        for mark in marks:
            draw_bars(ax, y, mark, 1)
    ax.annotate(
        strip.note, (1.0, y - HEIGHT / 2), xycoords=ax.get_yaxis_transform(), xytext=(5, 0),
        textcoords="offset points", va="center", ha="left", fontsize=6.8, color=MUTED, annotation_clip=False,
    )  # fmt: skip


def _name(strip: _Strip) -> str:
    name = strip.run_id if strip.arm in strip.run_id else f"{strip.arm}, {strip.run_id}"
    return name if len(name) < 34 else f"{name[:32]} …"


def _legend(ax: Axes) -> None:
    from matplotlib.patches import Patch

    handles: list[Any] = [Patch(facecolor=tone.color, label=tone.name) for tone in STATES.values()]
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(handles), fontsize=7.5,
        borderaxespad=0.3, handlelength=1.2, handletextpad=0.4, columnspacing=1.4, frameon=False,
    )  # fmt: skip


def _notes(strips: list[_Strip], found: WebRuns) -> list[str]:
    said = (
        "Frames that begin while the answer streams and in which something was to be shown, each to the next "
        "one, at most 50 ms."
    )
    if len(strips) > _MOST:
        said += f" The first {_MOST} of {len(strips):,} runs are drawn."
    if "reason" in found.rows:
        hidden = found.rows[found.rows["reason"].isin(["page_hidden", "page_frames_dead"])]
        n = len(hidden.drop_duplicates("run_id"))
        said += f" {words.count(n, 'run')} whose page was hidden: frames are unknown." if n else ""
    return [said, *found.coverage]


def _empty(found: WebRuns, ax: Axes | None) -> Axes:
    target = ax if ax is not None else new_figure(_WIDTH, 1.4).add_subplot()
    target.set_axis_off()
    target.text(
        0.5, 0.5, "Nothing to draw: no frame of a page that was to show something.", ha="center", va="center",
        transform=target.transAxes, color=INK,
    )  # fmt: skip
    caption(target, found.coverage, own=ax is None)
    return target
