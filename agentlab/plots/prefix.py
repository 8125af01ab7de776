"""The figure of prefixes: what each request shares with the one before it, what is new, and what was lost."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from . import words
from .canvas import caption, caption_height, new_figure, remember
from .style import FAINT, INK, MUTED, dress, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..recording import Recording, Recordings

_WIDTH = 7.4
_ROW = 0.165  # inches
_MOST = 84  # rows of all arms; more requests are put together
_LEAST = 6
_SHARED, _NEW, _LOST = "#0072b2", "#b9d6ec", "#f3b58d"
_LOST_HATCH = "/////"
_NEEDED = frozenset({"arm", "run_id", "canonical_bytes", "prefix_bytes", "chain", "position"})

#: prefix_state -> what is said beside a bar; None: nothing, it is as it should be.
_STATES: dict[str, str | None] = {
    "first": "first",
    "append_only": None,
    "same_meaning": "same meaning, other bytes",
    "changed": "changed",
}


@dataclasses.dataclass(frozen=True)
class Bar:
    """One bar: a request's place in its chain, over the runs of an arm.

    Parameters
    ----------
    arm, label : str
        Whose, and which.
    shared, new, lost : float
        Mean canonical bytes: shared with the request before, beyond it, and lost of that one.
    note : str
        State and first changed segment.
    n : int
        Requests behind it.
    n_places : int
        Neighbouring places that are put together.
    """

    arm: str
    label: str
    shared: float
    new: float
    lost: float
    note: str
    n: int
    n_places: int


def plot_prefix(recs_or_run: Recordings | Recording | pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw per request what it shares with the one before it in its chain, what is new, and what was lost.

    Bytes are those of the canonical prompt (tools, system text, history, in the provider's order). Of several
    runs the mean of each place in the chain is drawn; where an arm makes many requests, neighbours are put
    together. Beside a bar stands what broke its prefix: the first changed segment, or that the prompt says
    the same in other bytes.

    Parameters
    ----------
    recs_or_run : Recordings, Recording or pandas.DataFrame
        What was recorded behind a gateway; or a table of requests. Runs that are not eligible are left out,
        a single run is drawn in any case.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        kB (1,000 bytes) on the x axis.

    Raises
    ------
    ConfigError
        It is none of these. Requests without a gateway's evidence are drawn as none, with the reason.

    Examples
    --------
    >>> import agentlab as al
    >>> plot_prefix(al.load(al.example("cache"))).get_xlabel()
    'kB of the prompt'
    """
    requests, arms = _requests(recs_or_run)
    used = _used(requests, single=requests["run_id"].nunique() == 1)
    bars = _bars(used, arms)
    notes = _notes(requests, used, bars)
    n_rows = len(bars) + len({bar.arm for bar in bars})
    with style():
        target = ax
        if target is None:
            height = 1.0 + _ROW * max(n_rows, 4) + caption_height(notes, _WIDTH)
            target = new_figure(_WIDTH, height).add_subplot()
        if bars:
            _draw(target, bars)
        else:
            _draw_nothing(target)
        caption(target, notes, own=ax is None)
    studies = list(dict.fromkeys(map(str, requests["study"].dropna()))) if "study" in requests else []
    remember(target, "plot_prefix", {"arms": arms, "studies": [{"name": name} for name in studies]})
    return target


def _requests(recs: Any) -> tuple[pd.DataFrame, list[str]]:  # noqa: ANN401
    import pandas as pd

    frame = recs
    if not isinstance(recs, pd.DataFrame) and hasattr(recs, "table"):
        frame = recs.table("requests")
    if not isinstance(frame, pd.DataFrame) or not set(frame.columns) >= _NEEDED:
        raise ConfigError(
            f"plot_prefix({type(recs).__name__}): give Recordings, one run of them, or their table `requests`"
        )
    stated = getattr(recs, "arms", ())
    arms = list(dict.fromkeys(map(str, [*stated, *frame["arm"].dropna()])))
    return frame.reset_index(drop=True), arms


def _used(requests: pd.DataFrame, *, single: bool) -> pd.DataFrame:
    """Keep the last attempt of each request that was sent and whose bytes are known."""
    used = requests[requests["canonical_bytes"].notna() & requests["position"].notna()]
    for column in ("counted",) if single else ("counted", "eligible"):
        if column in used:
            used = used[used[column].astype("boolean").fillna(value=False).astype(bool)]
    keys = [key for key in ("study", "run_id", "session_id", "chain", "position") if key in used]
    return used.drop_duplicates(keys, keep="last")


