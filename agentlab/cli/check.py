"""``agentlab check``: studies against budgets and a baseline."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import ConfigError
from .budgets import add_budgets, against, baseline_of, budget_table, metrics_named, verdict_table
from .completing import completes, metrics, studies
from .outcome import FAILED, judge
from .parser import Parser

_EXAMPLE = """\
examples:
  agentlab check studies/page --budget LONG_TASKS=10 --budget DROPPED_FRAMES=0.05
  agentlab check studies/page --baseline studies/before --metric TBT
"""


def add(commands: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401
    """Add the command.

    Parameters
    ----------
    commands : object
        What ``add_subparsers`` returned.
    shared : argparse.ArgumentParser
        Options of every command.
    """
    text = "studies against budgets and a baseline"
    parser = commands.add_parser(
        "check",
        parents=[shared],
        help=text,
        description=f"{text}; exit code 1 when a budget does not hold",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    completes(
        parser.add_argument(
            "studies", nargs="+", metavar="STUDY", help="study folder, or an old script's file"
        ),
        studies,
    )
    group = parser.add_argument_group("what it is held against")
    add_budgets(group)
    completes(
        group.add_argument(
            "--metric",
            action="append",
            metavar="NAME",
            help="with --baseline: what is compared; repeatable (default: the study's first metrics)",
        ),
        metrics,
    )
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from ..recording import load
    from ..stats.budget import check
    from ..stats.first import first_metrics
    from ..stats.runs import Runs

    parser: Parser = options.parser
    if not options.budget and options.baseline is None:
        parser.fault(ConfigError("give --budget METRIC=NUMBER or --baseline STUDY"))
    if options.metric and options.baseline is None:
        parser.fault(ConfigError("--metric goes with --baseline STUDY"))
    baseline = baseline_of(options)
    recordings = load(options.studies)
    good = True
    if baseline is not None:
        named = options.metric or first_metrics(Runs(recordings))
        found = against(recordings, baseline, metrics_named(named))
        print(verdict_table(found))
    if options.budget:
        checked = check(recordings, dict(options.budget))
        good = bool((checked["status"] == "pass").all())
        print(budget_table(checked))
    return judge(recordings) or (0 if good else FAILED)
