"""The figure of the TTFT ladder: when the first byte, event, reasoning, text and tool call arrived."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ConfigError
from . import words
from .arms import arm_legend, time_scale
from .canvas import caption, caption_height, new_figure, remember
from .style import FAINT, INK, MUTED, ArmStyle, arm_styles, dress, style
from .ttft_ecdf import distributions, draw_ecdf

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..recording import Recordings

#: column -> what arrived, in the order of the ladder
RUNGS: dict[str, str] = {
    "first_byte_ms": "first byte",
    "first_event_ms": "first event",
    "first_reasoning_ms": "first reasoning",
    "first_text_ms": "first text",
    "first_tool_ms": "first tool call",
    "first_paint_ms": "first paint",
    "ttft_ms": "TTFT",
}

_WIDTH = 7.4
_MOST_DOTS = 400


@dataclasses.dataclass(frozen=True)
class _Line:
    """One rung of one arm: its turns, its runs, its median; milliseconds."""

    arm: str
    rung: str
    turns: list[float]
    runs: list[float]
    median: float | None
    n_without: int


def plot_ttft(
    recs_or_turns: Recordings | pd.DataFrame,
    *,
    kind: Literal["ladder", "ecdf"] = "ladder",
    ax: Axes | None = None,
    warmup: bool = False,
) -> Axes:
    """Draw the TTFT ladder per arm: each turn, the median of each run, and the median of the arm.

    Times run from the moment the prompt was sent, as the measuring process saw them. The medians describe
    what is drawn; intervals over runs are :func:`agentlab.compare`'s. Where a turn did not show a rung, that
    is counted at the right and never drawn as 0.

    Parameters
    ----------
    recs_or_turns : Recordings or pandas.DataFrame
        Recordings, or their table `turns`. Only eligible runs are drawn.
    kind : {"ladder", "ecdf"}
        ``"ecdf"`` draws how `ttft_ms` is distributed instead: per arm the share of turns, with a 95 % band
        from resampling whole runs where there are at least 5.
    ax : matplotlib.axes.Axes, optional
        Where to draw.
    warmup : bool, default False
        Whether turns flagged as warm-up are drawn too.

    Returns
    -------
    matplotlib.axes.Axes
        Logarithmic when the times span a factor of more than 20.

    Raises
    ------
    ConfigError
        If it is neither Recordings nor a table of turns, or `kind` is another word.
        A table without turns is drawn, with the reason.

    Examples
    --------
    >>> import pandas as pd
    >>> turns = pd.DataFrame({"arm": ["a", "a"], "run_id": ["1", "2"], "ttft_ms": [310.0, 290.0]})
    >>> plot_ttft(turns).get_xlabel()
    'ms after the prompt was sent'
    """
    if kind not in ("ladder", "ecdf"):
        raise ConfigError(f"plot_ttft(kind={kind!r}): must be 'ladder' or 'ecdf'")
    turns, runs = _tables(recs_or_turns)
    used = turns[_true(turns, "eligible", default=True)]
    if not warmup:
        used = used[~_true(used, "warmup", default=False)]
    # In the order of the study, as the figure of estimates has them: an arm keeps its colour.
    stated = () if runs is None else getattr(recs_or_turns, "arms", ())
    arms = list(dict.fromkeys(map(str, [*stated, *(runs if runs is not None else turns)["arm"]])))
    coverage = _coverage(turns, used, runs, arms, warmup=warmup)
    with style():
        if kind == "ecdf" and (by_arm := distributions(used, arms)):
            target = draw_ecdf(by_arm, arms, used, coverage, ax)
        elif kind == "ladder" and (lines := _lines(used, arms)):
            target = _draw(lines, arms, _caption(used, arms, lines, coverage), ax)
        else:
            target = _empty(ax, coverage)
    studies = list(dict.fromkeys(map(str, turns["study"].dropna()))) if "study" in turns else []
    origin = {"metrics": [], "arms": arms, "studies": [{"name": name} for name in studies], "warmup": warmup}
    if kind != "ladder":
        origin |= {"kind": kind, "levels": [0.95], "seeds": [0]}
    remember(target, "plot_ttft", origin)
    return target


def _tables(recs_or_turns: Any) -> tuple[pd.DataFrame, pd.DataFrame | None]:  # noqa: ANN401
    import pandas as pd

    if isinstance(recs_or_turns, pd.DataFrame):
        turns, runs = recs_or_turns, None
    else:
        turns, runs = getattr(recs_or_turns, "turns", None), getattr(recs_or_turns, "runs", None)
    if not isinstance(turns, pd.DataFrame) or not {"arm", "run_id"} <= set(turns.columns):
        raise ConfigError(
            f"plot_ttft({type(recs_or_turns).__name__}): give Recordings, or their table `turns` "
            "(with arm, run_id, ttft_ms ...); a study under way is awaited first"
        )
    return turns.reset_index(drop=True), runs  # joined frames repeat their index


def _true(frame: pd.DataFrame, column: str, *, default: bool) -> pd.Series[bool]:
    import pandas as pd

    if column not in frame:
        return pd.Series(default, index=frame.index, dtype=bool)
    return frame[column].astype("boolean").fillna(value=default).astype(bool)


def _lines(used: pd.DataFrame, arms: list[str]) -> list[_Line]:
    """Reduce the turns to what is drawn, rung by rung; rungs that no turn has are left out."""
    import pandas as pd

    keys = [key for key in ("study", "run_id") if key in used]
    lines: list[_Line] = []
    for column, rung in RUNGS.items():
        if column not in used or not used[column].notna().any():
            continue
        for arm in arms:
            own = used[used["arm"] == arm]
            known = pd.to_numeric(own[column]).astype("Float64").dropna()
            per_run = known.groupby([own.loc[known.index, key] for key in keys]).median()
            lines.append(
                _Line(
                    arm=arm,
                    rung=rung,
                    turns=_thin(sorted(map(float, known))),
                    runs=[float(value) for value in per_run],
                    median=float(known.median()) if len(known) else None,
                    n_without=len(own) - len(known),
                )
            )
    return lines


def _thin(values: list[float]) -> list[float]:
    """Keep at most so many values as the eye can tell apart, evenly by rank, with both ends."""
    if len(values) <= _MOST_DOTS:
        return values
    return [values[round(i * (len(values) - 1) / (_MOST_DOTS - 1))] for i in range(_MOST_DOTS)]


def _draw(lines: list[_Line], arms: list[str], notes: list[str], ax: Axes | None) -> Axes:
    rungs = list(dict.fromkeys(line.rung for line in lines))
    pitch = len(arms) + 0.7
    target = ax
    if target is None:
        height = 0.9 + len(rungs) * pitch * 0.21 + caption_height(notes, _WIDTH)
        target = new_figure(_WIDTH, max(2.2, height)).add_subplot()
    styles = arm_styles(arms)
    dress(target)
    for line in lines:
        y = rungs.index(line.rung) * pitch + arms.index(line.arm)
        _draw_line(target, y, line, styles[line.arm])
    time_scale(target, [value for line in lines for value in line.turns])
    middle = (len(arms) - 1) / 2
    target.set_yticks([i * pitch + middle for i in range(len(rungs))], labels=rungs)
    target.tick_params(axis="y", length=0, labelsize=8.5)
    target.set_ylim(len(rungs) * pitch - 0.85, -0.85)
    for i in range(1, len(rungs)):
        target.axhline(i * pitch - 0.85, color=FAINT, linewidth=0.5, zorder=0)
    target.spines["left"].set_visible(False)
    arm_legend(target, arms, styles)
    caption(target, notes, own=ax is None)
    return target


def _draw_line(ax: Axes, y: float, line: _Line, look: ArmStyle) -> None:
    if len(line.turns) > len(line.runs):
        spread = [((i * 0.618) % 1 - 0.5) * 0.5 for i in range(len(line.turns))]
        ax.plot(
            line.turns, [y + d for d in spread], linestyle="none", marker="o", markeredgewidth=0, zorder=2,
            color=look.color, markersize=2.6, alpha=0.7 if len(spread) < 60 else 0.35,
        )  # fmt: skip
    ax.plot(
        line.runs, [y] * len(line.runs), linestyle="none", marker="|", markersize=8, markeredgewidth=1.1,
        color=look.color, zorder=2.5,
    )  # fmt: skip
    if line.median is not None:
        for size, face, edge in ((9.5, "white", "white"), (6.5, look.color, INK)):
            ax.plot(
                [line.median], [y], linestyle="none", marker=look.marker, markersize=size, color=face,
                markeredgecolor=edge, markeredgewidth=1.1, zorder=3,
            )  # fmt: skip
    ax.annotate(
        _counts(line), (1.0, y), xycoords=ax.get_yaxis_transform(), xytext=(5, 0), textcoords="offset points",
        va="center", ha="left", fontsize=6.8, color=MUTED, annotation_clip=False,
    )  # fmt: skip


def _counts(line: _Line) -> str:
    if line.median is None:
        return f"not in {words.count(line.n_without, 'turn')}" if line.n_without else "no turns"
    said = f"{words.value(line.median)} ms, {words.count(len(line.runs), 'run')}"
    return f"{said}, not in {words.count(line.n_without, 'turn')}" if line.n_without else said


def _empty(ax: Axes | None, notes: list[str]) -> Axes:
    target = ax if ax is not None else new_figure(_WIDTH, 1.4).add_subplot()
    target.set_axis_off()
    target.text(
        0.5, 0.5, "Nothing to draw: no turn with a known time.", ha="center", va="center",
        transform=target.transAxes, color=INK,
    )  # fmt: skip
    caption(target, notes, own=ax is None)
    return target


def _caption(used: pd.DataFrame, arms: list[str], lines: list[_Line], coverage: list[str]) -> list[str]:
    said = "Bar: median of a run. Marker: median of all turns."
    if any(len(line.turns) > len(line.runs) for line in lines):
        said = f"Dot: a turn. {said}"
    if max(len(used[used["arm"] == arm]) for arm in arms) > _MOST_DOTS:
        said += f" At most {_MOST_DOTS} dots a line are drawn, evenly by rank."
    drawn = {line.rung for line in lines}
    never = [rung for column, rung in RUNGS.items() if column in used and rung not in drawn]
    return [said, *coverage, *([f"Not seen in any turn: {', '.join(never)}."] if never else [])]


def _coverage(
    turns: pd.DataFrame, used: pd.DataFrame, runs: pd.DataFrame | None, arms: list[str], *, warmup: bool
) -> list[str]:
    parts = [_arm_coverage(turns, used, runs, arm) for arm in arms]
    left_out = int(_true(turns, "warmup", default=False).sum())
    rule = (
        ""
        if not left_out
        else " Warm-up turns are drawn."
        if warmup
        else f" Warm-up turns left out: {left_out:,}."
    )
    return [f"Used: {'; '.join(parts)}.{rule}" if parts else "There is no run."]


def _arm_coverage(turns: pd.DataFrame, used: pd.DataFrame, runs: pd.DataFrame | None, arm: str) -> str:
    table = runs if runs is not None else turns
    own = table[table["arm"] == arm]
    keys = [key for key in ("study", "run_id") if key in own]
    n_discarded = len(own[~_true(own, "eligible", default=True)].drop_duplicates(keys))
    mine = used[used["arm"] == arm]
    n_runs = len(mine.drop_duplicates([key for key in ("study", "run_id") if key in mine]))
    said = f"{words.count(len(mine), 'turn')} of {words.count(n_runs, 'run')}"
    said += f" ({n_discarded:,} discarded)" if n_discarded else ""
    return f"{arm} {said}".replace(" ", "\u00a0") if len(arm) < 30 else f"{arm} {said}"
