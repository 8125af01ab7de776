"""What the catalogue says of one command-line agent: pure functions and a reader; the driver runs it."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, cast

from ..errors import ConfigError, StartupError
from .cache import agent_folder, installed_executable
from .runtime import search_path

Dialect = Literal["chat", "responses", "messages", "gemini"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setup:
    """Hold what an agent is configured with for one run.

    Parameters
    ----------
    home : pathlib.Path
        Private, existing, empty folder: its HOME.
    workspace : pathlib.Path
        Where it works.
    executable : pathlib.Path
        As :meth:`Agent.locate` returns it.
    dialect : str
        Wire to the gateway.
    base_url : str
        The gateway's, for that dialect.
    token : str
        The gateway's token. It goes into the environment or a private file, never into a command line.
    model : str
        Name of the model without its provider.
    context_tokens, output_tokens : int, unit tokens
        What the agent is told of its model.
    system : str or None
        System text in addition to the agent's own.
    flags : tuple of str
        Further arguments.
    """

    home: Path
    workspace: Path
    executable: Path
    dialect: str
    base_url: str
    token: str = dataclasses.field(repr=False)
    model: str
    context_tokens: int
    output_tokens: int
    system: str | None
    flags: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ask:
    """Hold one turn's prompt.

    Parameters
    ----------
    text : str
        The prompt.
    file : pathlib.Path
        A private file that holds the prompt; for agents that read stdin it is their stdin.
    turn : int
        1-based.
    session : str or None
        The agent's own name of the session, once it has said it; a later turn goes on with it.
    """

    text: str
    file: Path
    turn: int
    session: str | None


class Note(NamedTuple):
    """One neutral event as an agent's stream tells it; see ``docs/events.md``.

    Parameters
    ----------
    kind : str
        ``message``, ``chunk``, ``tool``, ``status``, ``compacted``, ``usage`` or ``agent.error``.
    fields : dict
        Plain numbers and names; None values are unknown and left out.
    content : dict or None
        Texts: written only with ``keep="content"``.
    """

    kind: str
    fields: dict[str, Any]
    content: dict[str, Any] | None = None


@dataclasses.dataclass
class Outcome:
    """Hold what an agent itself says of one turn.

    Parameters
    ----------
    answered : bool
        It ended as it ends a turn that is done.
    stop : str or None
        Its own word for how it stopped.
    answer : str
        Final text.
    reason : str or None
        Why it is not answered, in its own words.
    """

    answered: bool = False
    stop: str | None = None
    answer: str = ""
    reason: str | None = None


class Reader(Protocol):
    """Read one session's stream, over all its turns; one object a run."""

    session: str | None
    """The agent's own name of the session; None until it has said it."""

    def begin(self, turn: int) -> None:
        """A process for this turn was started: forget the outcome of the last one."""
        ...

    def read(self, data: Mapping[str, Any], *, unix_ms: float) -> Iterator[Note]:
        """Read one object of stdout that came at a wall-clock time (ms)."""
        ...

    def finish(self, setup: Setup) -> Iterator[Note]:
        """Read what the process has left behind, when it has ended."""
        ...

    def outcome(self) -> Outcome:
        """Say how the turn ended, by the agent's own account."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Agent:
    """Describe one agent of the catalogue.

    Parameters
    ----------
    name : str
        As :func:`agentlab.install` and ``AgentCLI`` know it.
    title : str
        For people.
    source : {"npm", "pypi"}
        Where it is installed from.
    package, version : str
        Its package, and the version that agentlab is tested with.
    dialects : tuple of str
        Wires that it speaks to the gateway; the first is used unless another is asked for.
    candidates : callable
        Executables of an installation folder, best first.
    bundle : callable
        Folder that holds the code that is run, of an executable.
    prepare : callable
        Writes its configuration into the home and returns its whole environment.
    argv : callable
        Command line of a turn, without the prompt where it is read from stdin.
    reader : callable
        Makes what reads its stream.
    runtime : {"node", "python"} or None
        What runs it; None: nothing but itself.
    module : str
        From PyPI: what ``python -m`` runs.
    stdin : bool
        Whether the prompt is read from stdin: it then may begin with anything and be of any length.
    resumes : bool
        Whether a session can go on in a second process.
    takes_system : bool
        Whether a system text can be added to its own.
    """

    name: str
    title: str
    package: str
    version: str
    dialects: tuple[Dialect, ...]
    candidates: Callable[[Path], list[Path]]
    bundle: Callable[[Path], Path]
    prepare: Callable[[Setup], dict[str, str]]
    argv: Callable[[Setup, Ask], list[str]]
    reader: Callable[[], Reader]
    source: Literal["npm", "pypi"] = "npm"
    runtime: Literal["node", "python"] | None = None
    module: str = ""
    stdin: bool = True
    resumes: bool = True
    takes_system: bool = True

    def locate(self, version: str | None = None) -> Path:
        """Find the installed executable.

        Parameters
        ----------
        version : str, optional
            Default: the pinned one.

        Returns
        -------
        pathlib.Path

        Raises
        ------
        StartupError
            It is not installed; the message holds the command that installs it.
        """
        wanted = version or self.version
        executable = installed_executable(agent_folder(self.name, wanted))
        if executable is None:
            command = f"agentlab install {self.name}" + (
                "" if wanted == self.version else f" --version {wanted}"
            )
            raise StartupError(
                f"{self.title} {wanted} is not installed. Run: {command}", driver=self.name, phase="install"
            )
        return executable


def environment(setup: Setup, **named: str) -> dict[str, str]:
    """Build an environment from nothing for an agent that is not on a terminal.

    Parameters
    ----------
    setup : Setup
        Names the home.
    **named : str
        The agent's own variables.

    Returns
    -------
    dict
        PATH and named variables only: nothing of the caller's, so no key and no home of the user.
    """
    mine = {"PATH": search_path(setup.executable), "TERM": "dumb", "NO_COLOR": "1", "DO_NOT_TRACK": "1"}
    return private_environment(setup.home, **mine, **named)


def private_environment(home: Path, **named: str) -> dict[str, str]:
    """Build an environment whose every folder is below one home.

    Parameters
    ----------
    home : pathlib.Path
        Private, existing folder.
    **named : str
        Further variables.

    Returns
    -------
    dict
        Nothing of the caller's.
    """
    temporary = home / "tmp"
    temporary.mkdir(mode=0o700, exist_ok=True)
    return {
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "LANG": "C.UTF-8",
        **named,
    }


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read (0600), with its folders (0700).

    Parameters
    ----------
    path : pathlib.Path
        New or old file.
    text : str
        Its content; may hold the gateway's token.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(file, "w", encoding="utf-8") as out:
        out.write(text)


def write_json(path: Path, data: Any) -> None:  # noqa: ANN401
    """Write JSON as :func:`write_private` does.

    Parameters
    ----------
    path : pathlib.Path
        New or old file.
    data : JSON data
        Its content.
    """
    write_private(path, json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def package_folder(package: str, inside: str) -> Callable[[Path], list[Path]]:
    """Make the ``candidates`` of a package whose executable is one file.

    Parameters
    ----------
    package : str
        npm package.
    inside : str
        The file's path in it.

    Returns
    -------
    callable
    """

    def candidates(folder: Path) -> list[Path]:
        file = folder / "node_modules" / package / inside
        return [file] if file.is_file() else []

    return candidates


def split_model(of: str, model: str) -> tuple[str, str]:
    """Split ``"provider/model"``; the model's own name may hold slashes.

    Parameters
    ----------
    of : str
        Name of the driver, for the message.
    model : str
        What a user gave.

    Returns
    -------
    tuple of str
        Provider and model.

    Raises
    ------
    ConfigError
        One of the two is missing.

    Examples
    --------
    >>> split_model("Pi", "openrouter/meta/llama")
    ('openrouter', 'meta/llama')
    """
    given = cast("Any", model)
    provider, _, name = given.partition("/") if isinstance(given, str) else ("", "", "")
    if not (provider and name) or any(c.isspace() or c == "\0" for c in model):
        raise ConfigError(f"{of}(model={model!r}): write 'provider/model', e.g. 'lab/scripted'")
    return provider, name
