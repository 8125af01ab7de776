"""``agentlab export``."""

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
    text = "write all tables of studies as Parquet or CSV, or the file of one of the original scripts"
    parser = commands.add_parser("export", parents=[shared], help=text, description=text)
    completes(
        parser.add_argument(
            "studies", nargs="+", metavar="STUDY", help="study folder, or an old script's file"
        ),
        studies,
    )
    parser.add_argument(
        "--format",
        choices=("parquet", "csv", "schema2", "terminal_json", "session_summary"),
        default="parquet",
        help="default parquet; schema2: one JSON report per arm; terminal_json: memory, one file per study; "
        "session_summary: a page in a browser, one folder per run",
    )
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="new or empty folder")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from ..recording import load
    from ..recording.export import export

    for path in export(load(options.studies), options.to, format=options.format):
        print(path)
    return DONE
