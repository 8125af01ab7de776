"""The agent's HTTP connection: what comes in, and how a reply goes out."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Mapping
from urllib.parse import unquote

from aiohttp import web

_MAX_BODY = 64 * 2**20


class HttpWire:
    """The agent's connection.

    Parameters
    ----------
    http : aiohttp.web.BaseRequest
        Its request.

    Attributes
    ----------
    response : aiohttp.web.StreamResponse
        What was sent.
    """

    def __init__(self, http: web.BaseRequest) -> None:
        self._http = http
        self.response: web.StreamResponse = web.StreamResponse()

    async def start(self, status: int, content_type: str) -> None:
        """Send the head of a reply whose length is not known yet."""
        headers = {"content-type": content_type, "cache-control": "no-cache"}
        self.response = web.StreamResponse(status=status, headers=headers)
        await self.response.prepare(self._http)

    async def write(self, data: bytes) -> None:
        """Send a part of it, at once."""
        try:
            await self.response.write(data)
        except (
            ConnectionError
        ):  # aiohttp's own kind is also its client's: an upstream must not take it for its own
            raise ConnectionResetError("the agent is gone") from None

    async def end(self) -> None:
        """End it, well formed."""
        try:
            await self.response.write_eof()
        except ConnectionError:
            raise ConnectionResetError("the agent is gone") from None

    async def send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole JSON reply."""
        self.response = web.Response(
            status=status, headers=headers, body=body, content_type="application/json"
        )
        await self.response.prepare(self._http)  # goes out with the body
        await self.end()

    def reset(self) -> None:
        """Reset the TCP connection."""
        transport = self._http.transport
        if transport is None:
            return
        with contextlib.suppress(OSError, AttributeError):  # linger 0: close sends a reset
            linger = struct.pack("ii", 1, 0)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        transport.abort()


def query(http: web.BaseRequest) -> str:
    """Return the query as it was sent, without the gateway's token.

    Parameters
    ----------
    http : aiohttp.web.BaseRequest
        From an agent.

    Returns
    -------
    str
        With its question mark, or empty.
    """
    parts = http.rel_url.raw_query_string.split("&")
    kept = "&".join(part for part in parts if part and unquote(part.partition("=")[0]) != "key")
    return f"?{kept}" if kept else ""


async def read_body(http: web.BaseRequest) -> bytes:
    """Read a body; one that is too large, or cannot be unpacked, is cut, and then is no JSON.

    Parameters
    ----------
    http : aiohttp.web.BaseRequest
        From an agent.

    Returns
    -------
    bytes
    """
    parts: list[bytes] = []
    size = 0
    with contextlib.suppress(web.RequestPayloadError):
        async for part in http.content.iter_any():
            size += len(part)
            if size <= _MAX_BODY:
                parts.append(part)
    return b"".join(parts)
