"""The reference agent: a small tool loop of our own, the control arm of every comparison."""

from __future__ import annotations

import dataclasses
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ...agents.base import split_model
from ...errors import ConfigError
from ...scenario import digest, fingerprint
from ...tools import SYSTEM, TOOLS
from .. import workspace
from ..base import Arm, Identity, Opened, RunsAlone, check_kinds

if TYPE_CHECKING:
    from ...gateway import Gateway

#: Raised with each change of what it does.
VERSION = "1"
_DIALECTS = ("chat", "responses", "messages", "gemini")


@dataclasses.dataclass(frozen=True, repr=False)
class Reference(RunsAlone):
    """Run a small tool loop in the measuring process, behind the same gateway as any other agent.

    It asks the model, carries out the calls with the shared file tools (:mod:`agentlab.tools`: edit, find,
    grep, ls, query, read, write), and goes on until the model answers without a call. Nothing is asked twice:
    a refused or broken request ends the turn. A reply that was cut is never acted upon. Reasoning is not sent
    back to the model.

    Parameters
    ----------
    model : str
        ``"provider/model"``.
    policy : {"continuous", "windowed"}
        ``"continuous"``: the context only grows. ``"windowed"``: once a request would be longer than
        ``window_tokens``, the oldest observations are taken out of it (a short note stays) until it is at
        three quarters of that; those of the last reply's calls stay.
    window_tokens : int, optional
        Length of the window, in tokens of four bytes of the request's body.
    dialect : {"chat", "responses", "messages", "gemini"}
        Wire to the model.
    system : str, optional
        System text; the shared tools' own when absent.
    max_output_tokens : int, default 8192
        Output cap of each request.
    max_steps : int, default 100
        Requests of one turn; at the next one it is stopped.
    max_observation_chars : int, default 16000
        Longest observation shown whole; the rest can be queried.
    workspace : path or str, optional
        Folder that is copied afresh for each run, or ``"git+PATH@REF"``, a commit of a local repository. A
        small generated project when absent.
    gateway : Gateway, optional
        Model boundary of this arm; goes before that of ``record``. One of the two is needed.

    Raises
    ------
    ConfigError
        A setting is wrong.

    Examples
    --------
    >>> Reference("lab/scripted", policy="windowed", window_tokens=8000).identify().settings["policy"]
    'windowed'
    """

    model: str
    _: dataclasses.KW_ONLY
    policy: Literal["continuous", "windowed"] = "continuous"
    window_tokens: int | None = None
    dialect: Literal["chat", "responses", "messages", "gemini"] = "chat"
    system: str = SYSTEM
    max_output_tokens: int = 8192
    max_steps: int = 100
    max_observation_chars: int = 16_000
    workspace: str | Path | None = None
    gateway: Gateway | None = None

    def __post_init__(self) -> None:
        check_kinds(self)
        split_model("Reference", self.model)
        if self.policy not in ("continuous", "windowed"):
            raise ConfigError(f"Reference(policy={self.policy!r}): write 'continuous' or 'windowed'")
        if (self.policy == "windowed") != (self.window_tokens is not None):
            raise ConfigError("Reference(policy='windowed', window_tokens=...): give both or neither")
        if self.dialect not in _DIALECTS:
            raise ConfigError(f"Reference(dialect={self.dialect!r}): write one of {', '.join(_DIALECTS)}")
        for name in ("window_tokens", "max_output_tokens", "max_steps", "max_observation_chars"):
            value: object = getattr(self, name)
            optional = name == "window_tokens" and value is None
            if not optional and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ConfigError(f"Reference({name}={value!r}): give an integer from 1")
        if self.workspace is not None:
            object.__setattr__(self, "workspace", workspace.checked(self.workspace))

    def identify(self) -> Identity:
        """Say what is measured; nothing private is in it.

        Returns
        -------
        Identity
            The system text as digest and length, the workspace by name and digest.
        """
        settings = {
            "policy": self.policy,
            "window_tokens": self.window_tokens,
            "dialect": self.dialect,
            "system": fingerprint(self.system),
            "tools": digest(list(TOOLS)),
            "max_output_tokens": self.max_output_tokens,
            "max_steps": self.max_steps,
            "max_observation_chars": self.max_observation_chars,
            "workspace": workspace.identity(self.workspace),
        }
        return Identity(driver="reference", version=VERSION, model=self.model, settings=settings)

    def open(self, arm: Arm) -> AbstractAsyncContextManager[Opened]:
        """Prepare the arm.

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
            There is no gateway.
        """
        gateway = arm.gateway
        if gateway is None:
            raise ConfigError(
                f"arm {arm.name!r}: the reference agent has no model without a gateway; give gateway= to "
                "record() or to Reference()"
            )
        from .opened import open_arm

        return open_arm(self, arm, gateway)
