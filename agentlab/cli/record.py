"""``agentlab record opencode``: options into a scenario, arms and a gateway."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from .agents import add as add_agents
from .arms import arms_of
from .exec import add as add_exec
from .gateway import add_limits, gateway_of
from .original import check_report, header, server, write_report
from .outcome import judge, say
from .parser import Parser, whole
from .scenarios import scenario_of
from .study import Group, add_asked, add_how, recorded
from .terminal import add as add_terminal
from .webchat import add as add_webchat

_USAGE = """agentlab record opencode [--model PROVIDER/MODEL] [--arm NAME [KEY=VALUE ...]]...
           [--gateway-script NAME | --gateway URL [--gateway-key-env NAME]
            | --server URL [--header NAME:VALUE]... [--auth-env NAME]]
           [--scenario NAME | --turn TEXT...] [--runs N] [--to FOLDER] [--report FILE] [OPTION...]
       agentlab record opencode --help"""
_EXAMPLE = """\
examples:
  agentlab record opencode --gateway-script cache-probe --runs 6 --to studies/cache \\
      --arm stable --arm volatile system="Turn {turn} of the day."
  agentlab compare studies/cache --metric CACHE_HIT_RATE --reference stable

  the original cache script's command line, on a server that runs already:
  agentlab record opencode --server http://127.0.0.1:4096 --provider ID --model ID --runs 10 \\
      --arm plugin-on --plugin-build 2.2.24 --output report.json

An --arm is a name and its settings KEY=VALUE; what it leaves out comes from the options before.
Values that begin with [ { or " and true, false, null are read as JSON, all others are text.
A value may begin with one dash; one that begins with -- counts as missing.
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
    text = "record a study of agents"
    agents = commands.add_parser("record", help=text, description=text).add_subparsers(
        required=True, metavar="AGENT"
    )
    parser = agents.add_parser(
        "opencode",
        parents=[shared],
        help="OpenCode over HTTP and its event stream",
        usage=_USAGE,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_what(parser.add_argument_group("what is measured"))
    _add_server(parser.add_argument_group("a server that runs already"))
    add_asked(parser.add_argument_group("what is asked"), "the first; with --report the second")
    add_how(parser.add_argument_group("how"))
    _add_report(parser.add_argument_group("the original cache script's report"))
    parser.set_defaults(command=_run, parser=parser)  # its own usage, not that of `record`
    add_agents(agents, shared)
    add_terminal(agents, shared)
    add_exec(agents, shared)
    add_webchat(agents, shared)


def _add_what(group: Group) -> None:
    group.add_argument(
        "--model",
        metavar="PROVIDER/MODEL",
        help="with --gateway-script default lab/scripted; with --provider the model's id alone",
    )
    group.add_argument("--provider", metavar="ID", help="provider of --model")
    group.add_argument(
        "--agent",
        metavar="NAME",
        help="OpenCode's agent (default build; with --server and --report orchestrator, as the original)",
    )
    group.add_argument(
        "--arm",
        nargs="+",
        action="append",
        metavar=("NAME", "KEY=VALUE"),
        help="one condition; repeatable (default: one arm, opencode)",
    )
    group.add_argument(
        "--gateway-script", metavar="NAME", help="scripted model in front: cache-probe, or a .json file"
    )
    group.add_argument(
        "--gateway", metavar="URL", help="a gateway in front, and behind it a provider, e.g. https://HOST/v1"
    )
    add_limits(group)


def _add_server(group: Group) -> None:
    group.add_argument(
        "--server", type=server, metavar="URL", help="measure it, in place of a server of our own per arm"
    )
    group.add_argument(
        "--header",
        type=header,
        action="append",
        metavar="NAME:VALUE",
        help="sent with every request, never stored; repeatable, also the same name; others on this "
        "machine can read a command line",
    )
    group.add_argument(
        "--auth-env", metavar="NAME", help="environment variable with USER:PASSWORD for HTTP Basic"
    )
    group.add_argument(
        "--retries",
        type=whole(0),
        metavar="N",
        help="repeats of a failed health probe, GET or creation of a session: HTTP 5xx, 429 and broken "
        "connections only (default 2)",
    )
    group.add_argument(
        "--retry-delay-ms", type=whole(0), metavar="MS", help="before the first; doubles (default 500)"
    )


def _add_report(group: Group) -> None:
    group.add_argument(
        "--report",
        "--output",
        type=Path,
        metavar="FILE",
        help="also write the report with schemaVersion 2, of one arm; asks the original's two prompts",
    )
    group.add_argument(
        "--plugin-build",
        metavar="ID",
        help="what you call the plugin's build: stands in the report, and tells two arms of --server apart",
    )
    group.add_argument("--overwrite", action="store_true", help="the report may exist")


def _run(options: argparse.Namespace) -> int:
    parser: Parser = options.parser
    try:
        check_report(options)
        gateway = gateway_of(options)
        scenario, arms = scenario_of(options), arms_of(options)
    except ConfigError as error:
        parser.fault(error)
    recordings = recorded(options, scenario, arms, gateway)
    print(recordings)
    if options.report:
        (driver,) = arms.values()
        say(f"report: {write_report(recordings, driver, options)}")
    return judge(recordings)
