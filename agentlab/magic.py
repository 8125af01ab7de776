"""``%agentlab``: a study, or its estimates, in one line of a notebook."""

from __future__ import annotations

import argparse
import difflib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .errors import ConfigError
from .stats.metrics import CACHE_REPORT, Metric, named, names

if TYPE_CHECKING:
    import pandas as pd

    from .recording import Recordings

_USAGE = """\
%agentlab STUDY...                              its runs: used, discarded and why
%agentlab STUDY... METRIC... [--reference ARM]  levels and differences with intervals over runs

STUDY is a folder, a report file, or a variable that holds Recordings; METRIC a name of agentlab.metrics in
any case, or CACHE_REPORT. The line is a value: estimates = %agentlab studies/cache TTFT
"""

_NAMES = [*(name for name in names() if name.isupper()), "CACHE_REPORT"]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _usage(f"{message}\n\n{_USAGE}")


def _usage(message: str) -> Exception:
    from IPython.core.error import UsageError

    return UsageError(f"%agentlab: {message}")


def agentlab(line: str, variables: Mapping[str, Any]) -> Recordings | pd.DataFrame:
    """Carry out one line.

    Parameters
    ----------
    line : str
        What stands behind ``%agentlab``.
    variables : mapping
        Of the notebook: a word that names Recordings there is meant before a path.

    Returns
    -------
    Recordings or pandas.DataFrame
        Without a metric the recordings, else the estimates; both show themselves as cards.

    Raises
    ------
    IPython.core.error.UsageError
        The line is not understood; the message says how it is written.
    RecordingError, ImportFormatError
        The study cannot be read.
    """
    parser = _Parser(prog="%agentlab", add_help=False, allow_abbrev=False)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--reference")
    try:
        options = parser.parse_args(shlex.split(line))
    except ValueError as error:  # a quote that is not closed
        raise _usage(str(error)) from None
    metrics: list[Metric] = []
    studies: list[str] = []
    for word in options.words:
        found = () if word in variables or Path(word).exists() else _metrics(word)
        metrics += found
        studies += [] if found else [word]
    if not studies:
        raise _usage(f"name a study\n\n{_USAGE}")
    recs = _load(studies, variables)
    if not metrics:
        if options.reference is not None:
            raise _usage("--reference is for metrics; name one")
        return recs
    from .stats.compare import compare

    try:
        return compare(recs, *metrics, reference=options.reference)
    except ConfigError as error:
        raise _usage(str(error)) from None


def _metrics(word: str) -> tuple[Metric, ...]:
    """Return the metrics that a word names: none for what may be a study."""
    upper = word.upper().replace("-", "_")
    if upper == "CACHE_REPORT":
        return CACHE_REPORT
    return next(((named(name),) for name in (word, upper) if name in names()), ())


def _load(studies: list[str], variables: Mapping[str, Any]) -> Recordings:
    from .recording import Recordings, load

    parts: list[Recordings] = []
    for study in studies:
        value = variables.get(study)
        if not isinstance(value, Recordings) and not Path(study).expanduser().exists():
            near = difflib.get_close_matches(study.upper(), _NAMES, n=1)
            hint = f"did you mean {near[0]}?" if near else f"metrics are {', '.join(_NAMES)}"
            raise _usage(f"{study!r} is no study, no variable with Recordings and no metric; {hint}")
        parts.append(value if isinstance(value, Recordings) else load(study))
    joined = parts[0]
    for part in parts[1:]:
        joined = joined + part
    return joined


def register(shell: Any) -> None:  # noqa: ANN401
    """Give a shell ``%agentlab``; a second time changes nothing.

    Parameters
    ----------
    shell : IPython.InteractiveShell
        Where.
    """

    def line_magic(line: str) -> Recordings | pd.DataFrame:
        return agentlab(line, shell.user_ns)

    line_magic.__doc__ = _USAGE
    shell.register_magic_function(line_magic, magic_kind="line", magic_name="agentlab")
    shell.set_hook("complete_command", _complete, str_key="%agentlab")


def _complete(_: Any, event: Any) -> list[str]:  # noqa: ANN401
    """Offer metrics behind ``%agentlab STUDY``; for the study, and where none fits, files as elsewhere."""
    from IPython.core.error import TryNext

    first = len(event.text_until_cursor.removesuffix(event.symbol).split()) < 2
    named = () if first or not event.symbol else _NAMES
    fitting = [name for name in named if name.startswith(event.symbol.upper())]
    if event.symbol.startswith("-"):
        fitting = ["--reference"]
    if not fitting:
        raise TryNext
    return fitting
