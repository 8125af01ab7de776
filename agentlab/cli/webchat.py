"""``agentlab record webchat``: a chat page in a browser while its answers stream."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import ConfigError
from .budgets import add_budgets, baseline_of
from .gateway import add_limits, gateway_of
from .outcome import FAILED, judge
from .parser import Parser, whole
from .study import Group, add_how, recorded

if TYPE_CHECKING:
    from ..drivers.webchat import WebChat
    from ..recording import Recordings
    from ..scenario import Scenario

#: What the original asked: long, with everything that a chat page renders, and without tools.
PROMPT = (
    "Explain in about 800 words how a bytecode virtual machine executes a function call. Use headings and "
    "lists, three fenced code blocks in different languages, and a table that compares stack machines with "
    "register machines. Do not use any tools."
)
_OPENCHAMBER_URL = "http://localhost:3000"
_PRESETS = ("light", "cpu", "original", "deep", "film", "off")
_USAGE = """agentlab record webchat [--model PROVIDER/MODEL] [--page opencode|openchamber]
           [--url URL] [--port N] [--dir FOLDER] [--session ID] [--keep-session] [--agent NAME]
           [--gateway-script NAME | --gateway URL [--gateway-key-env NAME]]
           [--prompt TEXT] [--settle S] [--timeout S] [--tail S] [--preset NAME...] [--label NAME]
           [--budget METRIC=NUMBER]... [--baseline STUDY] [--output FOLDER] [--runs N] [--to FOLDER]
           [OPTION...]
       agentlab record webchat --help"""
_EXAMPLE = """\
examples:
  agentlab record webchat --gateway-script stream --runs 5 --to studies/page --budget LONG_TASKS=10
  agentlab record webchat --gateway-script stream --preset light cpu   (numbers of light, code of cpu)
  agentlab compare studies/page --metric TBT --metric DROPPED_FRAMES

  the original web-chat script's command line, on a server that runs already:
  agentlab record webchat --page openchamber --url http://localhost:3000 --dir . --model ID/ID --runs 1 \\
      --preset original --output artifacts/profile --baseline artifacts/before \\
      --budget-long-tasks 20 --budget-longest 200

A run waits for the page's event stream and its composer, not for a clock; --settle adds to that. Budgets are
those of the page's main thread, as the mean of the runs. A change counts as better or worse only beyond the
noise of the runs; what the original would have said of it stands beside.
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
        "webchat",
        parents=[shared],
        help="a chat page in Chromium while its answers stream",
        usage=_USAGE,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_what(parser.add_argument_group("what is measured"))
    _add_asked(parser.add_argument_group("what is asked"))
    _add_browser(parser.add_argument_group("the browser, and how it is recorded"))
    held = parser.add_argument_group("what it is held against, and what is written")
    add_budgets(held)
    _add_held(held)
    add_how(parser.add_argument_group("how"))
    # What only `record opencode` has, where the same functions look for it.
    parser.set_defaults(server=None, header=None, auth_env=None)
    parser.set_defaults(command=_run, parser=parser, runs=3)


def _add_what(group: Group) -> None:
    group.add_argument("--page", choices=("opencode", "openchamber"), default="opencode")
    group.add_argument(
        "--url",
        metavar="URL",
        help="a server that runs already (default: OpenCode's own is started for each arm; with openchamber "
        f"{_OPENCHAMBER_URL})",
    )
    group.add_argument("--port", type=whole(1), metavar="N", help="port of that server (default: the URL's)")
    group.add_argument(
        "--dir", dest="directory", type=Path, metavar="FOLDER", help="folder that the app works in"
    )
    group.add_argument("--session", metavar="ID", help="a session that exists; it is not deleted")
    group.add_argument("--keep-session", action="store_true", help="do not delete the session that was made")
    group.add_argument("--model", metavar="PROVIDER/MODEL", help="with --gateway-script default lab/scripted")
    group.add_argument("--agent", metavar="NAME", help="agent of the prompt")
    group.add_argument(
        "--gateway-script", metavar="NAME", help="scripted model in front: stream, or a .json file"
    )
    group.add_argument("--gateway", metavar="URL", help="a provider behind a gateway, e.g. https://HOST/v1")
    add_limits(group)


def _add_asked(group: Group) -> None:
    group.add_argument(
        "--prompt",
        default=PROMPT,
        metavar="TEXT",
        help="default: an explanation of about 800 words with code and a table, without tools",
    )
    group.add_argument(
        "--settle",
        type=_seconds,
        default=0.0,
        metavar="S",
        help="after the page is ready, before the prompt (default 0; the original waited 12 s, ready or not)",
    )
    group.add_argument(
        "--timeout", type=_seconds, default=600.0, metavar="S", help="longest answer (default 600)"
    )
    group.add_argument(
        "--start", type=_seconds, default=60.0, metavar="S", help="until the page is ready (default 60)"
    )
    group.add_argument(
        "--tail", type=_seconds, default=5.0, metavar="S", help="recorded after it (default 5)"
    )


