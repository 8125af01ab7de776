"""``agentlab report``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .budgets import metrics_named
from .completing import arms, completes, metrics, studies
from .outcome import DONE


def add(commands: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401
    """Add the command.

    Parameters
    ----------
    commands : object
        What ``add_subparsers`` returned.
    shared : argparse.ArgumentParser
        Options of every command.
    """
    text = "write one self-contained HTML page about studies, and a PDF beside it where a Chromium is"
    parser = commands.add_parser("report", parents=[shared], help=text, description=text)
    completes(
        parser.add_argument(
            "studies", nargs="+", metavar="STUDY", help="study folder, or an old script's file"
        ),
        studies,
    )
    parser.add_argument(
        "--to", type=Path, metavar="FILE", help="the page (.html; default reports/STUDY.html)"
    )
    parser.add_argument(
        "--pdf",
        action=argparse.BooleanOptionalAction,
        default="auto",
        help="whether the same is printed beside it (default: where a Chromium is found)",
    )
    completes(
        parser.add_argument(
            "--metric",
            action="append",
            metavar="NAME",
            help="e.g. TTFT; repeatable (default: all that have data)",
        ),
        metrics,
    )
    completes(
        parser.add_argument("--reference", metavar="ARM", help="arm that the others are compared with"), arms
    )
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from ..reporting import report

    page = report(
        options.studies,
        options.to,
        pdf=options.pdf,
        metrics=metrics_named(options.metric or ()),
        reference=options.reference,
    )
    print(page)
    if options.pdf and (printed := page.with_suffix(".pdf")).exists():
        print(printed)
    return DONE
