"""``agentlab attach``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .completing import completes, studies
from .outcome import judge


def add(commands: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401
    """Add the command.

    Parameters
    ----------
    commands : object
        What ``add_subparsers`` returned.
    shared : argparse.ArgumentParser
        Options of every command.
    """
    text = "follow a study that was recorded with --detach, until it ends"
    parser = commands.add_parser(
        "attach", parents=[shared], help=text, description=f"{text}. ^C ends the view, not the study."
    )
    completes(parser.add_argument("study", type=Path, metavar="STUDY", help="its folder"), studies)
    parser.add_argument("--cancel", action="store_true", help="end it; what was measured is kept")
    parser.add_argument("--progress", choices=("auto", "text", "none"), default="auto")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from ..host.attach import attach

    running = attach(options.study, progress=options.progress)
    if options.cancel:
        running.cancel()
    recordings = running.result()
    print(recordings)
    return judge(recordings)
