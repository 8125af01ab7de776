"""The figure of CPU time by function: what the page's main thread was busy with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

_WIDTH = 7.4
_NEEDED = ("arm", "run_id", "profile", "label", "kind", "self_ms")
_LONGEST_LABEL = 46
#: What no line of a script stands for.
_KINDS = {"gc": "collecting garbage", "program": "the browser's own code"}


def plot_cpu(
    recs_or_cpu: Recordings | pd.DataFrame, *, n: int = 15, profile: str = "page", ax: Axes | None = None
) -> Axes:
    """Draw the functions with most CPU time of their own, by arm.

    It needs a sampler (``preset="cpu"``), which costs the page time of its own: take numbers from runs
    without one, and explanations from here.

    Parameters
    ----------
    recs_or_cpu : Recordings or pandas.DataFrame
        Recordings, or their table `cpu`.
    n : int
        How many functions, 1 to 60.
    profile : str
        ``"page"`` for the main thread, or ``"worker 1"`` ...
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        ms per run on the x axis, a function a row.

    Raises
    ------
    ConfigError
        If it is neither Recordings nor a table of CPU profiles, or `n` is out of range. Recordings without
        samples are drawn, with the reason.

    Examples
    --------
    >>> import pandas as pd
    >>> cpu = pd.DataFrame({"arm": "a", "run_id": "1", "profile": "page", "label": ["f @ a.js:1:2", "(idle)"],
    ...                     "kind": ["js", "idle"], "self_ms": [30.0, 900.0]})
    >>> [label.get_text() for label in plot_cpu(cpu).get_yticklabels()]
    ['f @ a.js:1:2']
    """
    if isinstance(n, bool) or not 1 <= n <= 60:
        raise ConfigError(f"plot_cpu(n={n!r}): must be 1 to 60")
    found = web_runs(recs_or_cpu, "cpu", _NEEDED, "plot_cpu")
    from ..stats.functions import top_functions

    top = top_functions(found.rows, n=n, profile=profile)
    with style():
        target = _draw(top, found, profile, ax) if len(top) else _empty(found, profile, ax)
    remember(target, "plot_cpu", {"arms": found.arms, "studies": found.studies, "profile": profile})
    return target


def _draw(top: pd.DataFrame, found: WebRuns, profile: str, ax: Axes | None) -> Axes:
    labels = list(dict.fromkeys(top["label"]))
    arms = [arm for arm in found.arms if (top["arm"] == arm).any()]
    notes = _notes(top, found, profile)
    target = ax
    if target is None:
        pitch = 0.13 + 0.115 * len(arms)
        height = 0.9 + pitch * len(labels) + caption_height(notes, _WIDTH)
        target = new_figure(_WIDTH, max(2.0, height)).add_subplot()
    dress(target)
    styles = arm_styles(found.arms)
    width = 0.8 / len(arms)
    for place, arm in enumerate(arms):
        own = top[top["arm"] == arm]
        y = [labels.index(label) - 0.4 + width * (place + 0.5) for label in own["label"]]
        _draw_bars(target, y, own, width, styles[arm].color)
    target.set_yticks(range(len(labels)), labels=[_short(label) for label in labels])
    target.tick_params(axis="y", length=0, labelsize=7.2)
    target.set_ylim(len(labels) - 0.4, -0.6)
    target.set_xlim(left=0)
    target.set_xlabel("CPU time of its own per run (ms)")
    arm_legend(target, arms, styles)
    caption(target, notes, own=ax is None)
    return target


def _draw_bars(ax: Axes, y: list[float], own: pd.DataFrame, width: float, color: Any) -> None:  # noqa: ANN401
    mean, least, most = (own[name].to_numpy(dtype=float) for name in ("self_ms", "least_ms", "most_ms"))
    ax.barh(y, mean, height=0.86 * width, color=color, linewidth=0, zorder=2)
    if (own["n_runs"] > 1).any():
        ax.hlines(y, least, most, colors=INK, linewidth=0.9, zorder=3)
    for at, value, end, share in zip(y, mean, most, own["share"], strict=True):
        said = f"{words.value(value)} ms" + (f", {100 * share:.1f} %" if share == share else "")
        ax.annotate(
            said, (max(value, end), at), xytext=(4, 0), textcoords="offset points", va="center", ha="left",
            fontsize=6.4, color=MUTED,
        )  # fmt: skip


def _short(label: str) -> str:
    """Keep the place, which tells functions of one name apart, and cut the name."""
    name, at, place = label.partition(" @ ")
    if len(label) <= _LONGEST_LABEL:
        return label
    room = _LONGEST_LABEL - len(at) - len(place)
    return f"{name[: room - 2]} …{at}{place}" if room > 8 else f"{label[: _LONGEST_LABEL - 2]} …"


def _notes(top: pd.DataFrame, found: WebRuns, profile: str) -> list[str]:
    where = "the page's main thread" if profile == "page" else profile
    said = f"Mean of the sampled runs, {where}; in percent of all time that was not idle."
    if (top["n_runs"] > 1).any():
        said += " Line: least and most of a run."
    kinds = [f"{label}: {_KINDS[kind]}" for label, kind in _pairs(top) if kind in _KINDS]
    if kinds:
        said += f" {'; '.join(kinds)}."
    return [said, "The sampler costs the page time of its own.", *found.coverage]


def _pairs(top: pd.DataFrame) -> list[tuple[str, str]]:
    pairs = zip(top["label"], top["kind"].fillna(""), strict=True)
    return list(dict.fromkeys((str(label), str(kind)) for label, kind in pairs))


def _empty(found: WebRuns, profile: str, ax: Axes | None) -> Axes:
    target = ax if ax is not None else new_figure(_WIDTH, 1.4).add_subplot()
    target.set_axis_off()
    target.text(
        0.5, 0.5, f"Nothing to draw: no CPU samples of {profile!r} (preset=\"cpu\" takes them).", ha="center",
        va="center", transform=target.transAxes, color=INK,
    )  # fmt: skip
    caption(target, found.coverage, own=ax is None)
    return target
