"""A parser that does not guess, and the converters of its values."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from ..errors import ConfigError
from .shell import in_shell

#: The largest whole number that every reader of JSON keeps exactly.
_SAFE = 2**53 - 1


class Parser(argparse.ArgumentParser):
    """Parse without guessing: no abbreviations, and a value may begin with one dash.

    As in the original cache script a value that begins with ``--`` counts as missing, and the last of a
    repeated option wins (but for those that say ``repeatable``). An empty value is none: it would count as
    not given, or as the folder one stands in.
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **{"allow_abbrev": False, **options})

    def _parse_optional(self, arg_string: str) -> Any:  # noqa: ANN401
        one_dash = re.match(r"-[^-]", arg_string)
        if one_dash and arg_string not in self._option_string_actions:
            return None  # a value
        return super()._parse_optional(arg_string)

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:  # noqa: ANN401
        if "" in arg_strings and action.nargs != argparse.PARSER:  # a command's own parser looks at its own
            raise argparse.ArgumentError(action, "the value is empty; is a variable of the shell not set?")
        return super()._get_values(action, arg_strings)

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
            most = f" to {_SAFE}" if len(text) >= len(str(_SAFE)) else ""
            raise argparse.ArgumentTypeError(f"{text!r}: give a whole number from {least}{most}")
        return int(text)

    return convert
