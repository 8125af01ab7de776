"""All commands on one parser."""

from __future__ import annotations

from .. import __version__
from . import attach, check, compare, completion, demo, doctor, export, gateway, install, record, report
from .parser import Parser

#: In the order of the help.
_COMMANDS = (demo, doctor, install, record, attach, gateway, compare, check, report, export, completion)


def make_parser() -> Parser:
    """Return the parser; each command's options come from its own module.

    Returns
    -------
    Parser
    """
    parser = Parser(
        prog="agentlab",
        description="Measure coding agents: real runs, kept evidence, honest intervals.",
        epilog="Exit codes: 0 done, 1 a budget, a check or the measurement failed, 2 wrong usage, 3 measured "
        "but nothing eligible, 130 interrupted. Completion of commands, options, studies and arms: "
        "agentlab completion bash --help",
    )
    parser.add_argument("--version", action="version", version=f"agentlab {__version__}")
    shared = Parser(add_help=False)
    shared.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in _COMMANDS:
        module.add(commands, shared)
    for command in commands.choices.values():
        command.set_defaults(parser=command)
    return parser
