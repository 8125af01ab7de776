"""``agentlab report``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .completing import completes, studies
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
    text = "write one self-contained HTML page about a study"
    parser = commands.add_parser("report", parents=[shared], help=text, description=text)
    completes(
        parser.add_argument(
            "study", type=Path, metavar="STUDY", help="study folder, or an old script's file"
        ),
        studies,
    )
    parser.add_argument("--to", type=Path, metavar="FILE", help="the page (.html)")
    parser.add_argument("--pdf", action="store_true", help="a PDF beside it, too; needs Chromium")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from ..reporting import report

    print(report(options.study, options.to, pdf=options.pdf))
    return DONE
