"""One call under way: what an upstream is given, and the connection it answers on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Protocol

from .admission import Refusal
from .attribution import Owner
from .dialects.base import Dialect, ModelRequest
from .exchange import Exchange


class Wire(Protocol):
    """The agent's connection. A write raises ConnectionError once the agent is gone."""

    async def start(self, status: int, content_type: str) -> None:
        """Send the head of a reply whose length is not known yet."""
        ...

    async def write(self, data: bytes) -> None:
        """Send a part of it, at once."""
        ...

    async def end(self) -> None:
        """End it, well formed."""
        ...

    async def send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole JSON reply."""
        ...

    def reset(self) -> None:
        """Reset the TCP connection: the agent must not take what it has for whole."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Call:
    """Hold one call.

    Parameters
    ----------
    wire : Wire
        Where the answer goes.
    dialect : Dialect
        Of the request.
    request : ModelRequest
        What was asked.
    headers : mapping
        As the agent sent them.
    body : bytes
        As the agent sent it.
    target : str
        Path below the dialect's base, and query without a login.
    exchange : Exchange
        Where the answer is recorded.
    session : str
        Key of the conversation.
    chain : str or None
        What its chain is for.
    owner : Owner
        Its run.
    start_ns : int
        End of the body's last read, CLOCK_MONOTONIC.
    """

    wire: Wire
    dialect: Dialect
    request: ModelRequest
    headers: Mapping[str, str]
    body: bytes
    target: str
    exchange: Exchange
    session: str
    chain: str | None
    owner: Owner
    start_ns: int


async def refuse(
    wire: Wire, dialect: Dialect, exchange: Exchange, why: Refusal | None, *, status: int = 400
) -> None:
    """Refuse a request for which nothing is charged.

    Parameters
    ----------
    wire : Wire
        Where the answer goes.
    dialect : Dialect
        Of the request.
    exchange : Exchange
        Where the refusal is recorded.
    why : Refusal or None
        The reason.
    status : int
        400 is the one status that no agent repeats.
    """
    exchange.status, exchange.reason, exchange.refused = status, why.reason if why else "refused", True
    await wire.send(status, dialect.error_body(status, f"refused by the gateway: {why}"))


class Upstream(Protocol):
    """What answers: a scripted model, a provider or a tape."""

    async def answer(self, call: Call) -> None:
        """Answer one call on its wire, and note in its exchange how."""
        ...

    async def close(self) -> None:
        """Free what it holds."""
        ...
