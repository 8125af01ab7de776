"""``agentlab demo``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .outcome import judge, say


def add(commands: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401
    """Add the command.

    Parameters
    ----------
    commands : object
        What ``add_subparsers`` returned.
    shared : argparse.ArgumentParser
        Options of every command.
    """
    text = "measure two prompts on the real OpenCode, and the memory of two agents, and write reports"
    parser = commands.add_parser("demo", parents=[shared], help=text, description=text)
    parser.add_argument("--runs", type=int, default=6, metavar="N", help="runs of each arm (default 6)")
    parser.add_argument(
        "--seed", type=int, default=7, metavar="N", help="of the order of the runs (default 7)"
    )
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="new folder (default reports/demo-<UTC>)")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from ..demo import default_folder, estimates_text, make_report, measure_memory, memory_text
    from ..recording import load

    folder: Path = options.to or default_folder()
    page = make_report(folder, runs=options.runs, seed=options.seed, say=say)
    beside = measure_memory(folder, runs=min(3, options.runs), seed=options.seed, say=say)
    for text in (estimates_text(folder), memory_text(folder), page, beside):
        print(text)
    studies = [load(folder / "studies" / name) for name in ("cache", "memory")]
    for study in studies:
        if not all(run.eligible for run in study):
            print(study)
    return max(map(judge, studies))