def _bars(used: pd.DataFrame, arms: Sequence[str]) -> list[Bar]:
    made: list[Bar] = []
    room = max(_LEAST, _MOST // max(1, used["arm"].nunique()))
    for arm in arms:
        own = used[used["arm"] == arm]
        chains = [c for c in dict.fromkeys(own["chain"].fillna("main")) if c != "main"]
        for chain in ("main", *chains):
            rows = own[own["chain"].fillna("main") == chain]
            if len(rows):
                made += _chain_bars(arm, chain, rows, room if chain == "main" else _LEAST // 2)
    return made


def _chain_bars(arm: str, chain: str, rows: pd.DataFrame, room: int) -> list[Bar]:
    """Make the bars of one chain; the first request stands alone, the others in groups if they are many."""
    places = sorted({int(place) for place in rows["position"]})
    size = max(1, -(-(len(places) - 1) // max(1, room - 1)))
    groups = [places[:1], *(places[at : at + size] for at in range(1, len(places), size))]
    return [_bar(arm, chain, rows[rows["position"].isin(group)], group) for group in groups if group]


def _bar(arm: str, chain: str, rows: pd.DataFrame, places: Sequence[int]) -> Bar:
    label = str(places[0]) if len(places) == 1 else f"{places[0]}-{places[-1]}"
    whole = rows["canonical_bytes"].astype(float)
    shared = rows["prefix_bytes"].fillna(0).astype(float)
    lost = rows["lost_bytes"].fillna(0).astype(float) if "lost_bytes" in rows else shared * 0
    return Bar(
        arm=arm,
        label=label if chain == "main" else f"{chain} {label}",
        shared=float(shared.mean()),
        new=float((whole - shared).mean()),
        lost=float(lost.mean()),
        note=_note(rows),
        n=len(rows),
        n_places=len(places),
    )


def _note(rows: pd.DataFrame) -> str:
    """Say the states that occur, and what broke the prefix most often."""
    if "prefix_state" not in rows or rows["prefix_state"].isna().all():
        return "first" if rows["prefix_bytes"].isna().all() else _broken(rows)
    states: Mapping[Any, int] = rows["prefix_state"].dropna().value_counts().to_dict()
    parts: list[str] = []
    for state, n in states.items():
        said = _STATES.get(str(state), str(state))
        if said is None:
            continue
        segments = rows.loc[rows["prefix_state"] == state, "first_changed"].dropna().value_counts()
        if len(segments):
            said += f": {segments.index[0]}" + (
                f" and {len(segments) - 1} other" if len(segments) > 1 else ""
            )
        elif state == "same_meaning":
            said = "cache markers moved"
        parts.append(said if n == len(rows) else f"{said} ({n} of {len(rows)})")
    return "; ".join(parts)


def _broken(rows: pd.DataFrame) -> str:
    segments = rows["first_changed"].dropna() if "first_changed" in rows else rows["arm"][:0]
    return f"changed: {segments.iloc[0]}" if len(segments) else ""


def _draw(ax: Axes, bars: Sequence[Bar]) -> None:
    dress(ax)
    y, ticks = 0.0, dict[float, str]()
    arm: str | None = None
    high = max(bar.shared + bar.new for bar in bars) / 1e3
    low = -max(bar.lost for bar in bars) / 1e3
    ax.set_xlim(low * 1.04, (high or 1.0) * 1.02)
    side = ax.get_yaxis_transform()
    for bar in bars:
        if bar.arm != arm:
            ax.text(
                0.004, y + 0.1, _short(bar.arm), transform=side, ha="left", va="center", fontsize=8,
                fontweight="bold", color=INK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
            )  # fmt: skip
            ax.axhline(y - 0.52, color=FAINT, linewidth=0.5, zorder=0)
            arm, y = bar.arm, y + 1
        shared, new, lost = bar.shared / 1e3, bar.new / 1e3, bar.lost / 1e3
        edge: dict[str, Any] = {"height": 0.76, "linewidth": 0.4, "edgecolor": INK}
        ax.barh(y, shared, color=_SHARED, **edge)
        ax.barh(y, new, left=shared, color=_NEW, **edge)
        ax.barh(y, -lost, color=_LOST, hatch=_LOST_HATCH, **edge)
        ax.annotate(bar.note, (1.0, y), xycoords=side, xytext=(5, 0), textcoords="offset points", va="center",
                    ha="left", fontsize=6.6, color=MUTED, annotation_clip=False)  # fmt: skip
        ticks[y] = bar.label
        y += 1
    ax.set_ylim(y - 0.4, -0.6)
    ax.set_yticks(list(ticks), labels=list(ticks.values()))
    ax.tick_params(axis="y", length=0, labelsize=6.8)
    ax.axvline(0, color=INK, linewidth=0.7)
    ax.xaxis.set_major_formatter(lambda x, _: f"{abs(x):,.10g}")
    ax.set_xlabel("kB of the prompt")
    ax.set_ylabel("request in its chain")
    _legend(ax, lost=low < 0)


def _short(arm: str) -> str:
    return arm if len(arm) <= 60 else f"{arm[:58]} …"


def _legend(ax: Axes, *, lost: bool) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=_SHARED, edgecolor=INK, linewidth=0.4, label="shared with the request before"),
        Patch(facecolor=_NEW, edgecolor=INK, linewidth=0.4, label="sent beyond it"),
    ]
    if lost:
        handles.append(
            Patch(facecolor=_LOST, edgecolor=INK, linewidth=0.4, hatch=_LOST_HATCH, label="lost of that one")
        )
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, fontsize=7.2, frameon=False,
        borderaxespad=0.3, handlelength=1.4, handletextpad=0.5, columnspacing=1.4,
    )  # fmt: skip


def _draw_nothing(ax: Axes) -> None:
    dress(ax)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel("kB of the prompt")
    said = "no request was seen by a gateway: record with gateway=..."
    ax.text(0.5, 0.5, said, transform=ax.transAxes, ha="center", va="center", color=MUTED, style="italic")


def _notes(requests: pd.DataFrame, used: pd.DataFrame, bars: Sequence[Bar]) -> list[str]:
    notes = [
        "Canonical prompt: tools, system text, history; the request before is that of the same chain."
        + _means(used, bars)
    ]
    notes += [_summary(arm, used[used["arm"] == arm]) for arm in dict.fromkeys(bar.arm for bar in bars)]
    runs = [key for key in ("study", "run_id") if key in requests]
    n_all, n_used = len(requests[runs].drop_duplicates()), len(used[runs].drop_duplicates())
    unseen = int(requests["canonical_bytes"].isna().sum())
    left = f"{words.count(n_used, 'run')} of {n_all:,} drawn"
    notes.append(left + (f", {words.count(unseen, 'request')} not seen by the gateway." if unseen else "."))
    return notes


def _means(used: pd.DataFrame, bars: Sequence[Bar]) -> str:
    """Say over what a bar is a mean."""
    keys = [key for key in ("study", "arm", "run_id") if key in used]
    several = used[keys].drop_duplicates()["arm"].duplicated().any()
    over = [*(["runs"] if several else []), *(["neighbours"] if any(b.n_places > 1 for b in bars) else [])]
    return f" Bars: mean over {' and '.join(over)}." if over else ""


def _summary(arm: str, own: pd.DataFrame) -> str:
    """Say what share of the bytes an arm sent again, and what it lost in a run."""
    later = own[own["prefix_bytes"].notna()]
    sent = int(later["canonical_bytes"].sum())
    if not sent:
        return f"{_short(arm)}: no request follows another."
    share = 100 * int(later["prefix_bytes"].sum()) / sent
    said = f"{_short(arm)}: {share:.1f} % of the bytes shared, first requests left out"
    if "lost_bytes" not in later or later["lost_bytes"].isna().all():
        return f"{said}."
    n_runs = max(1, len(own[[key for key in ("study", "run_id") if key in own]].drop_duplicates()))
    said += f"; lost{' per run' if n_runs > 1 else ''}: {int(later['lost_bytes'].sum()) / n_runs:,.0f} bytes"
    amounts = [(later[name].dropna() if name in later else []) for name in ("lost_tokens", "lost_usd")]
    for amount, unit in zip(amounts, ("tokens", "USD"), strict=True):
        if len(amount) and sum(amount):
            number = sum(map(float, amount)) / n_runs
            text = f"{number:,.0f} tokens sent again" if unit == "tokens" else f"{words.value(number)} USD"
            said += f", about {text}"
    return f"{said}."
