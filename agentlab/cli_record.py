"""``agentlab record opencode``: options into a scenario, arms and a gateway."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ConfigError
from .scenario import Scenario

if TYPE_CHECKING:
    from .drivers.opencode import OpenCode
    from .recording import Recordings

#: The study of the README and of notebooks/10_cache.ipynb: the same nonce begins all prompts of a session.
CACHE_PROBE = Scenario(
    "cache-probe",
    turns=[
        "Session marker: {nonce}. Read package.json, then write one todo.",
        "Session marker: {nonce}. Explain what a manifest is for.",
        "Session marker: {nonce}. Reply exactly: follow-up complete.",
    ],
    require=("tool:read", "tool:todowrite", "text"),
)
_NO_OPTIONS = ("auth", "headers", "gateway")
_EXAMPLE = """\
example:
  agentlab record opencode --gateway-script cache-probe --runs 6 --to studies/cache \\
      --arm stable --arm volatile system="Turn {turn} of the day."
  agentlab compare studies/cache --metric CACHE_HIT_RATE --reference stable

An --arm is a name and its settings KEY=VALUE; what it leaves out comes from the options before.
Values that begin with [ { or " and true, false, null are read as JSON, all others are text.
"""

#: Exit code: measured, but nothing eligible.
NOTHING_ELIGIBLE = 3


def add_record(commands: Any, shared: argparse.ArgumentParser) -> None:  # noqa: ANN401
    """Add the command to the parser.

    Parameters
    ----------
    commands : object
        What ``add_subparsers`` returned.
    shared : argparse.ArgumentParser
        Options of every command.
    """
    record = commands.add_parser("record", help="record a study of an agent")
    agents = record.add_subparsers(required=True, metavar="AGENT")
    parser = agents.add_parser(
        "opencode",
        parents=[shared],
        help="OpenCode over HTTP and its event stream",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_argument_group("what is measured")
    what.add_argument(
        "--model",
        default="lab/scripted",
        metavar="PROVIDER/MODEL",
        help="default lab/scripted, which needs --gateway-script",
    )
    what.add_argument("--agent", metavar="NAME", help="OpenCode's agent (default build)")
    what.add_argument(
        "--arm",
        nargs="+",
        action="append",
        metavar=("NAME", "KEY=VALUE"),
        help="one condition; repeatable (default: one arm, opencode)",
    )
    what.add_argument(
        "--gateway-script", metavar="NAME", help="scripted model in front: cache-probe, or a .json file"
    )
    asked = parser.add_argument_group("what is asked")
    asked.add_argument("--scenario", metavar="NAME", help="cache-probe (default), or a scenario's .json file")
    asked.add_argument("--turn", action="append", metavar="TEXT", help="a prompt of your own; repeatable")
    asked.add_argument("--require", action="append", metavar="NEED", help="with --turn: text or tool:NAME")
    asked.add_argument("--timeout", type=float, metavar="S", help="longest turn, in seconds (default 600)")
    asked.add_argument("--stall", type=float, metavar="S", help="longest silence in a turn (default 60)")
    how = parser.add_argument_group("how")
    how.add_argument("--runs", type=int, default=10, metavar="N", help="runs of each arm (default 10)")
    how.add_argument("--to", type=Path, metavar="FOLDER", help="default studies/<scenario>-<UTC>")
    how.add_argument("--exists", choices=("resume", "refuse", "replace"), default="resume")
    how.add_argument("--order", choices=("interleaved", "sequential"), default="interleaved")
    how.add_argument("--seed", type=int, metavar="N", help="of the order; drawn and stored when absent")
    how.add_argument("--host", choices=("auto", "kernel", "process", "inline"), default="auto")
    how.add_argument("--keep", choices=("numbers", "content"), default="numbers")
    how.add_argument("--progress", choices=("auto", "text", "none"), default="auto")
    parser.set_defaults(command=_record)


def _record(options: argparse.Namespace) -> int:
    from .engine import record
    from .gateway.script import ScriptedModel
    from .gateway.settings import Gateway

    script: str | None = options.gateway_script
    gateway = Gateway(ScriptedModel.load(script)) if script else None
    if gateway is None and options.model.startswith("lab/"):
        raise ConfigError(
            f"--model {options.model} is answered by nobody. Add --gateway-script cache-probe, or name "
            "a provider's model"
        )
    recordings = record(
        scenario_of(options),
        arms_of(options),
        runs=options.runs,
        to=options.to,
        exists=options.exists,
        order=options.order,
        seed=options.seed,
        gateway=gateway,
        host=options.host,
        keep=options.keep,
        progress=options.progress,
    ).result()
    print(recordings)
    return judge(recordings)


def judge(recordings: Recordings) -> int:
    """Return the exit code of what was measured.

    Parameters
    ----------
    recordings : Recordings
        All that a command looked at.

    Returns
    -------
    int
        0, or 3 when nothing of it is eligible.
    """
    return 0 if any(recording.eligible for recording in recordings) else NOTHING_ELIGIBLE


def scenario_of(options: argparse.Namespace) -> Scenario:
    """Make the scenario.

    Parameters
    ----------
    options : argparse.Namespace
        Parsed options.

    Returns
    -------
    Scenario

    Raises
    ------
    ConfigError
        Two sources of prompts, or no such scenario.
    """
    if options.turn and options.scenario:
        raise ConfigError("give --scenario or --turn, not both")
    if options.require and not options.turn:
        raise ConfigError("--require goes with --turn; a scenario has its own")
    if options.turn:
        scenario = Scenario("prompts", turns=options.turn, require=options.require or ("text",))
    elif options.scenario in (None, CACHE_PROBE.name):
        scenario = CACHE_PROBE
    else:
        scenario = _read_scenario(Path(options.scenario))
    given = {"prompt": options.timeout, "stall": options.stall}
    times = {name: value for name, value in given.items() if value is not None}
    return dataclasses.replace(scenario, timeouts=dataclasses.replace(scenario.timeouts, **times))


def arms_of(options: argparse.Namespace) -> dict[str, OpenCode]:
    """Make the arms.

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
        A name twice, or a setting that OpenCode does not have.
    """
    from .drivers.opencode import OpenCode

    # Credentials are no options: a command line is read by everybody on the machine.
    known = [field.name for field in dataclasses.fields(OpenCode) if field.name not in _NO_OPTIONS]
    base: dict[str, Any] = {"model": options.model}
    if options.agent:
        base["agent"] = options.agent
    arms: dict[str, OpenCode] = {}
    for name, *settings in options.arm or [["opencode"]]:
        if "=" in name:
            raise ConfigError(f"--arm {name!r}: a name comes first, then KEY=VALUE")
        if name in arms:
            raise ConfigError(f"--arm {name!r} is given twice")
        own = dict(_setting(setting, known) for setting in settings)
        arms[name] = OpenCode(**(base | own))
    return arms


def _setting(text: str, known: list[str]) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or key not in known:
        raise ConfigError(f"--arm setting {text!r}: write KEY=VALUE; OpenCode knows {', '.join(known)}")
    if value in ("true", "false", "null") or value.startswith(("[", "{", '"')):
        try:
            return key, json.loads(value)
        except ValueError as error:
            raise ConfigError(f"--arm setting {text!r}: not JSON: {error}") from None
    return key, value


def _read_scenario(path: Path) -> Scenario:
    if path.suffix != ".json":
        raise ConfigError(f"--scenario {path}: there is {CACHE_PROBE.name}; or give a .json file")
    try:
        return Scenario.from_dict(json.loads(path.read_text()))
    except OSError as error:
        raise ConfigError(f"--scenario {path}: {error.strerror}") from None
    except ConfigError as error:
        raise ConfigError(f"--scenario {path}: {error}") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"--scenario {path}: not a scenario: {error}") from None
