"""``agentlab doctor``."""

from __future__ import annotations

import argparse
from typing import Any

from .outcome import DONE, FAILED


def add(commands: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401
    """Add the command.

    Parameters
    ----------
    commands : object
        What ``add_subparsers`` returned.
    shared : argparse.ArgumentParser
        Options of every command.
    """
    text = "what this machine can measure, and what mends the rest"
    parser = commands.add_parser("doctor", parents=[shared], help=text, description=text)
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from ..agents import doctor

    report = doctor()
    print(report)
    return DONE if report.ok else FAILED
