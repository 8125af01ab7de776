"""``agentlab compare``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .budgets import metric_named
from .completing import arms, completes, metrics, studies
from .outcome import judge

if TYPE_CHECKING:
    from ..stats.metrics import Metric

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
            help="e.g. TTFT; repeatable; CACHE_REPORT is the original's four "
            "(default: TTFT, latency, cache and cost, memory, start-up or exec delays, as far as measured)",
        ),
        metrics,
    )
    completes(
        parser.add_argument("--reference", metavar="ARM", help="arm that the others are compared with"), arms
    )
    parser.add_argument("--interval", choices=("auto", "percentile", "original"), default="auto")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write all columns of the estimates there")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from .. import metrics
    from ..recording import load
    from ..stats.compare import compare
    from ..stats.first import first_metrics
    from ..stats.runs import Runs
    from ..widgets.cards import estimates_card

    recordings = load(options.studies)
    chosen: list[Metric] = []
    for name in options.metric or first_metrics(Runs(recordings)) or _METRICS:
        several = name.upper().replace("-", "_") == "CACHE_REPORT"
        chosen.extend(metrics.CACHE_REPORT if several else [metric_named(name)])
    estimates = compare(recordings, *chosen, reference=options.reference, interval=options.interval)
    if options.csv:
        _write(options.csv, estimates.to_csv(index=False))
    print(estimates_card(estimates)["text/plain"])
    return judge(recordings)


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ConfigError(f"--csv {path}: {error.strerror}") from None
