"""The arms of ``agentlab record agents``: a driver for each name, and what ``--arm`` changes."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, did_you_mean
from .arms import setting
from .scenarios import TASK

if TYPE_CHECKING:
    from ..drivers.base import Driver
    from ..scenario import Scenario

_CATALOGUE = ("pi", "opencode", "codex", "claude_code", "gemini_cli", "cline", "mini_swe_agent")
_CONTROL = ("reference", "windowed")
#: Every name that can be given; the last is not among the default.
NAMES = (*_CATALOGUE, *_CONTROL, "opencode_server")
#: Agents that choose their prompt by the model's name, and one that they know.
_KNOWN_MODELS = {"claude_code": "lab/claude-sonnet-4-5", "gemini_cli": "lab/gemini-2.5-pro"}
#: A server of somebody else, and what is no setting of one arm.
_NOT_BY_ARM = ("agent", "gateway", "url", "auth", "headers", "build", "retries", "retry_delay_s")


def workspace(text: str) -> str | Path:
    """Read ``--workspace``.

    Parameters
    ----------
    text : str
        A folder, or ``git+PATH@COMMIT``.

    Returns
    -------
    str or Path
    """
    return text if text.startswith("git+") else Path(text)


def agent_arms(options: argparse.Namespace, scenario: Scenario) -> dict[str, Driver]:
    """Make the arms.

    Parameters
    ----------
    options : argparse.Namespace
        Parsed options.
    scenario : Scenario
        What is asked; the task brings its folder.

    Returns
    -------
    dict
        Name to driver.

    Raises
    ------
    ConfigError
        An agent or a setting that is not known, a name twice, or no model.
    """
    if options.model is None and options.gateway_script is None:
        raise ConfigError("--model is missing: name the provider's model as PROVIDER/MODEL")
    names: list[str] = options.names or ([] if options.arm else [*_CATALOGUE, *_CONTROL])
    arms: dict[str, Driver] = {}
    for name, *texts in [*([name.replace("-", "_")] for name in names), *(options.arm or ())]:
        if "=" in name or not name.strip():
            raise ConfigError(f"--arm {name!r}: a name comes first, then KEY=VALUE")
        if name in arms:
            raise ConfigError(f"{name} is given twice; an --arm is one more condition and has its own name")
        arms[name] = _arm(name, texts, options, scenario)
    return arms


def _arm(name: str, texts: list[str], options: argparse.Namespace, scenario: Scenario) -> Driver:
    agent, others = name, list[str]()
    for text in texts:
        key, equals, value = text.partition("=")
        if key == "agent" and equals:
            agent = value.replace("-", "_")
        elif not equals and key.replace("-", "_") in NAMES:
            raise ConfigError(f"--arm {name}: takes all words behind it; write {key} before the first --arm")
        else:
            others.append(text)
    if agent not in NAMES:
        near = did_you_mean(agent, NAMES)
        raise ConfigError(f"there is no agent {agent!r}; there are {', '.join(NAMES)}{near}")
    make, values = _driver(agent, options)
    values["model"] = options.model or _KNOWN_MODELS.get(agent, "lab/scripted")
    values["workspace"] = options.workspace or (shipped_workspace() if scenario.name == TASK.name else None)
    known = [field.name for field in dataclasses.fields(make) if field.name not in _NOT_BY_ARM]
    return make(**(values | dict(setting(text, known, agent) for text in others)))


def _driver(agent: str, options: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """Return the driver of a name, and the settings that the name stands for."""
    if agent == "opencode_server":
        from ..drivers.opencode import OpenCode

        return OpenCode, {}
    if agent in _CONTROL:
        from ..drivers.reference import Reference

        windowed = {"policy": "windowed", "window_tokens": options.window_tokens}
        return Reference, windowed if agent == "windowed" else {}
    from ..drivers.agentcli import AgentCLI

    return AgentCLI, {"agent": agent, "network": options.network}


def shipped_workspace() -> Path:
    """Return the folder that the task is about: notes.txt and data.csv.

    Returns
    -------
    Path
    """
    return Path(__file__).parents[1] / "data" / TASK.name
