"""A client as cheap as can be: agents that each send one request after another, and when answers came."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import time
from typing import Any
from urllib.parse import urlsplit

from ._gateway_upstream import N_CHUNKS

BODY_BYTES = 31_600
TURNS = 10  # requests of one session
_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
_WAIT_S = 60.0


@dataclasses.dataclass(frozen=True)
class Times:
    """When one answer came, after its request was written.

    Parameters
    ----------
    first_s : float
        First byte of its body.
    total_s : float
        Its end.
    """

    first_s: float
    total_s: float


def body(*, stream: bool, paced: bool = False, turn: int = 0) -> bytes:
    """Return a request as coding agents send it: tools, a system text, a history that only grows.

    The first of a session has 31.6 kB; each further one says 0.3 kB more.
    """
    data: dict[str, Any] = {
        "model": "bench-paced" if paced else "bench",
        "messages": [
            {"role": "system", "content": ""},
            {"role": "user", "content": "Read notes.txt, change it, run the tests and say what came of it."},
        ],
        "tools": [_tool(at) for at in range(10)],
        "max_tokens": 4096,
        "stream": stream,
        **({"stream_options": {"include_usage": True}} if stream else {}),
    }
    filler = "-" * (BODY_BYTES - len(json.dumps(data)) - 24)
    data["messages"][0]["content"] = "You are a coding agent. " + filler
    for at in range(turn):
        data["messages"] += _step(at)
    return json.dumps(data).encode()


def _step(at: int) -> list[dict[str, Any]]:
    function = {"name": "tool_0", "arguments": json.dumps({"path": f"notes-{at}.txt"})}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"call_{at}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"call_{at}", "content": f'line {at} of "the" notes\n' * 3},
    ]


def _tool(at: int) -> dict[str, Any]:
    fields = {
        f"argument_{i}": {"type": "string", "description": "What this argument means to the tool. " * 6}
        for i in range(7)
    }
    schema = {
        "type": "object",
        "properties": fields,
        "required": ["argument_0"],
        "additionalProperties": False,
    }
    about = {"name": f"tool_{at}", "description": "What the tool does. " * 10, "parameters": schema}
    return {"type": "function", "function": about}


async def talk(
    url: str, token: str, *, clients: int, requests: int, stream: bool, paced: bool = False
) -> list[Times]:
    """Let each client send its requests one after another over one connection.

    Parameters
    ----------
    url : str
        Of chat completions.
    token : str
        Bearer.
    clients, requests : int
        How many clients, and how many requests of each; all begin at once.
    stream, paced : bool
        What is asked for.
    """
    parts = urlsplit(url)
    host, port = str(parts.hostname), int(parts.port or 0)
    one = _Talk(f"{host}:{port}", parts.path, token, stream=stream, paced=paced)
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(_Connection, host, port) for _ in range(clients)]
    try:
        async with asyncio.timeout(_WAIT_S):
            times = await asyncio.gather(
                *(one.run(connection, name, requests) for name, (_, connection) in enumerate(made))
            )
    finally:
        for transport, _ in made:
            transport.abort()
    return [time for of_one in times for time in of_one]


class _Talk:
    def __init__(self, host: str, path: str, token: str, *, stream: bool, paced: bool) -> None:
        self._head = (
            f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nAccept: */*\r\n"
            "Content-Type: application/json\r\n"
        ).encode()
        self._bodies = [body(stream=stream, paced=paced, turn=turn) for turn in range(TURNS)]
        self._stream = stream

    async def run(self, connection: _Connection, name: int, requests: int) -> list[Times]:
        times: list[Times] = []
        session = b""
        for number in range(requests):
            if number % TURNS == 0:
                session = b"%x-%d" % (time.monotonic_ns(), name)
            data = self._bodies[number % TURNS]
            rest = b"Content-Length: %d\r\nX-Session-Id: %s\r\n\r\n" % (len(data), session)
            times.append(self._check(await connection.ask(self._head + rest + data), connection.answer))
        return times

    def _check(self, times: Times, answer: bytes) -> Times:
        right = answer.count(b"word") == N_CHUNKS and b"[DONE]" in answer
        if not (right if self._stream else b"Done." in answer and b'"usage"' in answer):
            raise RuntimeError(f"not the whole answer: {answer[:300]!r} ... {answer[-100:]!r}")
        return times


class _Connection(asyncio.Protocol):
    """One HTTP connection; reads an answer to its end without looking at more than it must."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._done: asyncio.Future[float] | None = None
        self._parts: list[bytes] = []
        self._end: int | None = None
        self._first = 0.0
        self._size = 0

    @property
    def answer(self) -> bytes:
        return b"".join(self._parts)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(RuntimeError(f"the connection was lost after {self.answer[:200]!r}"))

    async def ask(self, request: bytes) -> Times:
        assert self._transport is not None
        self._parts, self._end, self._first, self._size = [], None, 0.0, 0
        self._done = asyncio.get_running_loop().create_future()
        start = time.perf_counter()
        self._transport.write(request)
        end = await self._done
        return Times(self._first - start, end - start)

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        self._parts.append(data)
        self._size += len(data)
        if not self._first:
            self._open(now)
        whole = self._size == self._end if self._end else data.endswith(b"0\r\n\r\n") or self._ended()
        if self._first and whole and self._done is not None and not self._done.done():
            self._done.set_result(now)

    def _open(self, now: float) -> None:
        """See whether the body has begun, and where it ends if that is said."""
        head, found, rest = self.answer.partition(b"\r\n\r\n")
        if not found or not rest:
            return
        self._first = now
        length = _LENGTH.search(head)
        self._end = None if length is None else len(head) + 4 + int(length[1])

    def _ended(self) -> bool:
        """Whether a chunked answer ended with a last chunk that came in two reads."""
        return len(self._parts) > 1 and b"".join(self._parts[-2:]).endswith(b"\r\n0\r\n\r\n")
