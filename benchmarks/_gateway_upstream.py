"""A provider in a process of its own, as cheap as can be: chat completions, whole or in 100 chunks.

It is told how to answer by the body: ``"stream": true``, and a model whose name ends in ``paced`` streams one
chunk every 10 ms. It ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Generator

N_CHUNKS = 100
PACE_S = 0.010
_STREAM = re.compile(rb'"stream"\s*:\s*true')
_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
_HEAD = (
    b'{"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1760000000,'
    b'"model":"bench","choices":'
)
_USAGE = (
    b'"usage":{"prompt_tokens":7900,"completion_tokens":100,"total_tokens":8000,'
    b'"prompt_tokens_details":{"cached_tokens":7680}}'
)


def _frame(data: bytes) -> bytes:
    return b"%x\r\ndata: %s\n\n\r\n" % (len(data) + 8, data)


def frames() -> list[bytes]:
    """Return the HTTP chunks of one streamed reply: 100 with text, then its end with usage."""
    text = b'[{"index":0,"delta":{"role":"assistant","content":"word%02d "},"finish_reason":null}]}'
    parts = [_frame(_HEAD + text % at) for at in range(N_CHUNKS)]
    end = _frame(_HEAD + b'[{"index":0,"delta":{},"finish_reason":"stop"}]}')
    usage = _frame(_HEAD + b"[]," + _USAGE + b"}")
    return [*parts, end + usage + _frame(b"[DONE]") + b"0\r\n\r\n"]


_STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_FRAMES = frames()
_WHOLE_BODY = (
    b'{"id":"chatcmpl-0123456789abcdef","object":"chat.completion","created":1760000000,"model":"bench",'
    b'"choices":[{"index":0,"message":{"role":"assistant","content":"Done."},"finish_reason":"stop"}],'
    + _USAGE
    + b"}"
)
_WHOLE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(_WHOLE_BODY)
    + _WHOLE_BODY
)


class _Answer(asyncio.Protocol):
    def __init__(self) -> None:
        self._data = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._data += data
        head = self._data.find(b"\r\n\r\n")
        if head < 0:
            return
        end = self._end(head)
        if end is None:
            return
        body, self._data = self._data[head:end], self._data[end:]
        self._answer(body)

    def _end(self, head: int) -> int | None:
        """Return where the request ends, or None when more of it is to come."""
        length = _LENGTH.search(self._data, 0, head)
        if length is not None:
            end = head + 4 + int(length[1])
            return end if len(self._data) >= end else None
        last = self._data.find(b"\r\n0\r\n\r\n", head)  # chunked; no body of ours holds this
        return None if last < 0 else last + 7

    def _answer(self, body: bytes) -> None:
        if self._transport is None:
            return
        if _STREAM.search(body) is None:
            self._transport.write(_WHOLE)
            return
        self._transport.write(_STREAM_HEAD)
        if b"paced" in body:
            loop = asyncio.get_running_loop()
            self._next(loop, loop.time(), 0)
            return
        for part in _FRAMES:
            self._transport.write(part)

    def _next(self, loop: asyncio.AbstractEventLoop, start: float, at: int) -> None:
        if self._transport is None:
            return
        self._transport.write(_FRAMES[at])
        if at + 1 < len(_FRAMES):
            loop.call_at(start + (at + 1) * PACE_S, self._next, loop, start, at + 1)


@contextlib.contextmanager
def serving() -> Generator[tuple[int, int]]:
    """Start the provider; give its port and process id."""
    command = [sys.executable, "-m", "benchmarks._gateway_upstream"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        try:
            yield int(server.stdout.readline()), server.pid
        finally:
            server.stdin.close()
            server.wait()


async def _main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)  # the owner's lifeline
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(_main())
