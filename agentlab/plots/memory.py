"""The figure of memory: the ramp from launch on, or what each added session costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ..errors import ConfigError
from .canvas import remember
from .memory_ramp import draw_ramp
from .memory_runs import measured
from .published import published_pss
from .style import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..recording import Recordings


def plot_memory(
    recs_or_memory: Recordings | pd.DataFrame,
    *,
    kind: Literal["ramp", "marginal"] = "ramp",
    ax: Axes | None = None,
    reference: pd.DataFrame | None = None,
) -> Axes:
    """Draw the memory of agents: from launch on, or over the number of sessions.

    Memory is PSS + SwapPSS over all processes of a run, daemons that left the tree included. Runs that were
    discarded are not drawn; those discarded for memory pressure alone are drawn apart, and the figures with
    and without them are both said. A run with a session that was never ready is discarded and not summed.

    Parameters
    ----------
    recs_or_memory : Recordings or pandas.DataFrame
        Recordings; for the ramp also their table `memory`.
    kind : {"ramp", "marginal"}
        ``"ramp"``: the total of each run thin, its median by arm and number of sessions bold, with the times
        at which all sessions were ready and memory had settled; of one arm and number alone also what is
        anonymous and what is of files. ``"marginal"``: settled anonymous and file memory over the number of
        sessions, with the lines and intervals of :func:`agentlab.marginal_fit`.
    ax : matplotlib.axes.Axes, optional
        Where to draw.
    reference : pandas.DataFrame, optional
        Published figures of :func:`agentlab.reference`; those of the agents that are drawn stand beside them
        as hollow diamonds.

    Returns
    -------
    matplotlib.axes.Axes
        MiB on the y axis.

    Raises
    ------
    ConfigError
        If it is neither Recordings nor a table of memory, a lone table is to be fitted, `reference` is no
        table of published figures, or `kind` is another word. Recordings without sampled memory are drawn,
        with the reason.

    Examples
    --------
    >>> import pandas as pd
    >>> memory = pd.DataFrame({"arm": "a", "run_id": "1", "t_ms": [0.0, 500.0], "pss_bytes": [2**20, 2**22],
    ...                        "swap_pss_bytes": 0, "anon_bytes": 2**20, "file_bytes": 0})
    >>> plot_memory(memory).get_ylabel()
    'PSS + SwapPSS (MiB)'
    """
    if kind not in ("ramp", "marginal"):
        raise ConfigError(f"plot_memory(kind={kind!r}): must be 'ramp' or 'marginal'")
    found = measured(recs_or_memory)
    published = None if reference is None else published_pss(reference, _agents(recs_or_memory, found.arms))
    with style():
        if kind == "ramp":
            target = draw_ramp(found, published, ax)
        else:
            from .memory_marginal import draw_marginal

            target = draw_marginal(recs_or_memory, found, published, ax)
    origin = {"kind": kind, "arms": found.arms, "studies": found.studies}
    if published:
        origin["reference"] = [one.said for one in published]
    remember(target, "plot_memory", origin)
    return target


def _agents(given: Any, arms: list[str]) -> dict[str, str]:  # noqa: ANN401
    """Return which agent each arm measures: as its settings name it, else the arm's own name."""
    agents = {arm: arm for arm in arms}
    if hasattr(given, "coverage"):
        for run in given:
            named = run.info.part("identity").get("settings")
            if isinstance(named, dict) and isinstance(agent := named.get("agent"), str):  # pyright: ignore[reportUnknownVariableType]
                agents[run.arm] = agent
    return agents
