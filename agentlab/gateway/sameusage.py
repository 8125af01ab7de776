"""Usage of chat in its standard spelling, so that all agents see the same cache count."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..wire.sse import SSEEvent, SSEParser
from .canonical import encode
from .usage import Usage

if TYPE_CHECKING:
    from .call import Wire
    from .dialects.base import Dialect


class SameUsage:
    """Pass a chat reply on with its usage in the standard spelling.

    Providers of chat spell cached tokens in half a dozen ways, and each agent reads some of them; spelled
    alike, all agents see the same count. The other wires have one spelling each.

    Parameters
    ----------
    wire : Wire
        The agent's connection.
    dialect : Dialect
        Chat.
    """

    def __init__(self, wire: Wire, dialect: Dialect) -> None:
        self._wire = wire
        self._dialect = dialect
        self._parser: SSEParser | None = None

    async def start(self, status: int, content_type: str) -> None:
        """Send the head of a reply."""
        self._parser = SSEParser() if content_type == "text/event-stream" else None
        await self._wire.start(status, content_type)

    async def write(self, data: bytes) -> None:
        """Send a part of it; an event is sent when it is whole."""
        if self._parser is None:
            await self._wire.write(data)
        elif again := b"".join(map(self._event, self._parser.feed(data, 0))):
            await self._wire.write(again)

    async def end(self) -> None:
        """End it, well formed."""
        await self._wire.end()

    def reset(self) -> None:
        """Reset the connection."""
        self._wire.reset()

    async def send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole JSON reply."""
        await self._wire.send(status, self._respell(body), headers)

    def _event(self, event: SSEEvent) -> bytes:
        return b"data: " + self._respell(event.data).replace(b"\n", b"\ndata: ") + b"\n\n"

    def _respell(self, data: bytes) -> bytes:
        if b'"usage"' not in data:
            return data
        try:
            frame = json.loads(data)
            usage = self._dialect.read_usage(frame["usage"])
        except (ValueError, KeyError, TypeError):
            return data
        spelled = _standard(usage)
        return data if spelled is None else encode({**frame, "usage": spelled})


def _standard(usage: Usage) -> dict[str, Any] | None:
    """Spell usage as OpenAI's chat does; None: too little is known."""
    total, output, read = usage.input_total_tokens, usage.output_tokens, usage.cache_read_tokens
    if usage.reason is not None or total is None or output is None or read is None:
        return None
    prompt = {"cached_tokens": read}
    if usage.cache_write_tokens is not None:
        prompt["cache_write_tokens"] = usage.cache_write_tokens
    spelled: dict[str, Any] = {
        "prompt_tokens": total,
        "completion_tokens": output,
        "total_tokens": total + output,
        "prompt_tokens_details": prompt,
    }
    if usage.reasoning_tokens is not None:
        spelled["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return spelled
