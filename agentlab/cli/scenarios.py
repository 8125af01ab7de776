"""What ``agentlab record`` asks of an agent: a scenario that has a name, a file, or prompts."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from ..errors import ConfigError
from ..scenario import Scenario, Timeouts

_NEEDS = ("tool:read", "tool:todowrite", "text")

#: The study of the README and of notebooks/10_cache.ipynb: the same nonce begins all prompts of a session.
CACHE_PROBE = Scenario(
    "cache-probe",
    turns=[
        "Session marker: {nonce}. Read package.json, then write one todo.",
        "Session marker: {nonce}. Explain what a manifest is for.",
        "Session marker: {nonce}. Reply exactly: follow-up complete.",
    ],
    require=_NEEDS,
)

#: What the original cache script did in each session; its report's rule for warm-up and its time-out.
CACHE_REPORT = Scenario(
    "cache-report",
    turns=[
        "Session marker: {nonce}. Use the Read tool on package.json. Then use the TodoWrite tool to write "
        "one todo that is completed and of low priority. Change nothing else. Then reply exactly: first task "
        "complete.",
        "Session marker: {nonce}. Use no tools. Reply exactly: follow-up complete.",
    ],
    require=_NEEDS,
    timeouts=Timeouts(prompt=120),
    warmup="original",
)

#: The study of notebooks/40_gateway.ipynb, on the folder that is shipped as data/task.
TASK = Scenario(
    "task",
    turns=[
        "Session marker: {nonce}. In notes.txt change the colour from red to blue. Then count the lines of "
        "notes.txt and data.csv. Then answer in one sentence."
    ],
    require=("text",),
)
NAMED = {scenario.name: scenario for scenario in (CACHE_PROBE, CACHE_REPORT, TASK)}


def scenario_of(options: argparse.Namespace, *, default: Scenario | None = None) -> Scenario:
    """Make the scenario.

    Parameters
    ----------
    options : argparse.Namespace
        Parsed options.
    default : Scenario, optional
        Taken when none is named; absent: the cache probe, or the cache report's.

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
    default = default or (CACHE_REPORT if options.report else CACHE_PROBE)
    if options.turn:
        scenario = Scenario("prompts", turns=options.turn, require=options.require or ("text",))
    elif options.scenario is None:
        scenario = default
    elif options.scenario in NAMED:
        scenario = NAMED[options.scenario]
    else:
        scenario = _read(Path(options.scenario))
    if options.timeout is not None and options.timeout_ms is not None:
        raise ConfigError("give --timeout or --timeout-ms, not both")
    prompt = options.timeout if options.timeout_ms is None else options.timeout_ms / 1000
    given = {"start": options.start, "prompt": prompt, "stall": options.stall}
    times = {name: value for name, value in given.items() if value is not None}
    return dataclasses.replace(scenario, timeouts=dataclasses.replace(scenario.timeouts, **times))


def _read(path: Path) -> Scenario:
    if path.suffix != ".json":
        raise ConfigError(f"--scenario {path}: there is {', '.join(NAMED)}; or give a .json file")
    try:
        return Scenario.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"--scenario {path}: {error.strerror}") from None
    except ConfigError as error:
        raise ConfigError(f"--scenario {path}: {error}") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"--scenario {path}: not a scenario: {error}") from None
