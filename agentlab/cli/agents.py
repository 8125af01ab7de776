"""``agentlab record agents``: several agents and the reference agent behind one gateway, and their table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, StartupError
from .agents_arms import NAMES, agent_arms, workspace
from .completing import completes
from .gateway import add_limits, gateway_of
from .outcome import judge
from .parser import Parser
from .scenarios import TASK, scenario_of
from .study import Group, add_asked, add_how, recorded

if TYPE_CHECKING:
    from ..drivers.base import Driver

#: An agent that takes no answer for an end asks on for ever: 600 requests in 90 s were seen.
_MAX_REQUESTS = 100
_USAGE = """agentlab record agents [NAME...] [--arm NAME [KEY=VALUE ...]]... [--model PROVIDER/MODEL]
           (--gateway-script NAME | --gateway URL [--gateway-key-env NAME])
           [--price IN,OUT[,CACHED...]] [--budget-usd USD] [--workspace FOLDER]
           [--scenario NAME | --turn TEXT...] [--runs N] [--to FOLDER] [OPTION...]
       agentlab record agents --help"""
_EXAMPLE = f"""\
NAME: {", ".join(NAMES)}
(default: all but opencode_server). reference and windowed are a small tool loop of our own, the control
arms: its context grows, or old observations are taken out of it.

examples:
  agentlab record agents --gateway-script task --price 3,15,0.30 --runs 3 --to studies/agents
  agentlab record agents pi codex reference --gateway-script task --runs 5 \\
      --arm bare agent=claude_code flags='["--bare"]'
  agentlab compare studies/agents --metric COST --metric REQUESTS --metric PREFIX_REUSE --reference reference

A run is ended at {_MAX_REQUESTS} requests (--max-requests).
Each agent speaks its own dialect, which is passed on and never translated: behind --gateway URL stands a
provider that knows it (--arm NAME dialect=chat asks an agent for another one that it speaks).
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
        "agents",
        parents=[shared],
        help="command-line agents and the reference agent, behind one gateway",
        usage=_USAGE,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_what(parser.add_argument_group("what is measured"))
    add_asked(parser.add_argument_group("what is asked"), TASK.name)
    add_how(parser.add_argument_group("how"))
    # What only `record opencode` has, where the same functions look for it.
    parser.set_defaults(server=None, header=None, auth_env=None, report=None)
    parser.set_defaults(command=_run, parser=parser, max_requests=_MAX_REQUESTS)


def _add_what(group: Group) -> None:
    completes(group.add_argument("names", nargs="*", metavar="NAME", help="agents, see below"), _names)
    group.add_argument(
        "--arm",
        nargs="+",
        action="append",
        metavar=("NAME", "KEY=VALUE"),
        help="one more condition: agent=NAME (default: the arm's name) and settings of its driver; "
        "repeatable",
    )
    group.add_argument(
        "--model",
        metavar="PROVIDER/MODEL",
        help="of all arms; with --gateway-script default lab/scripted, and for agents that choose their "
        "prompt by the model one that they know",
    )
    group.add_argument(
        "--workspace",
        type=workspace,
        metavar="FOLDER",
        help="copied afresh for each run; or git+PATH@COMMIT (default: with --scenario task the folder that "
        "is shipped with it, else a small generated project)",
    )
    group.add_argument(
        "--window-tokens",
        type=int,
        default=1500,
        metavar="N",
        help="window of the arm windowed (default 1500)",
    )
    group.add_argument(
        "--network",
        choices=("open", "loopback"),
        default="open",
        help="loopback (root): agents reach the gateway only, and names that they look up are recorded",
    )
    group.add_argument(
        "--gateway-script", metavar="NAME", help="scripted model in front: task, or a .json file"
    )
    group.add_argument("--gateway", metavar="URL", help="a provider behind the gateway, e.g. https://HOST/v1")
    add_limits(group)


def _names(prefix: str, **_: Any) -> list[str]:  # noqa: ANN401
    return [name for name in NAMES if name.startswith(prefix)]


def _run(options: argparse.Namespace) -> int:
    from .agents_table import agents_table

    parser: Parser = options.parser
    try:
        if options.gateway is None and options.gateway_script is None:
            raise ConfigError(
                "these agents have no model without a gateway: add --gateway-script task, or --gateway URL"
            )
        gateway = gateway_of(options)
        scenario = scenario_of(options, default=TASK)
        arms = agent_arms(options, scenario)
    except ConfigError as error:
        parser.fault(error)
    try:
        recordings = recorded(options, scenario, arms, gateway)
    except StartupError as error:
        raise _all_missing(arms) or error from None
    print(recordings)
    print(agents_table(recordings))
    return judge(recordings)


def _all_missing(arms: Mapping[str, Driver]) -> StartupError | None:
    """Name all agents that are not installed at once, where there are several."""
    commands: dict[str, None] = {}
    for driver in arms.values():
        try:
            driver.identify()
        except StartupError as error:
            if error.phase == "install":
                commands[str(error).rpartition("Run: ")[2]] = None
    if len(commands) < 2:
        return None
    return StartupError(
        f"{len(commands)} agents are not installed. Run: {' && '.join(commands)}; or name those to measure",
        phase="install",
    )
