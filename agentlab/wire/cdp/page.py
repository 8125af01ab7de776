"""One page: commands, scripts, events, its workers, and the moment it crashes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from types import TracebackType
from typing import Any

from ...errors import BrowserGone, DriverTimeout, ProtocolError
from .connection import CALL_S, Callback, Connection, Params


class ScriptFailed(ProtocolError):
    """A script in the page threw; the message holds at most 200 characters of what it threw."""


class Page:
    """Hold one page of a browser; closes its connection and its target at the end.

    Parameters
    ----------
    connection : Connection
        To the page's target.
    target : str
        Its id.
    close_target : callable
        Closes the target, through the browser's own connection.

    Attributes
    ----------
    workers : dict of str to str
        Session to URL of each dedicated worker, after :meth:`attach_workers`.
    """

    def __init__(self, connection: Connection, target: str, close_target: Callable[[str], Any]) -> None:
        self.connection = connection
        self.target = target
        self.workers: dict[str, str] = {}
        self._close_target = close_target

    async def __aenter__(self) -> Page:
        self.on("Inspector.targetCrashed", self._crashed)
        self.on("Inspector.detached", self._detached)
        await self.call("Inspector.enable")  # without it a crash is not told, and every call hangs
        await self.call("Page.enable")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def call(
        self,
        method: str,
        *,
        timeout_s: float = CALL_S,
        session: str | None = None,
        **params: Any,  # noqa: ANN401
    ) -> Params:
        """Send a command; see :meth:`Connection.call`.

        Parameters
        ----------
        method : str
            The command.
        timeout_s : float
            Deadline, s.
        session : str, optional
            Of a worker.
        **params
            Its parameters.

        Returns
        -------
        dict
            The result.
        """
        return await self.connection.call(method, params, timeout_s=timeout_s, session=session)

    def on(self, event: str, callback: Callback, *, session: str | None = None) -> Callable[[], None]:
        """Subscribe to an event; see :meth:`Connection.on`."""
        return self.connection.on(event, callback, session=session)

    async def evaluate(
        self,
        script: str,
        *,
        timeout_s: float = CALL_S,
        session: str | None = None,
        world: int | None = None,
    ) -> Any:  # noqa: ANN401
        """Run a script in the page and return its value; a promise is awaited.

        Parameters
        ----------
        script : str
            An expression.
        timeout_s : float
            Deadline, s.
        session : str, optional
            Of a worker.
        world : int, optional
            As :meth:`own_world` returns it; None: where the page's own scripts run.

        Returns
        -------
        JSON data
            None for undefined.

        Raises
        ------
        ScriptFailed
            It threw.
        """
        params: Params = {"expression": script, "returnByValue": True, "awaitPromise": True}
        if world is not None:
            params["contextId"] = world
        answer = await self.call("Runtime.evaluate", timeout_s=timeout_s, session=session, **params)
        if (thrown := answer.get("exceptionDetails")) is not None:
            value = thrown.get("exception", {})
            about = value.get("description") or value.get("value") or thrown.get("text", "")
            raise ScriptFailed(f"a script in the page threw: {about!s:.200}", driver="webchat")
        return answer["result"].get("value")

    async def own_world(self) -> int:
        """Make a world of our own: it shares the document with the page, and no variable or function.

        Returns
        -------
        int
            To be given to :meth:`evaluate`; it ends when another document is opened.
        """
        frame = (await self.call("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        made = await self.call("Page.createIsolatedWorld", frameId=frame, worldName="agentlab")
        return made["executionContextId"]

    async def navigate(self, url: str, *, timeout_s: float = 60.0) -> None:
        """Open an address and wait until it is loaded; also brings a page that has crashed back.

        Parameters
        ----------
        url : str
            Where to.
        timeout_s : float
            Deadline, s.

        Raises
        ------
        BrowserGone
            It cannot be opened (``code="page_not_loaded"``).
        DriverTimeout
            It is not loaded in time.
        """
        self.connection.revive()
        loaded = asyncio.Event()
        end = self.on("Page.loadEventFired", lambda _params, _at: loaded.set())
        try:
            async with asyncio.timeout(timeout_s):
                answer = await self.call("Page.navigate", url=url, timeout_s=timeout_s)
                if (why := answer.get("errorText")) is not None:
                    raise BrowserGone(
                        f"the page cannot be opened: {why}", driver="webchat", code="page_not_loaded"
                    )
                if "loaderId" in answer:  # absent when only the fragment changes
                    await self._until(loaded)
        except TimeoutError as error:
            raise DriverTimeout(f"the page was not loaded in {timeout_s:g} s", driver="webchat") from error
        finally:
            end()

    async def attach_workers(self) -> None:
        """Attach to the page's dedicated workers, of now and later, each in a session of its own."""

        def attached(params: Params, _at: int) -> None:
            info = params["targetInfo"]
            if info["type"] == "worker":
                self.workers[params["sessionId"]] = info["url"]

        self.on("Target.attachedToTarget", attached)
        self.on("Target.detachedFromTarget", lambda params, _at: self.workers.pop(params["sessionId"], None))
        await self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)

    async def close(self) -> None:
        """Close target and connection; what callbacks raised is raised now.

        Raises
        ------
        ExceptionGroup
            Callbacks have failed.
        """
        with contextlib.suppress(BrowserGone, DriverTimeout, ProtocolError):
            await self._close_target(self.target)
        await self.connection.close()
        if failures := self.connection.failures:
            raise ExceptionGroup("callbacks of the page's events failed", failures)

    async def _until(self, event: asyncio.Event) -> None:
        while not event.is_set():
            if self.connection.gone is not None:
                raise self.connection.gone
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), 0.1)

    def _crashed(self, _params: Params, _at: int) -> None:
        self.connection.fail(BrowserGone("the page crashed", driver="webchat", code="page_crashed"))

    def _detached(self, params: Params, _at: int) -> None:
        reason = params.get("reason", "unknown")
        code = "page_crashed" if "gone" in reason else "page_closed"
        self.connection.fail(BrowserGone(f"the page is gone: {reason}", driver="webchat", code=code))
