"""The figure of long tasks: how many tasks of a run blocked the page for at least so long."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ConfigError
from . import words
from .arms import arm_legend
from .canvas import caption, caption_height, new_figure, remember
from .style import INK, MUTED, arm_styles, dress, style
from .webruns import WebRuns, web_runs

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..recording import Recordings
    from ..stats.tail import Tail

_WIDTH, _HEIGHT = 7.4, 3.4
#: From here on a task is long: what a person notices as a delay (W3C Long Tasks).
LONG_MS = 50.0
_LEAST_MS = 1.0
_COLUMNS = {"wall": "duration_ms", "cpu": "cpu_ms"}


@dataclasses.dataclass(frozen=True, eq=False)
class _Line:
    arm: str
    time: str
    tail: Tail
    n_unknown: int


def plot_long_tasks(
    recs_or_tasks: Recordings | pd.DataFrame,
    *,
    time: Literal["both", "wall", "cpu"] = "both",
    ax: Axes | None = None,
) -> Axes:
    """Draw how many tasks of a run last at least so long, by arm.

    Where a line crosses 50 ms it stands at the long tasks per run. Tasks are those of the page's main thread
    that begin while the answer streams; those without an end in the trace are counted beside it.

    Parameters
    ----------
    recs_or_tasks : Recordings or pandas.DataFrame
        Recordings, or their table `tasks`. A lone table does not know runs without any task.
    time : {"both", "wall", "cpu"}
        ``"wall"``: how long the page could not react; ``"cpu"``: what its code cost. On a busy machine the
        first holds the waiting for a processor too. ``"both"``: wall bold, CPU thin.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        Duration in ms on the x axis and tasks per run on the y axis, both logarithmic.

    Raises
    ------
    ConfigError
        If it is neither Recordings nor a table of tasks, or `time` is another word. Recordings without tasks
        are drawn, with the reason.

    Examples
    --------
    >>> import pandas as pd
    >>> tasks = pd.DataFrame({"arm": "a", "run_id": "1", "duration_ms": [3.0, 80.0], "cpu_ms": [2.0, 40.0]})
    >>> plot_long_tasks(tasks).get_ylabel()
    'tasks per run that last at least so long'
    """
    if time not in ("both", *_COLUMNS):
        raise ConfigError(f"plot_long_tasks(time={time!r}): write 'both', 'wall' or 'cpu'")
    found = web_runs(recs_or_tasks, "tasks", ("arm", "run_id", "duration_ms", "cpu_ms"), "plot_long_tasks")
    lines = [
        line
        for arm in found.arms
        for name in (("wall", "cpu") if time == "both" else (time,))
        if (line := _line(found, arm, name)) is not None
    ]
    with style():
        target = _draw(lines, found, ax) if lines else _empty(found, ax)
    remember(target, "plot_long_tasks", {"arms": found.arms, "studies": found.studies, "time": time})
    return target


def _line(found: WebRuns, arm: str, time: str) -> _Line | None:
    """Count the tasks of one arm; None when nothing of them is known."""
    import numpy as np

    from ..stats.tail import tail

    rows, run, n_runs = found.streamed(arm)
    values = rows[_COLUMNS[time]].to_numpy(dtype=float, na_value=np.nan)
    known = np.isfinite(values)
    if not known.any():
        return None
    counted = tail(values[known], run[known], n_runs, marks=(LONG_MS,))
    return _Line(arm, time, counted, int((~known).sum()))


def _draw(lines: list[_Line], found: WebRuns, ax: Axes | None) -> Axes:
    notes = _notes(lines, found)
    target = ax
    if target is None:
        target = new_figure(_WIDTH, _HEIGHT + caption_height(notes, _WIDTH)).add_subplot()
    dress(target)
    target.set_xscale("log")
    target.set_yscale("log")
    styles = arm_styles(found.arms)
    bold = lines[0].time
    for line in lines:
        _draw_line(target, line, styles[line.arm], bold=line.time == bold)
    _axes(target, lines)
    target.axvline(LONG_MS, color=INK, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    target.annotate(
        "50 ms", (LONG_MS, 1.0), xycoords=target.get_xaxis_transform(), xytext=(3, -3),
        textcoords="offset points", ha="left", va="top", fontsize=7, color=MUTED,
    )  # fmt: skip
    arm_legend(target, list(dict.fromkeys(line.arm for line in lines)), styles, lines=True)
    caption(target, notes, own=ax is None)
    return target


def _draw_line(ax: Axes, line: _Line, look: Any, *, bold: bool) -> None:  # noqa: ANN401
    import numpy as np

    found = line.tail
    there = found.value > 0
    # a step to the right of each value: so many tasks last at least as long as what is left of the step
    value, count = found.value[there], found.count[there]
    ax.plot(
        np.r_[value, value[-1:]], np.r_[count, found.count.dtype.type(_floor([line]))],
        drawstyle="steps-pre", color=look.color, linestyle=look.line if bold else (0, (1, 1.2)),
        linewidth=1.8 if bold else 1.1, zorder=3 if bold else 2.5,
    )  # fmt: skip
    if bold and found.lower is not None and found.upper is not None:
        floor = _floor([line])
        ax.fill_between(
            value, np.maximum(found.lower[there], floor), np.maximum(found.upper[there], floor), step="pre",
            color=look.color, alpha=0.16, linewidth=0, zorder=1.5,
        )  # fmt: skip
    at = found.at(LONG_MS)
    if bold and at > 0:
        ax.plot(
            [LONG_MS], [at], linestyle="none", marker=look.marker, markersize=6, color=look.color,
            markeredgecolor="white", markeredgewidth=1.0, zorder=4,
        )  # fmt: skip


def _floor(lines: list[_Line]) -> float:
    """Return the least that can be drawn: half of one task in all runs of an arm."""
    return 0.5 / max(1, *(line.tail.n_runs for line in lines))


def _axes(ax: Axes, lines: list[_Line]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    longest = max(float(line.tail.value[-1]) for line in lines)
    ax.set_xlim(_LEAST_MS, max(2 * LONG_MS, 1.3 * longest))
    most = max(line.tail.at(_LEAST_MS) for line in lines)
    ax.set_ylim(_floor(lines), max(2.0, 1.6 * most))
    for axis, most_ticks in ((ax.xaxis, longest / _LEAST_MS), (ax.yaxis, most / _floor(lines))):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if most_ticks < 5000 else (1,)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
    ax.grid(visible=True, axis="y", color="#e4e4e4", linewidth=0.6)
    ax.set_xlabel("duration of a task (ms, log scale)")
    ax.set_ylabel("tasks per run that last at least so long")


def _notes(lines: list[_Line], found: WebRuns) -> list[str]:
    from ..stats.ecdf import LEAST_RUNS

    bold = lines[0].time
    kinds = {line.time for line in lines}
    said = {"wall": "wall time", "cpu": "CPU time"}[bold]
    said = f"Bold: {said}. Dotted: CPU time." if len(kinds) > 1 else f"{said.capitalize()}."
    at = [
        f"{line.arm} {words.value(line.tail.at(LONG_MS))}"
        + (" by CPU" if line.time == "cpu" and bold != "cpu" else "")
        for line in lines
    ]
    notes = [
        "Tasks of the page's main thread that begin while the answer streams, mean of the runs. "
        f"{said} Long tasks (at least 50 ms) per run: {', '.join(at)}."
    ]
    if any(line.tail.lower is not None for line in lines):
        notes[0] += (
            " Band: 95 % at each duration by itself, percentiles of 999 resamples of whole runs (seed 0)."
        )
    few = dict.fromkeys(line.arm for line in lines if line.tail.lower is None)
    if few:
        notes.append(f"No band, fewer than {LEAST_RUNS} runs: {', '.join(few)}.")
    unknown = [f"{line.arm} {line.n_unknown:,} ({line.time})" for line in lines if line.n_unknown]
    if unknown:
        notes.append(f"Tasks of unknown duration, left out: {', '.join(unknown)}.")
    return [*notes, *found.doubts(), *found.coverage]


def _empty(found: WebRuns, ax: Axes | None) -> Axes:
    target = ax if ax is not None else new_figure(_WIDTH, 1.4).add_subplot()
    target.set_axis_off()
    target.text(
        0.5, 0.5, "Nothing to draw: no task of a page's main thread was recorded.", ha="center", va="center",
        transform=target.transAxes, color=INK,
    )  # fmt: skip
    caption(target, found.coverage, own=ax is None)
    return target
