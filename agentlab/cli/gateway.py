"""``agentlab gateway``, and the gateway in front of a study."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, MissingExtra
from .outcome import DONE
from .parser import Parser, whole

if TYPE_CHECKING:
    from ..gateway import Gateway, ScriptedModel, Tape

_LIMITS = ("price", "budget_usd", "max_requests")
_EXAMPLE = """\
examples:
  agentlab gateway cache-probe
  agentlab gateway https://HOST/v1 --gateway-key-env NAME --price 3,15,0.30 --budget-usd 5 --to gateway
  agentlab gateway https://HOST/v1 --keep content --to gateway   # then: agentlab gateway gateway
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
    text = "a metered gateway for agents that are started by hand"
    parser = commands.add_parser(
        "gateway",
        parents=[shared],
        help=text,
        description=f"{text}; ^C ends it and sums up",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "upstream",
        metavar="UPSTREAM",
        help="a provider's URL; a scripted model: cache-probe, a .json file; or a tape: a folder that was "
        "recorded with --keep content",
    )
    add_limits(parser)
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="keep its evidence and its ledger there")
    parser.add_argument(
        "--keep",
        choices=("numbers", "content"),
        default="numbers",
        help="content: prompts and answers too, and a tape of the answers",
    )
    parser.set_defaults(command=_run)


def add_limits(group: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add what every gateway may be given.

    Parameters
    ----------
    group : parser or group
        Where the options go.
    """
    group.add_argument(
        "--gateway-key-env",
        metavar="NAME",
        help="environment variable with the provider's key; only the gateway gets it",
    )
    group.add_argument(
        "--price",
        type=_price,
        metavar="IN,OUT[,CACHED[,WRITE[,WRITE_1H]]]",
        help="USD per million tokens of input, output, input from the prompt cache, and to it (5 minutes, an "
        "hour); or PROVIDER:MODEL, looked up in the package genai-prices",
    )
    group.add_argument("--budget-usd", metavar="USD", help="what may be spent; reserved before it is sent")
    group.add_argument("--max-requests", type=whole(1), metavar="N", help="requests of one run")


def gateway_of(options: argparse.Namespace) -> Gateway | None:
    """Make the gateway in front of a study.

    Parameters
    ----------
    options : argparse.Namespace
        Parsed options of ``record``.

    Returns
    -------
    Gateway or None

    Raises
    ------
    ConfigError
        Options that exclude each other, or miss what they go with.
    """
    given = [name for name in ("gateway_script", "gateway", "server") if getattr(options, name) is not None]
    if len(given) > 1:
        why = "a server that runs already asks its own provider" if "server" in given else "one model answers"
        raise ConfigError(f"{_flag(given[0])} and {_flag(given[1])} exclude each other: {why}")
    for name in ("header", "auth_env"):
        if getattr(options, name) is not None and options.server is None:
            raise ConfigError(f"{_flag(name)} goes with --server URL")
    if options.gateway_key_env is not None and options.gateway is None:
        raise ConfigError("--gateway-key-env goes with --gateway URL")
    upstream: str | None = options.gateway or options.gateway_script
    if upstream is None:
        for name in _LIMITS:
            if getattr(options, name) is not None:
                raise ConfigError(f"{_flag(name)} goes with --gateway URL or --gateway-script NAME")
        return None
    from ..gateway.script import ScriptedModel

    return _gateway(options, upstream if options.gateway else ScriptedModel.load(upstream))


def _gateway(options: argparse.Namespace, upstream: ScriptedModel | Tape | str) -> Gateway:
    from ..gateway.settings import Gateway

    limits = {name: getattr(options, name) for name in _LIMITS}
    gateway = Gateway(upstream, key_env=options.gateway_key_env, **limits)
    if gateway.key_env is not None and gateway.key_env not in os.environ:  # not shown: it may be the key
        raise ConfigError("--gateway-key-env: this environment variable is not set")
    return gateway


def _run(options: argparse.Namespace) -> int:
    from ..gateway.serve import serve

    parser: Parser = options.parser
    try:
        if options.keep == "content" and options.to is None:
            raise ConfigError("--keep content goes with --to FOLDER")
        gateway = _gateway(options, _upstream(options.upstream))
    except ConfigError as error:
        parser.fault(error)
    serve(gateway, folder=options.to, keep=options.keep, say=lambda line: print(line, flush=True))
    return DONE


def _upstream(text: str) -> ScriptedModel | Tape | str:
    from ..gateway.script import ScriptedModel
    from ..gateway.tape import Tape

    if "://" in text:
        return text
    if Path(text).is_dir() or text.endswith(".jsonl"):
        return Tape(text)
    try:
        return ScriptedModel.load(text)
    except ConfigError as error:
        said = str(error).removeprefix(f"ScriptedModel.load({text!r}): ")
        raise ConfigError(f"UPSTREAM {text}: {said}. A provider's URL begins with https://") from None


def _price(text: str) -> Any:  # noqa: ANN401
    from ..gateway.prices import Price

    parts: list[Any] = [part.strip() or None for part in text.split(",")]
    try:
        if ":" in text:
            return Price.of(text)
        if not 2 <= len(parts) <= 5:
            raise argparse.ArgumentTypeError(f"{text!r}: give IN,OUT or IN,OUT,CACHED, or PROVIDER:MODEL")
        return Price(*parts, source="command line")
    except (ConfigError, MissingExtra) as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
