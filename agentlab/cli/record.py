"""``agentlab record opencode``: options into a scenario, arms and a gateway."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from .arms import arms_of
from .completing import completes, studies
from .gateway import add_limits, gateway_of
from .original import check_report, header, server, write_report
from .outcome import judge, say
from .parser import Parser, whole
from .scenarios import NAMED, scenario_of

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
    text = "record a study of an agent"
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
    _add_asked(parser.add_argument_group("what is asked"))
    _add_how(parser.add_argument_group("how"))
    _add_report(parser.add_argument_group("the original cache script's report"))
    parser.set_defaults(command=_run, parser=parser)  # its own usage, not that of `record`


_Group = argparse._ArgumentGroup  # pyright: ignore[reportPrivateUsage] (argparse gives it no other name)


def _add_what(group: _Group) -> None:
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


def _add_server(group: _Group) -> None:
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


def _add_asked(group: _Group) -> None:
    scenario = group.add_argument(
        "--scenario",
        metavar="NAME",
        help=f"{', '.join(NAMED)} (default: the first; with --report the second), or a scenario's .json file",
    )
    completes(scenario, _names_or_files)
    group.add_argument("--turn", action="append", metavar="TEXT", help="a prompt of your own; repeatable")
    group.add_argument("--require", action="append", metavar="NEED", help="with --turn: text or tool:NAME")
    group.add_argument(
        "--timeout", type=float, metavar="S", help="longest turn, in seconds (default 600; cache-report 120)"
    )
    group.add_argument("--timeout-ms", type=whole(1), metavar="MS", help="the same, in milliseconds")
    group.add_argument("--start", type=float, metavar="S", help="until a server is ready (default 30)")
    group.add_argument("--stall", type=float, metavar="S", help="longest silence in a turn (default 60)")


def _add_how(group: _Group) -> None:
    group.add_argument("--runs", type=whole(1), default=10, metavar="N", help="runs of each arm (default 10)")
    completes(
        group.add_argument("--to", type=Path, metavar="FOLDER", help="default studies/<scenario>-<UTC>"),
        studies,
    )
    group.add_argument("--exists", choices=("resume", "refuse", "replace"), default="resume")
    group.add_argument("--order", choices=("interleaved", "sequential"), default="interleaved")
    group.add_argument(
        "--seed", type=whole(0), metavar="N", help="of the order; drawn and stored when absent"
    )
    group.add_argument("--host", choices=("auto", "kernel", "process", "inline"), default="auto")
    group.add_argument(
        "--detach",
        type=float,
        metavar="S",
        help="the study outlives this command, at most S seconds; agentlab attach follows it",
    )
    group.add_argument(
        "--quiet-wait",
        type=whole(0),
        metavar="S",
        help="longest wait before a run until the machine is quiet; else the run is marked (default 20)",
    )
    group.add_argument("--keep", choices=("numbers", "content"), default="numbers")
    group.add_argument("--progress", choices=("auto", "text", "none"), default="auto")


def _add_report(group: _Group) -> None:
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


def _names_or_files(prefix: str, **_: Any) -> list[str]:  # noqa: ANN401
    files = (str(path) for path in sorted(Path().glob("*.json")))
    return [name for name in (*NAMED, *files) if name.startswith(prefix)]


def _run(options: argparse.Namespace) -> int:
    from ..engine import record
    from ..engine.study import Quiet

    parser: Parser = options.parser
    try:
        check_report(options)
        gateway = gateway_of(options)
        scenario, arms = scenario_of(options), arms_of(options)
    except ConfigError as error:
        parser.fault(error)
    more: dict[str, Any] = {} if options.detach is None else {"detach": options.detach}
    if options.quiet_wait is not None:
        more["quiet"] = Quiet(wait_s=options.quiet_wait)
    recordings = record(
        scenario,
        arms,
        runs=options.runs,
        to=options.to,
        exists=options.exists,
        order=options.order,
        seed=options.seed,
        gateway=gateway,
        host=options.host,
        keep=options.keep,
        progress=options.progress,
        **more,
    ).result()
    print(recordings)
    if options.report:
        (driver,) = arms.values()
        say(f"report: {write_report(recordings, driver, options)}")
    return judge(recordings)
