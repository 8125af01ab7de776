"""``agentlab install``."""

from __future__ import annotations

import argparse
from typing import Any

from .completing import completes
from .outcome import DONE, say


def add(commands: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401
    """Add the command.

    Parameters
    ----------
    commands : object
        What ``add_subparsers`` returned.
    shared : argparse.ArgumentParser
        Options of every command.
    """
    text = "install an agent at its pinned version"
    parser = commands.add_parser("install", parents=[shared], help=text, description=text)
    text = "e.g. opencode or codex; an unknown name lists those that exist"
    completes(parser.add_argument("name", metavar="NAME", help=text), _names)
    parser.add_argument("--version", metavar="V", help="another exact version")
    parser.set_defaults(command=_run)


def _names(prefix: str, **_: Any) -> list[str]:  # noqa: ANN401
    from ..agents.installable import installables

    return [name for name in installables() if name.startswith(prefix)]


def _run(options: argparse.Namespace) -> int:
    from ..agents import install

    print(install(options.name, version=options.version, say=say).executable)
    return DONE
