"""``agentlab completion``."""

from __future__ import annotations

import argparse
from typing import Any

from .outcome import DONE

_HOW = """\
The script is written to stdout; where to put it:
  bash  eval "$(agentlab completion bash)"                                   in ~/.bashrc
  zsh   eval "$(agentlab completion zsh)"                                    in ~/.zshrc, after compinit
  fish  agentlab completion fish > ~/.config/fish/completions/agentlab.fish
It asks agentlab itself at each TAB, so it also knows this folder's studies and their arms.
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
    text = "print a script that lets a shell complete commands, options, studies and arms"
    parser = commands.add_parser(
        "completion",
        parents=[shared],
        help=text,
        description=text,
        epilog=_HOW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    print(shellcode(["agentlab"], shell=options.shell))
    return DONE
