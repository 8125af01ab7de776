"""Record what goes to an agent, with its stamps; only with ``keep="content"``. No header is ever on it."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .tape import prompt_hash, tape_file

if TYPE_CHECKING:
    from .call import Wire
    from .dialects.base import Dialect, ModelRequest
    from .exchange import Exchange
    from .journal import Journal


class TapeWire:
    """Pass a reply on, and write it on the run's tape.

    Parameters
    ----------
    wire : Wire
        The agent's connection.
    journal : Journal
        Writes the tape.
    exchange : Exchange
        Of the request.
    """

    def __init__(self, wire: Wire, journal: Journal, exchange: Exchange) -> None:
        self._wire = wire
        self._journal = journal
        self._exchange = exchange
        owner = exchange.owner
        self._file = None if owner.file is None else tape_file(owner.file)

    def begin(self, t: int, *, dialect: Dialect, request: ModelRequest, chain: str | None) -> None:
        """Write ``tape.begin``.

        Parameters
        ----------
        t : int
            End of the request's body, ns.
        dialect : Dialect
            Of the request.
        request : ModelRequest
            What was asked.
        chain : str or None
            Of the request.
        """
        owner = self._exchange.owner
        about = {"run_id": owner.run_id, "arm": owner.arm, "dialect": dialect.name, "chain": chain}
        self._note("tape.begin", t=t, **about, hash=prompt_hash(request.canonical.data))

    def close(self) -> None:
        """Write ``tape.result``: what was noted of the reply."""
        exchange = self._exchange
        self._note(
            "tape.result",
            status=exchange.status,
            terminal_seen=exchange.terminal_seen,
            finish=exchange.finish,
            model=exchange.model,
            fault=exchange.fault,
            refused=exchange.refused or None,
            reason=exchange.reason,
            usage=exchange.raw_usage,
        )

    async def start(self, status: int, content_type: str) -> None:
        """Send the head of a reply."""
        self._note("tape.start", status=status, content_type=content_type)
        await self._wire.start(status, content_type)

    async def write(self, data: bytes) -> None:
        """Send a part of it."""
        self._note("tape.write", **_data(data))
        await self._wire.write(data)

    async def end(self) -> None:
        """End it, well formed."""
        self._note("tape.end")
        await self._wire.end()

    async def send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole JSON reply."""
        self._note("tape.send", status=status, retry_after=(headers or {}).get("retry-after"), **_data(body))
        await self._wire.send(status, body, headers)

    def reset(self) -> None:
        """Reset the connection."""
        self._note("tape.reset")
        self._wire.reset()

    def _note(self, kind: str, *, t: int | None = None, **fields: Any) -> None:  # noqa: ANN401
        stamp = time.monotonic_ns() if t is None else t
        self._journal.write(self._file, stamp, kind, {"request": self._exchange.number, **fields})


def _data(data: bytes) -> dict[str, Any]:
    """Return bytes as JSON: a part may end inside of a character."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
