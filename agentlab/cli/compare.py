"""``agentlab compare``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..jsonfile import replacing
from .budgets import metrics_named
from .completing import arms, completes, metrics, studies
from .outcome import judge

if TYPE_CHECKING:
    from ..recording import Recordings

_METRICS = ("TTFT", "TURN_LATENCY", "CACHE_HIT_RATE")  # of a study without any


def add(commands: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401
    """Add the command.

    Parameters
    ----------
    commands : object
        What ``add_subparsers`` returned.
    shared : argparse.ArgumentParser
        Options of every command.
    """
    text = "estimates and intervals of studies"
    parser = commands.add_parser("compare", parents=[shared], help=text, description=text)
    completes(
        parser.add_argument(
            "studies", nargs="+", metavar="STUDY", help="study folder, or an old script's file"
        ),
        studies,
    )
    completes(
        parser.add_argument(
            "--metric",
            action="append",
            metavar="NAME",
            help="e.g. TTFT; repeatable; CACHE_REPORT and PAGE_REPORT are the originals' own "
            "(default: TTFT, latency, cache and cost, memory, start-up or exec delays, as far as measured)",
        ),
        metrics,
    )
    completes(
        parser.add_argument("--reference", metavar="ARM", help="arm that the others are compared with"), arms
    )
    parser.add_argument(
        "--where",
        action="append",
        metavar="COLUMN=VALUE",
        help="only runs with this value in the table runs, e.g. n_sessions=1; repeatable",
    )
    parser.add_argument("--interval", choices=("auto", "percentile", "original"), default="auto")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write all columns of the estimates there")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from ..recording import load
    from ..stats.compare import compare
    from ..stats.first import first_metrics
    from ..stats.runs import Runs
    from ..widgets.cards import estimates_card

    recordings = _chosen(load(options.studies), options.where or ())
    chosen = metrics_named(options.metric or first_metrics(Runs(recordings)) or _METRICS)
    estimates = compare(recordings, *chosen, reference=options.reference, interval=options.interval)
    if options.csv:
        _write(options.csv, estimates.to_csv(index=False))
    print(re.sub(r"where\((\w+)=\.\.\.\)", r"--where \1=...", estimates_card(estimates)["text/plain"]))
    return judge(recordings)


def _chosen(recordings: Recordings, conditions: Sequence[str]) -> Recordings:
    """Keep the runs that have one of the values given for each column."""
    wanted: dict[str, list[Any]] = {}
    for text in conditions:
        column, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--where {text!r}: write COLUMN=VALUE, e.g. n_sessions=1")
        recordings.where(**{column: None})  # says which columns there are
        there = {str(one): one for one in sorted(recordings.runs[column].dropna().unique())}
        if value not in there:
            raise ConfigError(f"--where {text!r}: no run has this; there are {', '.join(there) or 'none'}")
        wanted.setdefault(column, []).append(there[value])
    return recordings.where(**wanted)


def _write(path: Path, text: str) -> None:
    try:
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--csv {path}: {error.strerror}") from None
