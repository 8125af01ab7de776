"""Command-line agents: one process a turn, read from its event stream and judged by it and the gateway."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ...agents.base import Agent, split_model
from ...agents.catalogue import find_agent
from ...errors import ConfigError
from ...scenario import fingerprint
from .. import workspace
from ..base import Arm, Identity, Opened, RunsAlone, check_kinds, shown_flags

if TYPE_CHECKING:
    from ...gateway import Gateway


@dataclasses.dataclass(frozen=True, repr=False)
class AgentCLI(RunsAlone):
    """Run a command-line agent: a fresh home and workspace a run, one process a turn, behind a gateway.

    Its environment and configuration are built from nothing; updates and telemetry are off, and so are
    retries where there is a switch: OpenCode (5 at most) and Cline (3) have none. A run in which a request
    was sent again is discarded (``retry``). Each further turn resumes the session of the first, which Cline
    and mini-swe-agent cannot do. Its exit code is evidence and never the verdict: an ending by the gateway
    (budget, balance, limit) goes before what its event stream says.

    Parameters
    ----------
    agent : str
        ``"pi"``, ``"opencode"``, ``"codex"``, ``"claude_code"``, ``"gemini_cli"``, ``"cline"`` or
        ``"mini_swe_agent"``; install it with :func:`agentlab.install`.
    model : str, default "lab/scripted"
        ``"provider/model"``; what stands behind the slash is asked for. Some agents choose their own prompt
        by it: Claude Code's is 40 kB longer for a name that it knows.
    version : str, optional
        Default: the one agentlab is tested with.
    flags : sequence of str
        Further arguments, e.g. ``["--bare"]``.
    dialect : {"chat", "responses", "messages", "gemini"}, optional
        Wire to the gateway; default: the agent's first.
    context_tokens : int, default 128000
        What the agent is told of its model: the context window.
    max_output_tokens : int, default 8192
        Likewise: the longest output.
    workspace : path or str, optional
        As for :class:`agentlab.OpenCode`.
    system : str, optional
        System text in addition to the agent's own, where the agent takes one.
    network : {"open", "loopback"}
        ``"loopback"`` (needs root, on Linux): it runs in a network of its own from which only the gateway can
        be reached; names that it looks up are recorded. ``"open"``: its connections to other machines are
        sampled.
    gateway : Gateway, optional
        Model boundary of this arm; goes before that of ``record``. One of the two is needed.

    Raises
    ------
    ConfigError
        A setting is wrong, or the agent cannot do it.

    Examples
    --------
    >>> AgentCLI("codex", flags=["--search"]).model
    'lab/scripted'
    """

    agent: str
    _: dataclasses.KW_ONLY
    model: str = "lab/scripted"
    version: str | None = None
    flags: Sequence[str] = ()
    dialect: Literal["chat", "responses", "messages", "gemini"] | None = None
    context_tokens: int = 128_000
    max_output_tokens: int = 8_192
    workspace: str | Path | None = None
    system: str | None = None
    network: Literal["open", "loopback"] = "open"
    gateway: Gateway | None = None

    def __post_init__(self) -> None:
        check_kinds(self)
        about = self.about
        object.__setattr__(self, "agent", about.name)
        split_model("AgentCLI", self.model)
        flags: object = self.flags
        if isinstance(flags, str) or not all(_is_argument(flag) for flag in _items(flags)):
            raise ConfigError("AgentCLI(flags=...): give a list of arguments, e.g. ['--bare']")
        object.__setattr__(self, "flags", tuple(self.flags))
        if self.dialect is not None and self.dialect not in about.dialects:
            raise ConfigError(
                f"AgentCLI(dialect={self.dialect!r}): {about.title} speaks {', '.join(about.dialects)}"
            )
        for field in ("context_tokens", "max_output_tokens"):
            value: object = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ConfigError(f"AgentCLI({field}={value!r}): give a number of tokens above 0")
        if self.system is not None and not about.takes_system:
            raise ConfigError(f"AgentCLI(system=...): {about.title} takes no further system text")
        if self.network not in ("open", "loopback"):
            raise ConfigError(f"AgentCLI(network={self.network!r}): write 'open' or 'loopback'")
        if self.workspace is not None:
            object.__setattr__(self, "workspace", workspace.checked(self.workspace))

    @property
    def about(self) -> Agent:
        """The agent's entry in the catalogue."""
        return find_agent(self.agent)

    def identify(self) -> Identity:
        """Say what is measured; nothing private is in it.

        Returns
        -------
        Identity
            ``settings["build"]`` says which build is installed: real path, digests, runtime.

        Raises
        ------
        ConfigError
            The workspace is gone.
        StartupError
            The agent is not installed; the message holds the command that installs it.
        """
        from ...agents.bundle import identity

        about = self.about
        settings: dict[str, Any] = {
            "agent": about.name,
            "flags": shown_flags(self.flags),
            "dialect": self.dialect or about.dialects[0],
            "context_tokens": self.context_tokens,
            "max_output_tokens": self.max_output_tokens,
            "workspace": workspace.identity(self.workspace),
            "system": None if self.system is None else fingerprint(self.system),
            "network": self.network,
            "build": identity(about, about.locate(self.version)),
        }
        return Identity(
            driver="agentcli", version=self.version or about.version, model=self.model, settings=settings
        )

    def open(self, arm: Arm) -> AbstractAsyncContextManager[Opened]:
        """Check that the agent can be run; its processes start with the turns.

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
            There is no gateway, or the agent cannot resume a session and the scenario has several turns.
        StartupError
            It is not installed, or no network of its own can be made.
        """
        from .agentarm import open_arm

        return open_arm(self, arm)


def _items(values: object) -> Sequence[object]:
    return cast("Sequence[object]", values) if isinstance(values, list | tuple) else ("",)


def _is_argument(flag: object) -> bool:
    return isinstance(flag, str) and flag != "" and "\0" not in flag
