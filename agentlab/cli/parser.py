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
