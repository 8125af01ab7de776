"""One request to the model, and its reply as it streams in."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Mapping

import httpx

from ...errors import ProtocolError
from ...gateway.dialects import DIALECTS
from ...gateway.dialects.base import Piece
from ...gateway.usage import Usage
from ...wire.sse import SSEParser
from .context import ToolCall

_REFUSED = re.compile(r"refused by the gateway: ([a-z_]+)")
#: What a gateway ends a run with; anything else that it refuses is an error of the agent.
_ENDINGS = ("budget", "balance", "limit")


@dataclasses.dataclass(kw_only=True)
class Reply:
    """Hold a reply.

    Parameters
    ----------
    status : {"answered", "calls", "budget", "balance", "limit", "error"}
        ``"answered"``: it ended as a reply that is done; ``"calls"``: it wants tools.
    reason : str or None
        Why it is neither.
    http_status : int or None
        None: no answer came.
    text : str
        Visible text.
    calls : list of ToolCall
        What it wants.
    finish : str or None
        As the provider spelled it.
    usage : Usage
        Tokens.
    """

    status: str = "error"
    reason: str | None = None
    http_status: int | None = None
    text: str = ""
    calls: list[ToolCall] = dataclasses.field(default_factory=list[ToolCall])
    finish: str | None = None
    usage: Usage = dataclasses.field(default_factory=Usage)


class Model:
    """Ask the model behind the gateway.

    Parameters
    ----------
    url : str
        Where requests go.
    dialect : str
        Of the gateway.
    headers : mapping
        With the gateway's token.
    stall_s : float
        Longest silence.
    """

    def __init__(self, url: str, *, dialect: str, headers: Mapping[str, str], stall_s: float) -> None:
        self._url = url
        self._dialect = DIALECTS[dialect]
        self._client = httpx.AsyncClient(
            headers={"content-type": "application/json", "accept-encoding": "identity", **headers},
            timeout=httpx.Timeout(stall_s),
            trust_env=False,
        )

    async def ask(self, body: bytes, heard: Callable[[Piece, int], None]) -> Reply:
        """Send one request, once.

        Parameters
        ----------
        body : bytes
            JSON.
        heard : callable
            Called with each piece and the stamp of the read that it came in, CLOCK_MONOTONIC ns.

        Returns
        -------
        Reply
            Whatever happened; a reply without its end is an error.
        """
        reply = Reply()
        try:
            async with self._client.stream("POST", self._url, content=body) as answer:
                reply.http_status = answer.status_code
                if answer.status_code != 200:
                    _refused(reply, await answer.aread())
                else:
                    await self._read(answer, reply, heard)
        except httpx.TimeoutException:
            reply.reason = "stalled"
        except httpx.TransportError:
            reply.reason = "connection_lost"
        return reply

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _read(self, answer: httpx.Response, reply: Reply, heard: Callable[[Piece, int], None]) -> None:
        parser, reader, pieces = SSEParser(), self._dialect.reader(), list[Piece]()
        try:
            async for part in answer.aiter_raw():
                t = time.monotonic_ns()
                for event in parser.feed(part, t):
                    for piece in reader.event(event.data)[0]:
                        pieces.append(piece)
                        heard(piece, t)
        except ProtocolError:
            reader.malformed = True
        reply.text = "".join(piece.text for piece in pieces if piece.kind == "text")
        reply.finish, reply.usage = reader.finish, self._dialect.read_usage(reader.usage)
        if reader.error or reader.malformed or not reader.terminal_seen:
            reply.reason = (
                "error_event" if reader.error else "malformed_stream" if reader.malformed else "cut_stream"
            )
        elif reader.finish == self._dialect.finish("length"):
            reply.reason = "length"  # its last call may be cut: none is carried out
        else:
            reply.calls = _calls(pieces)
            done = reader.finish == self._dialect.finish("stop")
            reply.status = "calls" if reply.calls else "answered" if done else "error"
            reply.reason = None if reply.calls or done else f"finish_{reader.finish}"[:64]


def _refused(reply: Reply, body: bytes) -> None:
    told = _REFUSED.search(body.decode("utf-8", "replace"))
    reply.reason = told[1] if told else f"http_{reply.http_status}"
    reply.status = told[1] if told and told[1] in _ENDINGS else "error"


def _calls(pieces: list[Piece]) -> list[ToolCall]:
    """Join the pieces of each call; one that came without an id gets one."""
    heads: dict[int, tuple[str, str]] = {}
    arguments: dict[int, str] = {}
    for piece in pieces:
        if piece.kind == "tool":
            heads.setdefault(piece.index, piece.call or ("", ""))
            arguments[piece.index] = arguments.get(piece.index, "") + piece.text
    return [
        ToolCall(call_id or f"call_{at}", name, arguments[index])
        for at, (index, (call_id, name)) in enumerate(heads.items())
    ]
