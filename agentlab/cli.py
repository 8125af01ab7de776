"""The command line: results on stdout, progress on stderr, errors in one clear line.

Exit codes: 0 done, 1 a budget or check failed, 2 wrong usage, 3 measured but nothing eligible,
130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Generator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from . import __version__
from .errors import (
    AgentlabError,
    AgentlabWarning,
    ConfigError,
    ImportFormatError,
    MissingExtra,
    RecordingError,
)

if TYPE_CHECKING:
    from .stats.metrics import Metric

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130  # and 3: measured, but nothing eligible
_METRICS = ("TTFT", "TURN_LATENCY", "CACHE_HIT_RATE")


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
        Wrong usage (2), or ``--help`` and ``--version`` (0).

    Examples
    --------
    >>> main(["compare", "no/such/study"])
    2
    """
    options = _parser().parse_args(argv)
    with _termination_as_interrupt(), _warnings_in_a_line():
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
            text = f"unexpected {type(error).__name__}: {error}. --debug shows where; please report it"
            return _problem(text, FAILED, options.debug)


def say(line: str) -> None:
    """Print one line of progress on stderr.

    Parameters
    ----------
    line : str
        What to say.
    """
    print(f"agentlab: {line}", file=sys.stderr, flush=True)


def _problem(message: str, code: int, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    *lines, last = message.splitlines() or [""]
    say(" ".join([*(line if line.endswith((".", ":")) else f"{line}." for line in lines), last]))
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agentlab",
        description="Measure coding agents: real runs, kept evidence, honest intervals.",
        epilog="Exit codes: 0 done, 1 a budget or check failed, 2 wrong usage, 3 measured but nothing "
        "eligible, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"agentlab {__version__}")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser(
        "demo", parents=[shared], help="measure two prompts on the real OpenCode and write a report"
    )
    demo.add_argument("--runs", type=int, default=6, metavar="N", help="runs of each arm (default 6)")
    demo.add_argument("--seed", type=int, default=7, metavar="N", help="of the order of the runs (default 7)")
    demo.add_argument("--to", type=Path, metavar="FOLDER", help="new folder (default reports/demo-<UTC>)")
    demo.set_defaults(command=_demo)

    doctor = commands.add_parser("doctor", parents=[shared], help="what this machine can measure")
    doctor.set_defaults(command=_doctor)

    install = commands.add_parser("install", parents=[shared], help="install an agent at its pinned version")
    install.add_argument("name", metavar="NAME", help="opencode")
    install.add_argument("--version", metavar="V", help="another exact version")
    install.set_defaults(command=_install)

    from .cli_record import add_record

    add_record(commands, shared)

    compare = commands.add_parser("compare", parents=[shared], help="estimates and intervals of studies")
    compare.add_argument("studies", nargs="+", metavar="STUDY", help="study folder or cache report file")
    compare.add_argument(
        "--metric",
        action="append",
        metavar="NAME",
        help=f"e.g. TTFT; repeatable; CACHE_REPORT is the original's four (default {', '.join(_METRICS)})",
    )
    compare.add_argument("--reference", metavar="ARM", help="arm that the others are compared with")
    compare.add_argument("--interval", choices=("auto", "percentile", "original"), default="auto")
    compare.add_argument("--csv", type=Path, metavar="FILE", help="write all columns of the estimates there")
    compare.set_defaults(command=_compare)
    return parser


def _demo(options: argparse.Namespace) -> int:
    from .demo import default_folder, estimates_text, make_report

    folder: Path = options.to or default_folder()
    page = make_report(folder, runs=options.runs, seed=options.seed, say=say)
    print(estimates_text(page.parent))
    print(page)
    return DONE


def _doctor(options: argparse.Namespace) -> int:
    from .agents import doctor

    report = doctor()
    print(report)
    return DONE if report.ok else FAILED


def _install(options: argparse.Namespace) -> int:
    from .agents import install

    print(install(options.name, version=options.version, say=say).executable)
    return DONE


def _compare(options: argparse.Namespace) -> int:
    from . import metrics
    from .cli_record import judge
    from .recording import load
    from .stats.compare import compare
    from .widgets.cards import estimates_card

    chosen: list[metrics.Metric] = []
    for name in options.metric or _METRICS:
        several = name.upper().replace("-", "_") == "CACHE_REPORT"
        chosen.extend(metrics.CACHE_REPORT if several else [_metric(name)])
    recordings = load(options.studies)
    estimates = compare(recordings, *chosen, reference=options.reference, interval=options.interval)
    if options.csv:
        _write(options.csv, estimates.to_csv(index=False))
    print(estimates_card(estimates)["text/plain"])
    return judge(recordings)


def _metric(name: str) -> Metric:
    from . import metrics

    try:
        return metrics.named(name)
    except ConfigError:
        return metrics.named(name.upper().replace("-", "_"))


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text)
        part.replace(path)
    except OSError as error:
        raise ConfigError(f"--csv {path}: {error.strerror}") from None
