"""``agentlab record exec``: exec sessions by our rules and by the original's, and their table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from .completing import completes
from .outcome import judge
from .parser import Parser, whole
from .study import Group, add_how, recorded

_RULES = ("ours", "original")
_USAGE = """agentlab record exec [SCENARIO...] [--rules {ours,original}...] [--tty | --pipes] [--together N]
           [--file FILE] [--runs N] [--to FOLDER] [OPTION...]
       agentlab record exec --help"""
_EXAMPLE = """\
A scenario is a command and what is done to it: it ends before it is polled, prints after its end, ignores
TERM, leaves children in sessions of their own, takes a line of 10,000 bytes, prints 100 MB ... (default: all
of them; agentlab record exec --list names them). What the commands print holds their own clock, so that the
time from print to observation and the bytes that were lost are measured. original: after the end output is
awaited until 100 ms were silent, 1 s at most; then the session is forgotten.

examples:
  agentlab record exec --runs 10 --to studies/exec
  agentlab record exec interrupt long-line --rules ours --runs 3
  agentlab compare studies/exec --metric EXEC_LOST --reference original
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
        "exec",
        parents=[shared],
        help="exec sessions, by a file of scenarios in which they are known to fail",
        usage=_USAGE,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_what(parser.add_argument_group("what is measured"))
    add_how(parser.add_argument_group("how"))
    parser.set_defaults(command=_run, parser=parser)


def _add_what(group: Group) -> None:
    completes(group.add_argument("names", nargs="*", metavar="SCENARIO", help="default: all"), _names)
    group.add_argument(
        "--rules", nargs="+", choices=_RULES, default=_RULES, help="one arm each (default: both)"
    )
    kind = group.add_mutually_exclusive_group()
    kind.add_argument("--tty", action="store_true", default=None, help="only scenarios on a terminal")
    kind.add_argument("--pipes", dest="tty", action="store_false", default=None, help="only those over pipes")
    group.add_argument(
        "--together", type=whole(1), default=4, metavar="N", help="scenarios played at once (default 4)"
    )
    group.add_argument("--file", type=Path, metavar="FILE", help="a scenario file of your own, JSON")
    group.add_argument("--list", action="store_true", help="say which scenarios there are, and end")


def _names(prefix: str, **_: Any) -> list[str]:  # noqa: ANN401
    from ..drivers.exec.scenarios import exec_scenarios

    return [name for name in exec_scenarios() if name.startswith(prefix)]


def _run(options: argparse.Namespace) -> int:
    from ..drivers.exec.driver import Exec
    from ..scenario import Scenario
    from .exec_table import exec_table

    parser: Parser = options.parser
    more = {"tty": options.tty, "together": options.together, "file": options.file}
    try:
        arms = {rules: Exec(options.names, rules=rules, **more) for rules in dict.fromkeys(options.rules)}
        scenarios = next(iter(arms.values())).scenarios()
    except ConfigError as error:
        parser.fault(error)
    if options.list:
        width = max(map(len, scenarios))
        print("\n".join(f"{name:<{width}}  {one.about}" for name, one in scenarios.items()))
        return 0
    recordings = recorded(options, Scenario("exec"), arms, None)
    print(recordings)
    print(exec_table(recordings, list(scenarios)))
    return judge(recordings)
