"""Whose request is it: the agent's session, the run it was first seen in, and the request before it."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from .canonical import Canonical, Change, compare
from .dialects.base import ModelRequest
from .promptcache import Scope

#: Headers in which agents name their session, in order of preference.
SESSION_HEADERS = (
    "x-session-id",  # OpenCode
    "x-session-affinity",  # OpenCode
    "x-claude-code-session-id",  # Claude Code
    "session-id",  # Codex
)
_MAX_CHAINS = 256


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


@dataclasses.dataclass(frozen=True)
class Link:
    """Say how a request follows the one before it in its chain (same session, same set of tools).

    Parameters
    ----------
    change : Change or None
        None: there is none before it.
    retry_of : int or None
        Number of the request that it repeats byte for byte.
    """

    change: Change | None = None
    retry_of: int | None = None

    def fields(self) -> dict[str, Any]:
        """Return what ``request.begin`` says of it.

        Returns
        -------
        dict
        """
        fields: dict[str, Any] = {"retry_of": self.retry_of}
        if self.change is not None:
            fields |= {
                "prefix_bytes": self.change.prefix_bytes,
                "first_changed": self.change.first_changed,
                "append_only": self.change.append_only,
            }
        return fields


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
        self._chains: OrderedDict[tuple[str, str], tuple[int, Canonical]] = OrderedDict()

    def owner(
        self, headers: Mapping[str, str], request: ModelRequest | None = None
    ) -> tuple[str | None, Owner]:
        """Return the session and its run.

        Parameters
        ----------
        headers : mapping
            Of the request; names in lower case or case-insensitive.
        request : ModelRequest, optional
            Its body may name the session too.

        Returns
        -------
        tuple of (str or None, Owner)
        """
        named = (value for name in SESSION_HEADERS if (value := headers.get(name)))
        session = next(named, request.session if request is not None else None)
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
        chain = (key, request.tool_names_hash)
        before = self._chains.pop(chain, None)
        self._chains[chain] = (number, request.canonical)
        if len(self._chains) > _MAX_CHAINS:
            self._chains.popitem(last=False)
        if before is None:
            return Link()
        same = before[1].data == request.canonical.data
        return Link(compare(before[1], request.canonical), before[0] if same else None)