def _add_browser(group: Group) -> None:
    group.add_argument(
        "--preset",
        nargs="+",
        choices=_PRESETS,
        default=["light"],
        metavar="NAME",
        help=f"{', '.join(_PRESETS)} (default light: a trace, for numbers); several: an arm each",
    )
    group.add_argument(
        "--sampling-interval",
        type=whole(0),
        metavar="US",
        help="of the CPU sampler, in place of the preset's; 0: none (the original 200)",
    )
    group.add_argument("--typing", action="store_true", help="type while the answer streams, to measure INP")
    group.add_argument("--chrome", type=Path, metavar="FILE", help="the browser (default: the one in PATH)")
    group.add_argument(
        "--profile-dir", type=Path, metavar="FOLDER", help="browser profile (default: a new one per run)"
    )
    group.add_argument("--headed", action="store_true", help="with a window")
    group.add_argument(
        "--viewport", type=_size, default=(1600, 1000), metavar="WxH", help="px (default 1600x1000)"
    )
    group.add_argument("--service-worker", choices=("bypass", "use"), default="bypass")
    group.add_argument("--memory", action="store_true", help="sample the memory of server and browser too")


def _add_held(group: Group) -> None:
    group.add_argument(
        "--budget-long-tasks", type=whole(0), metavar="N", help="the same as --budget LONG_TASKS=N"
    )
    group.add_argument(
        "--budget-longest", type=_seconds, metavar="MS", help="the same as --budget LONGEST_TASK=MS"
    )
    group.add_argument(
        "--label", metavar="NAME", help="name of the arm (default webchat, or the presets' names)"
    )
    group.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="also the original's session-summary.json and CPU profile; of several runs a folder each",
    )
    group.add_argument("--json", action="store_true", help="everything as JSON on stdout, in place of tables")


def _seconds(text: str) -> float:
    if not re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r}: give a number from 0")
    return float(text)


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{3,5})x(\d{3,5})", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r}: write WIDTHxHEIGHT, e.g. 1600x1000")
    return int(found[1]), int(found[2])


def _run(options: argparse.Namespace) -> int:
    from .webchat_end import check_output, told

    parser: Parser = options.parser
    try:
        gateway = gateway_of(options)
        scenario, arms = _scenario(options), webchat_arms(options)
        check_output(options.output)
    except ConfigError as error:
        parser.fault(error)
    baseline = baseline_of(options)  # before anything is measured
    recordings: Recordings = recorded(options, scenario, arms, gateway, memory=options.memory)
    good = told(recordings, baseline, options, budgets_of(options))
    verdict = judge(recordings)
    return verdict or (0 if good else FAILED)


def budgets_of(options: argparse.Namespace) -> dict[str, float]:
    """Collect the budgets; the last of one metric wins.

    Parameters
    ----------
    options : argparse.Namespace
        Parsed options.

    Returns
    -------
    dict of str to float
    """
    budgets = dict(options.budget or ())
    for name, value in (("LONG_TASKS", options.budget_long_tasks), ("LONGEST_TASK", options.budget_longest)):
        if value is not None:
            budgets[name] = float(value)
    return budgets


def _scenario(options: argparse.Namespace) -> Scenario:
    from ..scenario import Scenario, Timeouts

    return Scenario(
        "webchat",
        turns=[options.prompt],
        require=("text",),
        settle_s=options.settle,
        tail_s=options.tail,
        timeouts=Timeouts(start=options.start, prompt=options.timeout),
    )


def webchat_arms(options: argparse.Namespace) -> dict[str, WebChat]:
    """Make an arm of each preset.

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
        Options that are wrong, or do not go together.
    """
    from ..drivers.webchat import WebChat

    presets = list(dict.fromkeys(options.preset))
    driver = WebChat(
        _model(options),
        page=options.page,
        url=_url(options),
        directory=options.directory,
        agent=options.agent,
        session=options.session,
        keep_session=options.keep_session,
        preset=presets[0],
        sampling_us=options.sampling_interval,
        typing=options.typing,
        viewport=options.viewport,
        headless=not options.headed,
        service_worker=options.service_worker,
        browser=options.chrome,
        profile=options.profile_dir,
    )
    if len(presets) == 1:
        return {options.label or "webchat": driver}
    if options.sampling_interval is not None:
        raise ConfigError("--sampling-interval goes with one --preset: each has its own")
    prefix = "" if options.label is None else f"{options.label}-"
    return {f"{prefix}{preset}": arm for preset, arm in driver.recorded(*presets).items()}


def _url(options: argparse.Namespace) -> str | None:
    url: str | None = options.url or (_OPENCHAMBER_URL if options.page == "openchamber" else None)
    if url is not None and (options.gateway or options.gateway_script):
        raise ConfigError("--url and --gateway exclude each other: a server that runs asks its own provider")
    if options.port is None:
        return url
    if url is None:
        raise ConfigError("--port goes with --url URL")
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise ConfigError(f"--url {url!r}: write http://HOST:PORT") from None
    return parts._replace(
        netloc=f"[{host}]:{options.port}" if ":" in host else f"{host}:{options.port}"
    ).geturl()


def _model(options: argparse.Namespace) -> str | None:
    model: str | None = options.model
    if model is None and options.gateway_script is not None:
        return "lab/scripted"
    if model is None and options.page == "opencode":
        raise ConfigError(
            "--model is missing: name a provider's model as PROVIDER/MODEL, or add --gateway-script stream "
            "for a scripted one"
        )
    answered = options.gateway_script or options.gateway or options.url or options.page != "opencode"
    if not answered and model is not None and model.startswith("lab/"):
        raise ConfigError(f"--model {model} is answered by nobody; add --gateway-script stream")
    return model
