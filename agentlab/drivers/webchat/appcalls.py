"""Ask an app by the commands or calls that its page names; both answer with plain data."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast
from urllib.parse import quote

import httpx

from ...errors import DriverError, DriverTimeout, ProtocolError, StartupError
from ...wire.children import Child, Children
from .api import CommandApi, HttpApi

_PLACE = re.compile(r"\{(\w+)\}")
#: What a command of the user's own needs of the environment; further names are the page's to give.
_PASSED = ("PATH", "HOME", "USER", "LANG", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "TMPDIR")


class Calls(Protocol):
    """Carry out what an app can be asked for."""

    async def ask(self, what: str, values: Mapping[str, str | None], timeout_s: float) -> Any:  # noqa: ANN401
        """Ask one thing.

        Parameters
        ----------
        what : {"create", "send", "status", "delete", "read"}
            Field of the page's API.
        values : mapping
            Of the places.
        timeout_s : float
            Longest wait, s.

        Returns
        -------
        JSON data
            A text where the answer is no JSON; None where there is none.
        """
        ...

    async def close(self) -> None:
        """End what is open."""
        ...


class Commands:
    """Run commands.

    Parameters
    ----------
    api : CommandApi
        Which.
    children : Children
        Starts them.
    """

    def __init__(self, api: CommandApi, children: Children) -> None:
        self._api = api
        self._children = children

    async def ask(self, what: str, values: Mapping[str, str | None], timeout_s: float) -> Any:  # noqa: ANN401
        """Ask one thing; see :class:`Calls`."""
        argv = filled(getattr(self._api, what), values)
        names = (*_PASSED, *self._api.env)
        env = {name: os.environ[name] for name in names if name in os.environ}
        child = await self._children.spawn(argv, env=env, stdout="pipe")
        try:
            async with asyncio.timeout(timeout_s):
                data = await _output(child)
                code = await child.wait()
        except TimeoutError:
            raise DriverTimeout(
                f"the app's command to {what} did not end in {timeout_s:g} s", driver="webchat"
            ) from None
        finally:
            await child.terminate()
        if code != 0:
            raise DriverError(
                f"the app's command to {what} ended with exit code {code}", driver="webchat", code="app_error"
            )
        return _decoded(data)

    async def close(self) -> None:
        """Do nothing: each command ends by itself."""


class HttpCalls:
    """Make calls over HTTP.

    Parameters
    ----------
    api : HttpApi
        Which.
    url : str
        Of the app.
    """

    def __init__(self, api: HttpApi, url: str) -> None:
        self._api = api
        self._client = httpx.AsyncClient(base_url=url, trust_env=False, timeout=None)

    async def ask(self, what: str, values: Mapping[str, str | None], timeout_s: float) -> Any:  # noqa: ANN401
        """Ask one thing; see :class:`Calls`."""
        method, _, path = str(getattr(self._api, what)).partition(" ")
        route = _PLACE.sub(lambda match: quote(values.get(match[1]) or "", safe=""), path)
        body = None
        if what == "send":
            body = _PLACE.sub(lambda match: json.dumps(values.get(match[1])), self._api.body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            async with asyncio.timeout(timeout_s):  # httpx's own begins anew with every byte
                reply = await self._client.request(method, route, content=body, headers=headers)
        except TimeoutError:
            raise DriverTimeout(
                f"the app did not answer {method} {path} in {timeout_s:g} s", driver="webchat"
            ) from None
        except httpx.TransportError as error:
            raise DriverError(
                f"{method} {path}: the connection to the app broke ({type(error).__name__})",
                driver="webchat",
                code="agent_exited",
            ) from error
        if reply.status_code >= 400:
            text = f"{method} {path} returned HTTP {reply.status_code}"
            raise DriverError(text, driver="webchat", code="http_error")
        return _decoded(reply.content)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def filled(words: Sequence[str], values: Mapping[str, str | None]) -> list[str]:
    """Fill places; a word whose place is not known is left out, with the option before it.

    Parameters
    ----------
    words : sequence of str
        With places.
    values : mapping
        Of the places.

    Returns
    -------
    list of str

    Examples
    --------
    >>> filled(["say", "--agent", "{agent}", "--to", "{session}"], {"agent": None, "session": "s1"})
    ['say', '--to', 's1']
    """
    argv: list[str] = []
    for word in words:
        places = _PLACE.findall(word)
        if any(values.get(place) is None for place in places):
            if argv and argv[-1].startswith("-") and "=" not in argv[-1]:
                argv.pop()
            continue
        argv.append(_PLACE.sub(lambda match: values[match[1]] or "", word))
    return argv


def look_up(data: object, key: str) -> Any:  # noqa: ANN401
    """Return what stands at a place of plain data; None: nothing.

    Parameters
    ----------
    data : JSON data
        An answer.
    key : str
        Inner keys after a dot; in a list a number, negative from its end.

    Returns
    -------
    JSON data

    Examples
    --------
    >>> look_up({"messages": [{"text": "a"}, {"text": "b"}]}, "messages.-1.text")
    'b'
    """
    for part in key.split("."):
        if isinstance(data, Mapping):
            data = cast("Mapping[str, Any]", data).get(part)
        elif isinstance(data, list) and re.fullmatch(r"-?\d+", part):
            rows, place = cast("list[Any]", data), int(part)
            data = rows[place] if -len(rows) <= place < len(rows) else None
        else:
            return None
    return data


async def _output(child: Child) -> bytes:
    if child.stdout is None:
        raise StartupError("the app's command has no output", driver="webchat")
    return await child.stdout.read()


def _decoded(data: bytes) -> Any:  # noqa: ANN401
    text = data.decode("utf-8", "replace").strip()
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        if text.startswith(("{", "[")):
            raise ProtocolError("what the app answers is no JSON", driver="webchat") from None
        return text
