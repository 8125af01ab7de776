"""Published figures of others beside one's own: hollow diamonds, named with their source."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .style import MUTED, ArmStyle

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_NEEDED = {"source", "tool", "sessions", "measure", "value"}


@dataclasses.dataclass(frozen=True)
class Published:
    """PSS of one tool by one source.

    Parameters
    ----------
    arm : str
        The arm that it stands beside.
    said : str
        Source, tool and version.
    points : tuple of (int, float)
        Sessions and MB as published.
    """

    arm: str
    said: str
    points: tuple[tuple[int, float], ...]


def published_pss(reference: Any, agents: Mapping[str, str]) -> list[Published]:  # noqa: ANN401
    """Choose the published PSS of the tools that are drawn.

    Parameters
    ----------
    reference : pandas.DataFrame or None
        As :func:`agentlab.reference` gives it, or rows of it.
    agents : mapping of str to str
        Arm to the agent that it measures.

    Returns
    -------
    list of Published
        By arm and source; empty for None.

    Raises
    ------
    ConfigError
        It is no such table.
    """
    import pandas as pd

    if reference is None:
        return []
    if not isinstance(reference, pd.DataFrame) or not set(reference.columns) >= _NEEDED:
        raise ConfigError(
            f"plot_memory(reference={type(reference).__name__}): give rows of agentlab.reference('terminal')"
        )
    rows = reference[(reference["measure"] == "pss") & reference["value"].notna()]
    rows = rows[rows["sessions"].notna()]
    keys = [k for k in ("source", "source_version", "tool", "version", "note") if k in rows]
    found: list[Published] = []
    for arm, agent in agents.items():
        own = rows[rows["tool"].isin([agent, arm])]
        for _, one in own.groupby(keys, sort=False, dropna=False):
            points = sorted((int(n), float(x)) for n, x in zip(one["sessions"], one["value"], strict=True))
            found.append(Published(arm, _said(one.iloc[0], keys), tuple(points)))
    return found


def _said(row: pd.Series[Any], keys: Sequence[str]) -> str:
    import pandas as pd

    known = {key: str(row[key]) for key in keys if not pd.isna(row[key])}
    source = " ".join(known[key] for key in ("source", "source_version") if key in known)
    tool = " ".join(known[key] for key in ("tool", "version") if key in known)
    return f"{source}: {tool}" + (f" ({known['note']})" if "note" in known else "")


def only_at(published: Sequence[Published], counts: Collection[tuple[str, int | None]]) -> list[Published]:
    """Keep the figures for numbers of sessions at which the same arm was measured.

    Parameters
    ----------
    published : sequence of Published
        What.
    counts : collection of (str, int or None)
        Arms and their numbers of sessions.

    Returns
    -------
    list of Published
    """
    return _kept(published, lambda one, n: (one.arm, n) in counts)


def only_up_to(published: Sequence[Published], most: int) -> list[Published]:
    """Keep the figures for numbers of sessions that are not above those that were measured.

    Parameters
    ----------
    published : sequence of Published
        What.
    most : int
        Largest number of sessions that was measured.

    Returns
    -------
    list of Published
    """
    return _kept(published, lambda _, n: n <= most)


def _kept(published: Sequence[Published], keep: Callable[[Published, int], bool]) -> list[Published]:
    chosen = [
        dataclasses.replace(one, points=tuple(point for point in one.points if keep(one, point[0])))
        for one in published
    ]
    return [one for one in chosen if one.points]


def draw_published(ax: Axes, published: Sequence[Published], styles: Mapping[str, ArmStyle]) -> None:
    """Draw them over the number of sessions.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Sessions on the x axis, MiB on the y axis.
    published : sequence of Published
        What.
    styles : mapping of str to ArmStyle
        Look of the arms.
    """
    for one in published:
        x, y = zip(*one.points, strict=True)
        ax.plot(
            x, y, linestyle=(0, (1, 2.5)), linewidth=0.8, color=styles[one.arm].color, marker="D",
            markersize=4.5, markerfacecolor="white", markeredgewidth=0.9, zorder=1.5, alpha=0.9,
        )  # fmt: skip


def draw_levels(ax: Axes, published: Sequence[Published], styles: Mapping[str, ArmStyle]) -> None:
    """Draw those of a number of sessions as levels at the right edge, where there is no such axis.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        MiB on the y axis; its upper limit grows to hold them.
    published : sequence of Published
        What.
    styles : mapping of str to ArmStyle
        Look of the arms.
    """
    levels = [(n, y, one) for one in published for n, y in one.points]
    if not levels:
        return
    ax.set_ylim(top=max(ax.get_ylim()[1], 1.05 * max(y for _, y, _ in levels)))
    for n, y, one in levels:
        ax.annotate(
            f"{n}", (0.985, y), xycoords=ax.get_yaxis_transform(), xytext=(-5, 0),
            textcoords="offset points", va="center", ha="right", fontsize=5.6, color=MUTED,
        )  # fmt: skip
        ax.plot(
            [0.985], [y], transform=ax.get_yaxis_transform(), linestyle="none", marker="D", markersize=4.5,
            color="white", markeredgecolor=styles[one.arm].color, markeredgewidth=0.9, zorder=1.5,
        )  # fmt: skip


def note(published: Sequence[Published], *, asked: bool) -> list[str]:
    """Say what the diamonds are.

    Parameters
    ----------
    published : sequence of Published
        What is drawn.
    asked : bool
        Whether any were wanted.

    Returns
    -------
    list of str
        Empty when none were wanted.
    """
    if not asked:
        return []
    if not published:
        return ["No PSS of these agents at these numbers of sessions is among the published figures given."]
    return [
        "Diamonds: published by others, on other machines, of other versions and by other methods, MB taken "
        f"as MiB: {'; '.join(one.said for one in published)}."
    ]
