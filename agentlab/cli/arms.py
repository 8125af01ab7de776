"""The arms of ``agentlab record opencode``: one driver from all options, changed by each ``--arm``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError

if TYPE_CHECKING:
    from ..drivers.opencode import OpenCode

#: No settings of an arm: a command line is read by everybody on the machine, and is one for all arms.
_NOT_BY_ARM = ("auth", "headers", "gateway", "url", "build", "retries", "retry_delay_s")
#: The agent that the original cache script named in every prompt.
ORIGINAL_AGENT = "orchestrator"


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
    from ..drivers.opencode import OpenCode

    known = [field.name for field in dataclasses.fields(OpenCode) if field.name not in _NOT_BY_ARM]
    base = _base(options)
    arms: dict[str, OpenCode] = {}
    for name, *settings in options.arm or [["opencode"]]:
        if "=" in name or not name.strip():
            raise ConfigError(f"--arm {name!r}: a name comes first, then KEY=VALUE")
        if name in arms:
            raise ConfigError(f"--arm {name!r} is given twice")
        own = dict(setting(text, known, "OpenCode") for text in settings)
        arms[name] = OpenCode(**(base | own))
    return arms


def _base(options: argparse.Namespace) -> dict[str, Any]:
    """Return what all arms share."""
    original = bool(options.server and options.report)
    values: dict[str, Any] = {
        "model": _model(options),
        "agent": options.agent or (ORIGINAL_AGENT if original else None),
        "url": options.server,
        "headers": tuple(options.header or ()) or None,
        "auth": _auth(options),
        "build": options.plugin_build if options.server else None,
        "retries": options.retries,
        "retry_delay_s": None if options.retry_delay_ms is None else options.retry_delay_ms / 1000,
    }
    return {name: value for name, value in values.items() if value is not None}


def _model(options: argparse.Namespace) -> str:
    scripted = options.gateway_script is not None
    if options.model is None and options.provider is not None:
        raise ConfigError("--provider goes with --model ID")
    if options.model is None and not scripted:
        raise ConfigError(
            "--model is missing: name a provider's model as PROVIDER/MODEL, or add --gateway-script "
            "cache-probe for a scripted one"
        )
    model = options.model or "lab/scripted"
    if options.provider is not None:
        model = f"{options.provider}/{model}"
    if model.startswith("lab/") and not (scripted or options.gateway or options.server):
        raise ConfigError(
            f"--model {model} is answered by nobody. Add --gateway-script cache-probe, or name "
            "a provider's model"
        )
    return model


def _auth(options: argparse.Namespace) -> tuple[str, str] | None:
    name: str | None = options.auth_env
    if name is None:
        return None
    value = os.environ.get(name) if name.isidentifier() else None
    if value is None:  # the name is not shown: it may be the password itself
        raise ConfigError("--auth-env: give the name of an environment variable that is set")
    user, colon, password = value.partition(":")
    if not colon or not user:
        raise ConfigError("--auth-env: the variable must hold USER:PASSWORD")
    return user, password


def setting(text: str, known: Sequence[str], who: str) -> tuple[str, Any]:
    """Read a setting of an arm.

    Parameters
    ----------
    text : str
        ``KEY=VALUE``; a value that begins like JSON is read as such.
    known : sequence of str
        Keys that there are.
    who : str
        Whose they are, for the message.

    Returns
    -------
    tuple of str and object
        Key and value.

    Raises
    ------
    ConfigError
        No such key, or a value that is not JSON.
    """
    key, equals, value = text.partition("=")
    if not equals or key not in known:
        raise ConfigError(f"--arm setting {key!r}: write KEY=VALUE; {who} knows {', '.join(known)}")
    if value in ("true", "false", "null") or value.startswith(("[", "{", '"')):
        try:
            return key, json.loads(value)
        except ValueError as error:
            raise ConfigError(f"--arm setting {key!r}: not JSON: {error}") from None
    return key, value
