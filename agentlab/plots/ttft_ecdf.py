"""The figure of how TTFT is distributed: per arm the share of turns that had their first token by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import words
from .arms import arm_legend, time_scale
from .canvas import caption, caption_height, new_figure
from .style import arm_styles, dress

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..stats.ecdf import Ecdf

_WIDTH, _HEIGHT = 7.4, 3.1


def distributions(used: pd.DataFrame, arms: list[str]) -> dict[str, Ecdf]:
    """Compute the distribution of each arm that has a known TTFT.

    Parameters
    ----------
    used : pandas.DataFrame
        Turns.
    arms : list of str
        Names in their order.

    Returns
    -------
    dict of str to Ecdf
        In ms.
    """
    import numpy as np
    import pandas as pd

    from ..stats.ecdf import ecdf

    found: dict[str, Ecdf] = {}
    if "ttft_ms" not in used:
        return found
    known = used[used["ttft_ms"].notna()]
    for arm in arms:
        own = known[known["arm"] == arm]
        if len(own):
            runs = own.groupby([key for key in ("study", "run_id") if key in own]).ngroup()
            values = pd.to_numeric(own["ttft_ms"]).to_numpy(dtype=float)
            found[arm] = ecdf(values, runs.to_numpy(dtype=np.int64))
    return found


def draw_ecdf(
    by_arm: dict[str, Ecdf], arms: list[str], used: pd.DataFrame, coverage: list[str], ax: Axes | None
) -> Axes:
    """Draw them.

    Parameters
    ----------
    by_arm : dict of str to Ecdf
        At least one.
    arms : list of str
        All arms, so that each keeps its colour.
    used : pandas.DataFrame
        Turns, for counting those without a first token.
    coverage : list of str
        Sentences for the caption.
    ax : matplotlib.axes.Axes or None
        Where to draw; a figure of its own when None.

    Returns
    -------
    matplotlib.axes.Axes
    """
    import numpy as np

    notes = [*_notes(by_arm, used), *coverage]
    target = ax
    if target is None:
        target = new_figure(_WIDTH, _HEIGHT + caption_height(notes, _WIDTH)).add_subplot()
    dress(target)
    styles = arm_styles(arms)
    for arm, found in by_arm.items():
        look = styles[arm]
        x = np.r_[found.value[0], found.value]
        target.plot(
            x,
            np.r_[0.0, found.share],
            drawstyle="steps-post",
            color=look.color,
            linestyle=look.line,
            linewidth=1.6,
        )
        if found.lower is not None and found.upper is not None:
            target.fill_between(
                found.value, found.lower, found.upper, step="post", color=look.color, alpha=0.18, linewidth=0
            )
    time_scale(target, [float(v) for found in by_arm.values() for v in found.value])
    target.set_ylim(0.0, 1.0)
    target.set_ylabel("share of turns (0 to 1)")
    arm_legend(target, list(by_arm), styles, lines=True)
    caption(target, notes, own=ax is None)
    return target


def _notes(by_arm: dict[str, Ecdf], used: pd.DataFrame) -> list[str]:
    from ..stats.ecdf import LEAST_RUNS

    notes = ["Line: share of the turns with a known TTFT that had their first token by then."]
    if any(found.lower is not None for found in by_arm.values()):
        notes[0] += " Band: 95 % at each time by itself, percentiles of 999 resamples of whole runs (seed 0)."
    few = [arm for arm, found in by_arm.items() if found.lower is None]
    if few:
        notes.append(f"No band, fewer than {LEAST_RUNS} runs: {', '.join(few)}.")
    unknown = {arm: int(own["ttft_ms"].isna().sum()) for arm, own in used.groupby("arm", sort=False)}
    without = [f"{arm} {words.count(n, 'turn')}" for arm, n in unknown.items() if n]
    if without:
        notes.append(f"TTFT unknown, left out: {', '.join(without)}.")
    return notes
