"""Whose request is it: the agent's session, the run it was first seen in, and the request before it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from .chains import Chains, Link
from .dialects.base import ModelRequest
from .promptcache import Scope

#: Headers in which agents name their session, in order of preference.
SESSION_HEADERS = (
    "x-session-id",  # OpenCode
    "x-session-affinity",  # OpenCode
    "x-claude-code-session-id",  # Claude Code
    "session-id",  # Codex
)

#: Namespace of throw-away prompts; a scripted model answers them without taking a step.
WARM_UP = "warmup"


@dataclasses.dataclass(frozen=True)
class Owner:
    """Say which run a request belongs to.

    Parameters
    ----------
    run_id, arm : str or None
        None: no run was under way.
    file : str or None
        Where its lines go; None: nowhere.
    warm_up : bool
        Whether an owner of runs said that none is under way: what comes now is a throw-away prompt.
    """

    run_id: str | None = None
    arm: str | None = None
    file: str | None = None
    warm_up: bool = False

    def namespace(self, scope: Scope) -> str:
        """Return the prompt cache's namespace; what happens outside a run never warms one.

        Parameters
        ----------
        scope : {"run", "arm", "study"}
            Of the cache.

        Returns
        -------
        str
        """
        if self.run_id is None:
            return WARM_UP if self.warm_up else "alone"
        return {"run": f"run {self.run_id}", "arm": f"arm {self.arm}", "study": "study"}[scope]


class Attribution:
    """Bind sessions to runs, for ever, and follow their chains.

    Parameters
    ----------
    idle : Owner
        Of requests while no run is under way.
    """

    def __init__(self, idle: Owner) -> None:
        self.current = idle
        self._owners: dict[str, Owner] = {}
        self._chains = Chains()

    def owner(self, headers: Mapping[str, str]) -> tuple[str | None, Owner]:
        """Return the session and its run.

        Parameters
        ----------
        headers : mapping
            Of the request; names in lower case or case-insensitive.

        Returns
        -------
        tuple of (str or None, Owner)
        """
        named = (value for name in SESSION_HEADERS if (value := headers.get(name)))
        session = next(named, None)
        if session is None:
            return None, self.current
        return session, self._owners.setdefault(session, self.current)

    def link(self, key: str, number: int, request: ModelRequest) -> Link:
        """Place a request in its chain.

        Parameters
        ----------
        key : str
            Of the conversation.
        number : int
            Of the request.
        request : ModelRequest
            What was asked.

        Returns
        -------
        Link
        """
        return self._chains.link(key, number, request)
