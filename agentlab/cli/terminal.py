"""``agentlab record terminal``: memory and start-up of agents on terminals, over numbers of sessions."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, StartupError
from .completing import completes
from .outcome import judge, say
from .parser import Parser, whole
from .study import Group, add_how, recorded
from .text_table import text_table

if TYPE_CHECKING:
    from ..drivers.terminal import Terminal
    from ..scenario import Scenario

_DEFAULT = ("codex", "opencode", "pi", "claude_code")
_USAGE = """agentlab record terminal [TOOL...] [--sessions N...] [--runs N] [--timeout S]
           [--settle plateau | --settle S] [--hold S] [--home cold|warm] [--daemon shared|isolated]
           [--max-psi PERCENT] [--quiet-wait S] [--max-attempts N] [--json-out FILE]
           [--to FOLDER] [OPTION...]
       agentlab record terminal --help"""
_EXAMPLE = f"""\
TOOL: any of docs/agents.md that is installed (agentlab install TOOL); default {" ".join(_DEFAULT)}.
One that is not known or not installed is said, and the others are measured.

examples:
  agentlab record terminal codex pi --sessions 1 4 10 --runs 5 --to studies/memory
  agentlab compare studies/memory --metric MEM_SLOPE --reference codex
  agentlab compare studies/memory --metric FIRST_INPUT --where n_sessions=1 --reference codex

  the original terminal script's command line:
  agentlab record terminal --tools codex pi --sessions 1 4 10 --reps 3 --settle 3 --max-psi 1.0 \\
      --quiet-wait 900 --max-attempts 3 --json-out bench.json

Sessions of a run start at the same time, runs of all tools and numbers in random blocks (the original: one
after the other, tool by tool). A session is ready once what is typed shows on its rendered screen. A run with
a session that never is, or under memory pressure in all its attempts, is discarded and in no figure; the file
of --json-out has it, and its own medians count it.
"""


def add(agents: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401
    """Add the command to those of ``record``.

    Parameters
    ----------
    agents : object
        What ``add_subparsers`` of ``record`` returned.
    shared : argparse.ArgumentParser
        Options of every command.
    """
    parser = agents.add_parser(
        "terminal",
        parents=[shared],
        help="memory and start-up of agents on terminals",
        usage=_USAGE,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_what(parser.add_argument_group("what is measured"))
    _add_sessions(parser.add_argument_group("how long sessions are given"))
    how = parser.add_argument_group("how")
    add_how(how)
    _add_original(how)
    parser.set_defaults(command=_run, parser=parser, runs=3)


def _add_what(group: Group) -> None:
    completes(group.add_argument("names", nargs="*", metavar="TOOL", help="see below"), _names)
    completes(group.add_argument("--tools", nargs="+", metavar="TOOL", help="the same, as an option"), _names)
    group.add_argument(
        "--sessions",
        type=whole(1),
        nargs="+",
        default=[1, 4],
        metavar="N",
        help="how many at once; each number is a run of its own (default 1 4)",
    )
    group.add_argument("--home", choices=("cold", "warm"), default="cold", help="warm: started once before")
    group.add_argument(
        "--daemon",
        choices=("shared", "isolated"),
        default="shared",
        help="isolated: each session has a home, and with it a daemon, of its own",
    )


def _add_sessions(group: Group) -> None:
    group.add_argument(
        "--timeout",
        "--start",
        dest="timeout",
        type=float,
        default=60.0,
        metavar="S",
        help="until a session takes input (default 60; the original 20)",
    )
    group.add_argument(
        "--settle",
        type=_settle,
        default="plateau",
        metavar="S",
        help="plateau: until memory stays the same (default); or so many seconds, as the original (3)",
    )
    group.add_argument(
        "--hold", type=float, default=0.0, metavar="S", help="kept idle after that (default 0)"
    )


def _add_original(group: Group) -> None:
    group.add_argument(
        "--reps", type=whole(1), dest="runs", metavar="N", help="the same as --runs (default 3)"
    )
    group.add_argument(
        "--max-psi",
        type=float,
        default=1.0,
        metavar="PERCENT",
        help="most memory pressure (PSI some avg10) before and after a run (default 1.0)",
    )
    group.add_argument(
        "--max-attempts",
        type=whole(1),
        default=3,
        metavar="N",
        help="most runs in place of one that was under memory pressure (default 3)",
    )
    group.add_argument(
        "--json-out",
        type=Path,
        metavar="FILE",
        help="also the original's JSON, written anew after each run",
    )


def _settle(text: str) -> str | float:
    if text == "plateau":
        return text
    if not re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r}: write plateau, or a number of seconds")
    return float(text)


def _names(prefix: str, **_: Any) -> list[str]:  # noqa: ANN401
    from ..agents.tui.catalogue import TERMINALS

    return [name for name in TERMINALS if name.startswith(prefix)]


def _run(options: argparse.Namespace) -> int:
    from ..engine.study import default_folder
    from ..engine.waiting import Quiet
    from ..reporting.terminals import rows_by_sessions, said_of_sessions
    from .terminal_watch import rewritten

    parser: Parser = options.parser
    try:
        scenario = _scenario(options)
        arms = terminal_arms(options)
        wait = {} if options.quiet_wait is None else {"wait_s": options.quiet_wait}
        quiet = Quiet(memory_some_avg10=options.max_psi, attempts=options.max_attempts, **wait)
        if options.json_out is not None:
            from ..importers.terminal_json_writer import check_target

            check_target(options.json_out)
    except ConfigError as error:
        parser.fault(error)
    options.to = options.to or default_folder(scenario)
    with rewritten(options.json_out, options.to):
        recordings = recorded(options, scenario, arms, None, quiet=quiet)
    print(recordings)
    print(text_table(rows_by_sessions(recordings)))
    for line in said_of_sessions(recordings):
        print(line)
    return judge(recordings)


def _scenario(options: argparse.Namespace) -> Scenario:
    from ..scenario import Scenario, Timeouts

    return Scenario("terminal", timeouts=Timeouts(start=options.timeout))


def terminal_arms(options: argparse.Namespace) -> dict[str, Terminal]:
    """Make an arm of each tool that can be measured, and say which cannot.

    Parameters
    ----------
    options : argparse.Namespace
        Parsed options.

    Returns
    -------
    dict
        Name to driver.

    Raises
    ------
    ConfigError
        A setting is wrong, or none of the tools can be measured.
    """
    from ..drivers.terminal import Terminal

    settings: dict[str, Any] = {
        "sessions": tuple(options.sessions),
        "home": options.home,
        "daemon": options.daemon,
        "settle": options.settle,
        "hold_s": options.hold,
    }
    Terminal(command=["true"], **settings)  # what is wrong with all of them is said once
    names = [name.replace("-", "_") for name in (*options.names, *(options.tools or ()))] or list(_DEFAULT)
    arms: dict[str, Terminal] = {}
    for name in dict.fromkeys(names):
        try:
            arm = Terminal(name, **settings)
            arm.identify()
        except (ConfigError, StartupError) as error:
            say(f"{name} is left out: {error}")
        else:
            arms[name] = arm
    if not arms:
        raise ConfigError("none of these tools can be measured; agentlab install NAME installs one")
    return arms
