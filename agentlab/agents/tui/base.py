"""What the catalogue says of one agent on a terminal: plain values and pure functions; the driver runs it."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from ...errors import ConfigError, StartupError
from ..base import private_environment
from ..cache import agent_folder, installed_executable
from ..npm import reported_version
from ..release import Release
from ..runtime import search_path

#: Where nothing listens. An agent that waits at its prompt asks no model.
NOWHERE = "http://127.0.0.1:9"
#: Opens nothing; long enough for those that look at its length.
DUMMY_KEY = "dummy-key-of-a-terminal-that-asks-nothing"
#: In a value of an environment: the driver puts the session's name there, for what one home's sessions cannot
#: share.
SESSION = "{session}"
CTRL_C, CTRL_D = b"\x03", b"\x04"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TerminalSetup:
    """Hold what a terminal agent is configured with for one home.

    Parameters
    ----------
    home : pathlib.Path
        Private, existing folder, empty before the first call: its HOME. Keep its path short: some daemons
        put sockets there, whose paths have 107 bytes at most.
    workspace : pathlib.Path
        Existing folder where it works; the agent is told to trust it.
    executable : pathlib.Path
        As :meth:`TerminalAgent.locate` returns it.
    version : str
        Its version.
    base_url : str
        Model API without a version path; default: where nothing listens.
    key : str
        Key of that API; default: a dummy.
    model : str
        Name of the model without its provider.
    port : int or None
        A free port for a daemon that cannot choose one itself (:attr:`TerminalAgent.needs_port`).
    flags : tuple of str
        Further arguments.
    """

    home: Path
    workspace: Path
    executable: Path
    version: str
    base_url: str = NOWHERE
    key: str = dataclasses.field(default=DUMMY_KEY, repr=False)
    model: str = "dummy"
    port: int | None = None
    flags: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Service:
    """Say how a daemon is started that must be up before the first session, and how it is stopped.

    Parameters
    ----------
    start : callable
        Commands, one after another, each to its end; they run in the environment of the sessions.
    ready : callable
        File or socket that exists once it is up.
    stop : callable
        Commands that end it. What it leaves is the driver's to end.
    """

    start: Callable[[TerminalSetup], list[list[str]]]
    ready: Callable[[TerminalSetup], Path]
    stop: Callable[[TerminalSetup], list[list[str]]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TerminalAgent:
    """Describe one agent as it is used on a terminal.

    Parameters
    ----------
    name : str
        As :func:`agentlab.install` and ``Terminal`` know it.
    title : str
        For people.
    version : str
        The version that agentlab is tested with; empty for a tool that no registry has.
    release : callable
        How a version is installed.
    prepare : callable
        Writes its configuration into the home, so that it starts at its prompt and asks nothing, and returns
        its whole environment, built from nothing. May be called again for the same home.
    argv : callable
        Command line of a session. It holds no key.
    gesture : tuple of bytes
        Keys that end it at an empty prompt, to be sent one after another.
    gesture_pause_s : float
        Seconds between two keys.
    daemon : {"home", "port"} or None
        ``"home"``: processes that leave the tree are shared by the sessions of one home, so that a home for
        each session isolates them; ``"port"``: shared by all homes of this machine; None: nothing leaves.
    daemon_marks : tuple of str
        Words that all stand in the command line of such a process.
    folders : mapping
        Variables that say where it keeps its files, and the folder below a user's home that each replaces.
    service : Service or None
        A daemon that must be up before the first session.
    needs_port : bool
        Whether :attr:`TerminalSetup.port` must be given.
    switches : mapping
        Variables that change what is measured, as ``"NAME=value"``, and what each does. None is set.
    idle : bool
        Whether it gets to a prompt without its maker's server.
    why : str
        If not: what it shows instead.
    tested : {"real", "lookalike"}
        What the recipe was tried on.
    launched : callable
        What is started, of the installed executable.
    asks_version : tuple of str
        Arguments that make a tool which no registry has say its version.
    """

    name: str
    title: str
    version: str
    release: Callable[[str], Release]
    prepare: Callable[[TerminalSetup], dict[str, str]]
    argv: Callable[[TerminalSetup], list[str]]
    gesture: tuple[bytes, ...] = (CTRL_C, CTRL_C)
    gesture_pause_s: float = 0.3
    daemon: Literal["home", "port"] | None = None
    daemon_marks: tuple[str, ...] = ()
    folders: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    service: Service | None = None
    needs_port: bool = False
    switches: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    idle: bool = True
    why: str = ""
    tested: Literal["real", "lookalike"] = "real"
    launched: Callable[[Path], Path] = lambda executable: executable
    asks_version: tuple[str, ...] = ("--version",)

    @property
    def runtime(self) -> str | None:
        """What runs the pinned version; None: nothing but itself."""
        return self.release(self.version).runtime

    @property
    def bundle(self) -> Callable[[Path], Path]:
        """Folder that holds the code that is run, of what is started."""
        return self._bundle

    def _bundle(self, executable: Path) -> Path:
        module = self.release(self.version).module
        found = sorted((executable.parent / "venv").glob(f"lib/python*/site-packages/{module or '-'}"))
        packages = (folder for folder in executable.parents if (folder / "package.json").is_file())
        return found[-1] if found else next(packages, executable.parent)

    def check_idle(self, *, who: str = "Terminal") -> None:
        """Refuse an agent that shows no prompt without its maker's server.

        Parameters
        ----------
        who : str
            Whose argument it is, for the message.

        Raises
        ------
        ConfigError
            It has no idle prompt offline; the message says what it shows.
        """
        if not self.idle:
            raise ConfigError(
                f"{who}({self.name!r}): {self.title} has no prompt to wait at without its maker's server: "
                f"{self.why}. Its memory there can be measured as that of a login screen: login_screen=True"
            )

    def locate(self, version: str | None = None) -> Path:
        """Find what is started.

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
            It is not installed; the message says what to do.
        """
        wanted = version or self.version
        release = self.release(wanted)
        if release.source == "path":
            return _on_path(self, release)
        executable = installed_executable(agent_folder(self.name, wanted))
        if executable is None:
            more = "" if wanted == self.version else f" --version {wanted}"
            raise StartupError(
                f"{self.title} {wanted} is not installed. Run: agentlab install {self.name}{more}",
                driver=self.name,
                phase="install",
            )
        return self.launched(executable)

    def measured_version(self, version: str | None = None) -> str | None:
        """Say which version is measured.

        Parameters
        ----------
        version : str, optional
            The one that was asked for.

        Returns
        -------
        str or None
            That, or the pinned one; a tool which no registry has is asked. None when it does not say.

        Raises
        ------
        StartupError
            It is on no registry, and not installed.
        """
        known = version or self.version
        return known or reported_version(self.locate(), arguments=self.asks_version) or None


def on_the_path(program: str) -> Callable[[str], Release]:
    """Make the ``release`` of a tool which no registry has.

    Parameters
    ----------
    program : str
        Its name on the PATH.

    Returns
    -------
    callable
    """
    found = Release(source="path", package=program, candidates=lambda _folder: [])
    return lambda _version: found


def program_variable(name: str) -> str:
    """Return the variable that names the program of a tool which no registry has.

    Parameters
    ----------
    name : str
        Name of the tool.

    Returns
    -------
    str

    Examples
    --------
    >>> program_variable("synaps")
    'SYNAPS_BIN'
    """
    return f"{name.upper()}_BIN"


def _on_path(agent: TerminalAgent, release: Release) -> Path:
    variable = program_variable(agent.name)
    given = os.environ.get(variable)
    found = shutil.which(given or release.package)
    if found is None:
        raise StartupError(
            f"{agent.title} is on no package registry, and {given or release.package!r} is not on the PATH. "
            f"Install it as its makers say, or set {variable} to the program.",
            driver=agent.name,
            phase="install",
        )
    return Path(found)


def terminal_environment(setup: TerminalSetup, **named: str) -> dict[str, str]:
    """Build the environment of a session from nothing.

    Parameters
    ----------
    setup : TerminalSetup
        Names the home and the executable, whose own runtime comes first on the PATH.
    **named : str
        The agent's own variables.

    Returns
    -------
    dict
        PATH, what a terminal sets, and named variables: nothing else of the caller's.
    """
    return private_environment(
        setup.home,
        PATH=search_path(setup.executable),
        TERM="xterm-256color",
        SHELL="/bin/bash",
        DO_NOT_TRACK="1",
        **named,
    )
