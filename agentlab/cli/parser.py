"""The parser of all commands."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from .. import __version__
from ..errors import ConfigError
from .shell import in_shell

#: The largest whole number that every reader of JSON keeps exactly.
_SAFE = 2**53 - 1


class Parser(argparse.ArgumentParser):
    """Parse without guessing: no abbreviations, and a value may begin with one dash.

    As in the original cache script a value that begins with ``--`` counts as missing, and the last of a
    repeated option wins (but for those that say ``repeatable``).
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **{"allow_abbrev": False, **options})

    def _parse_optional(self, arg_string: str) -> Any:  # noqa: ANN401
        one_dash = re.match(r"-[^-]", arg_string)
        if one_dash and arg_string not in self._option_string_actions:
            return None  # a value
        return super()._parse_optional(arg_string)

    def fault(self, error: ConfigError) -> NoReturn:
        """End with the usage and what is wrong, before anything was touched.

        Parameters
        ----------
        error : ConfigError
            What is wrong.
        """
        self.error(in_shell(str(error)))


def whole(least: int) -> Any:  # noqa: ANN401
    """Return a converter for whole numbers.

    Parameters
    ----------
    least : int
        The smallest that is allowed.

    Returns
    -------
    callable
        Text to int, for ``type=``.
    """

    def convert(text: str) -> int:
        if not re.fullmatch(r"\d{1,16}", text, re.ASCII) or not least <= int(text) <= _SAFE:
            raise argparse.ArgumentTypeError(f"{text!r}: give a whole number from {least}")
        return int(text)

    return convert


def make_parser() -> Parser:
    """Return the parser; each command's options come from its own module.

    Returns
    -------
    Parser
    """
    from . import attach, check, compare, completion, demo, doctor, export, gateway, install, record, report

    parser = Parser(
        prog="agentlab",
        description="Measure coding agents: real runs, kept evidence, honest intervals.",
        epilog="Exit codes: 0 done, 1 a budget or check failed, 2 wrong usage, 3 measured but nothing "
        "eligible, 130 interrupted. Completion of commands, options, studies and arms: "
        "agentlab completion bash --help",
    )
    parser.add_argument("--version", action="version", version=f"agentlab {__version__}")
    shared = Parser(add_help=False)
    shared.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (
        demo,
        doctor,
        install,
        record,
        attach,
        gateway,
        compare,
        check,
        report,
        export,
        completion,
    ):
        module.add(commands, shared)
    for command in commands.choices.values():
        command.set_defaults(parser=command)
    return parser
