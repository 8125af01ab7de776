"""Agents on terminals: how long until they take input, and what they hold in memory while they wait."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ...agents import bundle
from ...agents.catalogue import AGENTS
from ...agents.tui.base import TerminalAgent
from ...agents.tui.catalogue import find_terminal
from ...errors import ConfigError
from ...scenario import Scenario, Timeouts, digest
from .. import workspace
from ..base import Arm, Identity, Opened, RunsAlone, check_kinds, shown_flags
from . import checks

if TYPE_CHECKING:
    from ...recording import Recordings


@dataclasses.dataclass(frozen=True, repr=False)
class Terminal(RunsAlone):
    """Run terminal agents as a user sees them: sessions side by side, each on a terminal of its own.

    All sessions of a run start at once, in a home made for the run. A session is ready when what is typed
    shows on its rendered screen; once all are, the run waits until their memory no longer changes. Nothing
    is asked of a model. Whatever a run starts is gone when it ends; your own homes and daemons are never
    touched.

    Parameters
    ----------
    agent : str, optional
        ``"codex"``, ``"claude_code"``, ``"opencode"``, ``"pi"`` or another of the terminal recipes; install
        it with :func:`agentlab.install`. None: ``command`` alone.
    command : sequence of str, optional
        A command of your own: instead of the agent's (it still gets the agent's home and configuration), or
        alone, with an empty home.
    sessions : int or sequence of int, default (1,)
        How many sessions run at once; each number is a run of its own (column ``n_sessions``).
    version : str, optional
        Default: the one agentlab is tested with.
    flags : sequence of str
        Further arguments.
    env : mapping of str to str
        Further variables; ``{session}`` in a value is replaced by the session's name (``s1``, ...). One that
        names a folder of your own is refused.
    home : {"cold", "warm"}
        ``"cold"``: nothing has run in the home before. ``"warm"``: one throw-away start has.
    daemon : {"shared", "isolated"}
        Whether all sessions of a run share one home, and with it the agent's daemon, if it has one.
    settle : "plateau" or float, default "plateau"
        When memory is taken for settled: once it no longer changes, or after so many seconds.
    window_s : float, default 3
        Length of the plateau, s.
    tolerance : float, default 0.01
        Largest change of memory inside it, as a share (0..1); its processes stay the same, too.
    cap_s : float, default 60
        Longest wait for it, s; then the run goes on and carries the issue ``never_settled``.
    hold_s : float, default 0
        How long the sessions are kept idle after that, s.
    cols, rows : int, default 120 and 40
        Size of each terminal, in characters.
    login_screen : bool, default False
        Measure an agent that shows no prompt without its maker's server at what it shows instead: no input
        is typed, so there is no ``first_input_ms``.
    workspace : path or str, optional
        As for :class:`agentlab.OpenCode`; all sessions of a run work in one copy.

    Raises
    ------
    ConfigError
        A setting is wrong.

    Examples
    --------
    >>> Terminal("codex", sessions=(1, 4, 10)).sessions
    (1, 4, 10)
    """

    measures_memory: ClassVar[bool] = True

    agent: str | None = None
    _: dataclasses.KW_ONLY
    command: Sequence[str] | None = None
    sessions: int | Sequence[int] = (1,)
    version: str | None = None
    flags: Sequence[str] = ()
    env: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str], repr=False)
    home: Literal["cold", "warm"] = "cold"
    daemon: Literal["shared", "isolated"] = "shared"
    settle: Literal["plateau"] | float = "plateau"
    window_s: float = 3.0
    tolerance: float = 0.01
    cap_s: float = 60.0
    hold_s: float = 0.0
    cols: int = 120
    rows: int = 40
    login_screen: bool = False
    workspace: str | Path | None = None

    def __post_init__(self) -> None:
        check_kinds(self)
        set_ = object.__setattr__
        if self.agent is None and self.command is None:
            raise ConfigError("Terminal(): name an agent, e.g. Terminal('codex'), or give command=[...]")
        if self.command is not None:
            set_(self, "command", checks.checked_words("command", self.command or [""]))
        if self.agent is not None:
            set_(self, "agent", find_terminal(self.agent).name)
        about = self.about
        set_(self, "sessions", checks.checked_sessions(self.sessions))
        set_(self, "flags", checks.checked_words("flags", self.flags))
        set_(self, "env", checks.checked_environment(self.env, about.folders if about else {}))
        if self.home not in ("cold", "warm"):
            raise ConfigError(f"Terminal(home={self.home!r}): write 'cold' or 'warm'; it is made for the run")
        if self.daemon not in ("shared", "isolated"):
            raise ConfigError(f"Terminal(daemon={self.daemon!r}): write 'shared' or 'isolated'")
        if about is not None and not self.login_screen:
            about.check_idle()
        if about is None and self.version is not None:
            raise ConfigError("Terminal(version=...): only for an agent of agentlab; a command is what it is")
        self._check_numbers()
        if self.workspace is not None:
            set_(self, "workspace", workspace.checked(self.workspace))

    def _check_numbers(self) -> None:
        if self.settle != "plateau":
            checks.checked_number("settle", self.settle, 0, 86_400)
        for field in ("cap_s", "hold_s"):
            checks.checked_number(field, getattr(self, field), 0, 86_400)
        checks.checked_number("window_s", self.window_s, 0.1, 3_600)
        checks.checked_number("tolerance", self.tolerance, 0, 1)
        checks.checked_number("cols", self.cols, 20, 1_000, whole=True)
        checks.checked_number("rows", self.rows, 5, 1_000, whole=True)

    @property
    def about(self) -> TerminalAgent | None:
        """The agent's recipe; None for a command alone."""
        return None if self.agent is None else find_terminal(self.agent)

    def identify(self) -> Identity:
        """Say what is measured; nothing private is in it.

        Returns
        -------
        Identity
            A command, arguments and values of variables of the user as digests. ``sessions`` is not among
            the settings: further numbers extend a study. ``build`` as of :class:`agentlab.AgentCLI`.

        Raises
        ------
        ConfigError
            The workspace is gone.
        StartupError
            The agent is not installed; the message holds the command that installs it.
        """
        about = self.about
        settings: dict[str, Any] = {
            "agent": self.agent,
            "command": None if self.command is None else digest(list(self.command)),
            "flags": shown_flags(self.flags),
            "env": {name: self._shown(name, value) for name, value in sorted(self.env.items())},
            "home": self.home,
            "daemon": self.daemon,
            "settle": self.settle,
            "hold_s": self.hold_s,
            "cols": self.cols,
            "rows": self.rows,
            "login_screen": self.login_screen,
            "workspace": workspace.identity(self.workspace),
        }
        if self.settle == "plateau":
            settings |= {name: getattr(self, name) for name in ("window_s", "tolerance", "cap_s")}
        if about is None or self.command is not None:
            return Identity(driver="terminal", version=None, settings=settings)
        executable = about.locate(self.version)
        if about.name in AGENTS:
            settings["build"] = bundle.identity(AGENTS[about.name], executable)
        return Identity(driver="terminal", version=about.measured_version(self.version), settings=settings)

    def _shown(self, name: str, value: str) -> str:
        """Return a variable's value where it is one of the agent's known switches, else its digest."""
        return value if self.about and f"{name}={value}" in self.about.switches else digest(value)

    def open(self, arm: Arm) -> AbstractAsyncContextManager[Opened]:
        """Check that the agent can be run; its sessions start with each run.

        Parameters
        ----------
        arm : Arm
            From the engine.

        Returns
        -------
        async context manager
            Gives what opens sessions; entered once per arm.

        Raises
        ------
        ConfigError
            The scenario has turns.
        StartupError
            The agent is not installed, or the command is not found.
        """
        from .terminalarm import open_arm

        if arm.scenario.turns:
            raise ConfigError(
                f"the scenario {arm.scenario.name!r} has {len(arm.scenario.turns)} turns, and Terminal asks "
                "nothing of a model; give Scenario(name) without turns, or use AgentCLI"
            )
        return open_arm(self, arm)

    async def run(self, scenario: Scenario | None = None, *, to: str | Path | None = None) -> Recordings:
        """Record one run of each number of sessions.

        Parameters
        ----------
        scenario : Scenario, optional
            Without turns; its time-outs hold. Default: one that is named after the agent and allows 120 s for
            a start.
        to : path, optional
            Study folder; ``studies/<scenario>-<UTC>`` when absent.

        Returns
        -------
        Recordings

        Raises
        ------
        ConfigError, StartupError, RecordingError
            As :func:`agentlab.record`.
        """
        name = f"terminal-{self.agent or 'command'}"
        return await super().run(scenario or Scenario(name, timeouts=Timeouts(start=120)), to=to)
