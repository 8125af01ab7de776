"""The calls of OpenCode's server that the driver makes, and the ids it uses."""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
import ssl
import string
import time
from typing import Any

import httpx
import msgspec

from ...errors import AgentExited, DriverError, DriverTimeout, ProtocolError
from ...redact import Redactor

_LETTERS = string.ascii_letters + string.digits
_counter = itertools.count()


def message_id(unix_ms: int) -> str:
    """Make a message id that sorts by time like the server's own.

    Parameters
    ----------
    unix_ms : int
        Wall clock in ms.

    Returns
    -------
    str
        ``msg_`` + 12 hexadecimal digits of ``ms << 12`` + 14 letters.
    """
    stamp = ((unix_ms << 12) + next(_counter) % 4096) & (2**48 - 1)
    return f"msg_{stamp:012x}" + "".join(secrets.choice(_LETTERS) for _ in range(14))


def event_unix_ms(event_id: str, near_unix_ms: int) -> int | None:
    """Read the server's publish time out of an event id.

    Parameters
    ----------
    event_id : str
        ``evt_`` + 12 hexadecimal digits + letters.
    near_unix_ms : int
        Any time within a year of it: the id holds ms modulo 2**36.

    Returns
    -------
    int or None
        Wall clock in ms; None when the id has another form.

    Examples
    --------
    >>> event_unix_ms("evt_22781b63f001f3oK6mIrXVMGDQ", 1795959141943)
    1795959141951
    """
    try:
        low = int(event_id[4:16], 16) >> 12
    except ValueError:
        return None
    half = 2**35
    return near_unix_ms + (low - near_unix_ms + half) % (2 * half) - half


def decode(text: str | bytes) -> Any:  # noqa: ANN401
    r"""Decode JSON in which a model may have cut a character in two.

    Parameters
    ----------
    text : str or bytes
        JSON; half of a surrogate pair becomes U+FFFD, as it cannot be encoded.

    Returns
    -------
    JSON data

    Raises
    ------
    ValueError
        It is no JSON.

    Examples
    --------
    >>> decode('{"delta": "\\ud83d"}') == {"delta": "\ufffd"}
    True
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:
        plain = json.dumps(json.loads(text), ensure_ascii=False)
        return json.loads(plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


class Api:
    """Call one OpenCode server.

    Parameters
    ----------
    url : str
        Base URL.
    auth : (user, password), optional
        HTTP Basic.
    headers : sequence of (name, value)
        Sent with every request.
    retries : int, default 0
        How often a call is repeated that reads, or creates a session when none can have been made.
    retry_delay_s : float, default 0.5
        Before the first repetition; doubled for each further one.
    """

    def __init__(
        self,
        url: str,
        *,
        auth: tuple[str, str] | None = None,
        headers: tuple[tuple[str, str], ...] = (),
        retries: int = 0,
        retry_delay_s: float = 0.5,
    ) -> None:
        self.url = url.rstrip("/")
        self.auth = auth
        self.headers = headers
        self.redactor = Redactor(secrets=[*(auth or ())[1:], *(value for _, value in headers)])
        self._delays_s = [retry_delay_s * 2**attempt for attempt in range(retries)]
        self._client = httpx.AsyncClient(
            base_url=self.url,
            auth=auth,
            headers=list(headers),
            timeout=None,
            trust_env=False,
            verify=ssl.create_default_context(),  # whom the system trusts, as for the event stream
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def call(
        self, method: str, route: str, body: dict[str, Any] | None = None, *, timeout_s: float | None = 10.0
    ) -> tuple[Any, int]:
        """Make one call.

        Parameters
        ----------
        method, route : str
            E.g. ``"GET"``, ``"/session"``.
        body : dict, optional
            JSON body.
        timeout_s : float or None
            For the whole call, seconds.

        Returns
        -------
        tuple
            Decoded JSON, and the stamp (CLOCK_MONOTONIC ns) at which the body was complete.

        Raises
        ------
        DriverTimeout
            No answer in time.
        AgentExited
            The connection broke.
        DriverError
            An HTTP error (code ``http_error``); its text never crosses, it may hold model output.
        ProtocolError
            Not JSON.
        """
        reply = await self._request(method, route, body, timeout_s)
        stamp = time.monotonic_ns()
        if reply.status_code >= 400:
            raise DriverError(
                f"{method} {route} returned HTTP {reply.status_code}{_reason(reply)}",
                driver="opencode",
                code="http_error",
            )
        if "json" not in reply.headers.get("content-type", ""):
            raise ProtocolError(f"{method} {route}: the reply is not JSON", driver="opencode")
        try:
            return decode(reply.content), stamp
        except ValueError as error:
            raise ProtocolError(
                f"{method} {route}: the reply is not valid JSON", driver="opencode"
            ) from error

    async def _request(
        self, method: str, route: str, body: dict[str, Any] | None, timeout_s: float | None
    ) -> httpx.Response:
        for delay_s in (*self._delays_s, None):
            try:
                async with asyncio.timeout(timeout_s):  # httpx's own begins anew with every byte
                    reply = await self._client.request(method, route, json=body)
                if delay_s is None or not _worth_repeating(method, route, reply.status_code):
                    return reply
            except TimeoutError as error:
                raise DriverTimeout(
                    f"{method} {route}: no answer within {timeout_s} s", driver="opencode"
                ) from error
            except httpx.TransportError as error:
                if delay_s is None or not _worth_repeating(method, route, error):
                    raise AgentExited(
                        f"{method} {route}: {_broke(error)}",
                        driver="opencode",
                        code="agent_exited",
                    ) from error
            await asyncio.sleep(delay_s)
        raise AssertionError  # the last attempt returns or raises


def _worth_repeating(method: str, route: str, problem: int | Exception) -> bool:
    """Say whether a call that failed so may be made again without doing anything twice."""
    if method == "GET":
        return not isinstance(problem, int) or problem == 429 or problem >= 500
    refused = problem in (429, 503) if isinstance(problem, int) else isinstance(problem, httpx.ConnectError)
    return (method, route) == ("POST", "/session") and refused


def _broke(error: BaseException) -> str:
    """Say why there is no connection."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted ({cause.verify_message}); the variable SSL_CERT_FILE can name "
            "the authority that made it"
        )
    if cause is not None:
        return f"no TLS connection can be made ({cause.reason}); it may speak plain http"
    return f"the connection to the server broke ({type(error).__name__})"


def _reason(reply: httpx.Response) -> str:
    if reply.status_code in (401, 403):
        return ": it wants other credentials; set OpenCode's auth or headers"
    try:
        name = reply.json()["name"]
    except (ValueError, KeyError, TypeError):
        return ""
    return f" ({name})" if isinstance(name, str) and name.isidentifier() else ""
