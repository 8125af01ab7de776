"""The command line: results on stdout, progress on stderr, errors in one clear line.

Exit codes: 0 done, 1 a budget, a check or the measurement failed, 2 wrong usage, 3 measured but nothing
eligible, 130 interrupted. One module per command; each imports what it runs only when it runs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Generator, Sequence
from types import FrameType
from typing import Any

from ..errors import (
    AgentlabError,
    AgentlabWarning,
    ConfigError,
    ImportFormatError,
    MissingExtra,
    RecordingError,
)
from .commands import make_parser
from .outcome import DONE, FAILED, INTERRUPTED, USAGE, say
from .shell import ShellWords

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; the process's own when absent.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    SystemExit
        Wrong usage (2, with the usage on stderr), or ``--help`` and ``--version`` (0).

    Examples
    --------
    >>> main(["compare", "no/such/study"])
    2
    """
    parser = make_parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what could come next
        import argcomplete

        argcomplete.autocomplete(parser, always_complete_options=False)  # only after a dash
    argv = sys.argv[1:] if argv is None else argv
    if odd := [place for place, argument in enumerate(argv, 1) if not _is_text(argument)]:
        parser.error(f"argument {odd[0]} is no UTF-8 text")  # not shown: it may be a header's value
    options, rest = parser.parse_known_args(argv)
    if rest:
        options.parser.error(_too_many(rest, hide=bool(getattr(options, "header", None))))
    words: Any = ShellWords(sys.stderr)
    with _termination_as_interrupt(), _warnings_in_a_line(), contextlib.redirect_stderr(words):
        try:
            return options.command(options)
        except KeyboardInterrupt as error:
            return _problem(str(error) or "interrupted", INTERRUPTED, options.debug)
        except (ConfigError, MissingExtra, RecordingError, ImportFormatError) as error:
            return _problem(str(error), USAGE, options.debug)
        except AgentlabError as error:
            return _problem(str(error), FAILED, options.debug)
        except BrokenPipeError:  # e.g. `agentlab compare ... | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return DONE
        except Exception as error:
            if isinstance(error, OSError) and error.filename is not None and error.strerror:
                return _problem(f"{os.fsdecode(error.filename)}: {error.strerror}", USAGE, options.debug)
            text = f"unexpected {type(error).__name__}: {error}. --debug shows where; please report it"
            return _problem(text, FAILED, options.debug)


def _is_text(argument: str) -> bool:
    """Say whether it can be stored: Python hands on bytes that are no UTF-8 as lone surrogates."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def _too_many(rest: Sequence[str], *, hide: bool) -> str:
    """Say what belongs to nothing; never a value of a misspelt option, or of a header that was not quoted."""
    options = [word.partition("=")[0] for word in rest if word.startswith("--")]
    if options or not hide:
        return f"unrecognized arguments: {' '.join(options or rest)}"
    return "words that belong to no option; put a value that holds blanks in quotes"


def _problem(message: str, code: int, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    *lines, last = message.splitlines() or [""]
    say(" ".join([*(line if line.endswith((".", ":", "?", "!")) else f"{line}." for line in lines), last]))
    return code


@contextlib.contextmanager
def _termination_as_interrupt() -> Generator[None]:
    """Let SIGTERM and SIGHUP clean up as ^C does."""

    def handle(number: int, frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    if threading.current_thread() is not threading.main_thread():
        yield  # handlers can be set on the main thread only
        return
    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _warnings_in_a_line() -> Generator[None]:
    """Show a warning of agentlab without the line of source that raised it."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def in_a_line(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:  # noqa: ANN401
            if issubclass(category, AgentlabWarning):
                say(f"note: {message}")
            else:
                show(message, category, *where, **more)

        warnings.showwarning = in_a_line
        warnings.simplefilter("always", AgentlabWarning)  # said each time, whatever -W or PYTHONWARNINGS asks
        yield
