"""What every ``agentlab record`` takes: what is asked, how, and the recording itself."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .completing import completes, studies
from .parser import whole
from .scenarios import NAMED

if TYPE_CHECKING:
    from ..drivers.base import Driver
    from ..engine.waiting import Quiet
    from ..gateway import Gateway
    from ..recording import Recordings
    from ..scenario import Scenario

Group = argparse._ArgumentGroup  # pyright: ignore[reportPrivateUsage] (argparse gives it no other name)


def add_asked(group: Group, default: str) -> None:
    """Add what is asked of an agent.

    Parameters
    ----------
    group : group
        Where the options go.
    default : str
        Which scenario is taken when none is named, for the help.
    """
    scenario = group.add_argument(
        "--scenario",
        metavar="NAME",
        help=f"{', '.join(NAMED)} (default: {default}), or a scenario's .json file",
    )
    completes(scenario, _names_or_files)
    group.add_argument("--turn", action="append", metavar="TEXT", help="a prompt of your own; repeatable")
    group.add_argument("--require", action="append", metavar="NEED", help="with --turn: text or tool:NAME")
    group.add_argument(
        "--timeout", type=float, metavar="S", help="longest turn, in seconds (default 600; cache-report 120)"
    )
    group.add_argument("--timeout-ms", type=whole(1), metavar="MS", help="the same, in milliseconds")
    group.add_argument("--start", type=float, metavar="S", help="until a server is ready (default 30)")
    group.add_argument("--stall", type=float, metavar="S", help="longest silence in a turn (default 60)")


def add_how(group: Group) -> None:
    """Add how a study is recorded.

    Parameters
    ----------
    group : group
        Where the options go.
    """
    group.add_argument("--runs", type=whole(1), default=10, metavar="N", help="runs of each arm (default 10)")
    completes(
        group.add_argument("--to", type=Path, metavar="FOLDER", help="default studies/<scenario>-<UTC>"),
        studies,
    )
    group.add_argument("--exists", choices=("resume", "refuse", "replace"), default="resume")
    group.add_argument("--order", choices=("interleaved", "sequential"), default="interleaved")
    group.add_argument(
        "--seed", type=whole(0), metavar="N", help="of the order; drawn and stored when absent"
    )
    group.add_argument("--host", choices=("auto", "kernel", "process", "inline"), default="auto")
    group.add_argument(
        "--detach",
        type=float,
        metavar="S",
        help="the study outlives this command, at most S seconds; agentlab attach follows it",
    )
    group.add_argument(
        "--quiet-wait",
        type=whole(0),
        metavar="S",
        help="longest wait before a run until the machine is quiet; else the run is marked (default 20)",
    )
    group.add_argument("--keep", choices=("numbers", "content"), default="numbers")
    group.add_argument("--progress", choices=("auto", "text", "none"), default="auto")


def recorded(
    options: argparse.Namespace,
    scenario: Scenario,
    arms: Mapping[str, Driver],
    gateway: Gateway | None,
    *,
    quiet: Quiet | None = None,
    memory: bool = False,
) -> Recordings:
    """Record the study.

    Parameters
    ----------
    options : argparse.Namespace
        Parsed options of :func:`add_how`.
    scenario : Scenario
        What is asked.
    arms : mapping of str to driver
        What is measured.
    gateway : Gateway or None
        In front of all arms.
    quiet : Quiet, optional
        When the machine counts as quiet; default: what the options say.
    memory : bool
        Whether the memory of all processes is sampled.

    Returns
    -------
    Recordings
    """
    from ..engine import record
    from ..engine.waiting import Quiet

    more: dict[str, Any] = {} if options.detach is None else {"detach": options.detach}
    if quiet is not None:
        more["quiet"] = quiet
    elif options.quiet_wait is not None:
        more["quiet"] = Quiet(wait_s=options.quiet_wait)
    return record(
        scenario,
        arms,
        runs=options.runs,
        to=options.to,
        exists=options.exists,
        order=options.order,
        seed=options.seed,
        gateway=gateway,
        host=options.host,
        keep=options.keep,
        progress=options.progress,
        memory=memory,
        **more,
    ).result()


def _names_or_files(prefix: str, **_: Any) -> list[str]:  # noqa: ANN401
    files = (str(path) for path in sorted(Path().glob("*.json")))
    return [name for name in (*NAMED, *files) if name.startswith(prefix)]
