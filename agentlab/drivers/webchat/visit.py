"""A page that is opened at its session, and ready for a prompt: not after a time, but when it is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote

from ...errors import DriverError, DriverTimeout
from ...wire.cdp import Page
from ..base import Run
from .page import ChatPage
from .samples import read_metrics

#: Kept small: bodies of responses are not asked for, and would fill the browser's memory.
_NO_BODIES: dict[str, Any] = {"maxTotalBufferSize": 1 << 20, "maxResourceBufferSize": 1 << 16}
_LOOK_S = 0.05
#: A page has settled once its main thread was idle for most of two looks in a row.
_SETTLE_LOOK_S, _SETTLE_SHARE, _SETTLE_MOST_S = 0.25, 0.2, 5.0


class Visit:
    """Open a page and say what became of its event stream.

    Parameters
    ----------
    page : Page
        A blank page.
    shown : ChatPage
        What is to be shown.
    run : Run
        Where everything observed goes.

    Attributes
    ----------
    origin_ns : int
        CLOCK_MONOTONIC at which the page's ``performance.now()`` was 0.
    loaded_ms : float
        From the navigation to the load event.
    """

    def __init__(self, page: Page, shown: ChatPage, run: Run) -> None:
        self.origin_ns = 0
        self.loaded_ms = 0.0
        self._page = page
        self._shown = shown
        self._run = run
        self._began = 0.0
        self._open: set[str] = set()
        self._sockets: set[str] = set()
        self._session = ""

    @property
    def stream_open(self) -> bool:
        """Whether the event stream is open now; always, where the page has none."""
        return self._shown.stream is None or bool(self._open)

    async def open(
        self, address: str, *, headers: Mapping[str, str], bypass: bool, scripts: tuple[str, ...]
    ) -> None:
        """Open the page.

        Parameters
        ----------
        address : str
            Where to.
        headers : mapping
            Sent with each request of the page.
        bypass : bool
            Whether its service worker is passed by.
        scripts : tuple of str
            Run before its own.

        Raises
        ------
        BrowserGone, DriverTimeout
            It cannot be opened.
        """
        page, limit = self._page, self._run.scenario.timeouts.start
        page.on("Network.responseReceived", self._responded)
        page.on("Network.webSocketHandshakeResponseReceived", self._shaken)
        page.on("Network.webSocketCreated", self._created)
        for ended in ("Network.loadingFinished", "Network.loadingFailed", "Network.webSocketClosed"):
            page.on(ended, lambda params, _at: self._open.discard(params["requestId"]))
        await page.call("Network.enable", **_NO_BODIES)
        await page.call("Network.setBypassServiceWorker", bypass=bypass)
        if headers:
            await page.call("Network.setExtraHTTPHeaders", headers=dict(headers))
        await page.call("Performance.enable")
        for script in scripts:
            await page.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        self._began = time.monotonic()
        await page.navigate(address, timeout_s=limit)
        self.loaded_ms = self._waited_ms()
        await self.read_origin(timeout_s=limit)

    async def read_origin(self, *, timeout_s: float = 10.0) -> None:
        """Read when the document's clock began; a page that opened another one has another clock."""
        metrics = await read_metrics(self._page, timeout_s=timeout_s)
        self.origin_ns = round(metrics["NavigationStart"] * 1e9)

    async def ready(self, session: str) -> None:
        """Wait for event stream and composer, and until the page has settled.

        Parameters
        ----------
        session : str
            Id that has to stand in the page's address.

        Raises
        ------
        DriverError
            One of them is not there in time; the code says which gate has failed.
        """
        await self._until("composer", "page_no_composer", self._has_composer)
        await self._until("stream", "page_stream_closed", self._has_stream)
        await self._settle()
        self._session = session
        if not await self.is_there():
            self._refuse("page_wrong_address", "the page went to another address than the session's")
        self._run.emit("page.gate", name="page_wrong_address", passed=True)

    async def is_there(self) -> bool:
        """Say whether the session's id still stands in the page's address, as a word of its own."""
        address = await self._page.evaluate("location.href.replace(location.origin, '')")
        whole = rf"(?<![\w-]){re.escape(self._session)}(?![\w-])"
        return re.search(whole, unquote(str(address))) is not None

    async def _until(self, what: str, gate: str, holds: Callable[[], Awaitable[bool]]) -> None:
        limit = self._run.scenario.timeouts.start
        while not (passed := await holds()) and self._waited_ms() < limit * 1e3:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_S)  # the document tells nobody of it
        if what == "composer" or self._shown.stream is not None:
            self._run.emit("page.ready", what=what, waited_ms=self._waited_ms(), passed=passed)
        if not passed:
            name = "field for the prompt" if what == "composer" else "event stream"
            self._refuse(gate, f"the page's {name} was not there within {limit:g} s")
        self._run.emit("page.gate", name=gate, passed=True)

    async def _has_composer(self) -> bool:
        script = f"document.querySelector({json.dumps(self._shown.composer)}) !== null"
        with contextlib.suppress(DriverTimeout):
            return await self._page.evaluate(script, timeout_s=2.0) is True
        return False

    async def _has_stream(self) -> bool:
        return self.stream_open

    def _refuse(self, gate: str, text: str) -> None:
        self._run.emit("page.gate", name=gate, passed=False)
        raise DriverError(text, driver="webchat", run_id=self._run.run_id, phase="session", code=gate)

    async def _settle(self) -> None:
        """Wait until the main thread is mostly idle; a page that never is, is recorded as it is."""
        calm, before, end = 0, None, time.monotonic() + _SETTLE_MOST_S
        while calm < 2 and time.monotonic() < end:
            with contextlib.suppress(DriverTimeout):
                now = await read_metrics(self._page)
                if before is not None:
                    share = (now["TaskDuration"] - before["TaskDuration"]) / (
                        now["Timestamp"] - before["Timestamp"]
                    )
                    calm = calm + 1 if share < _SETTLE_SHARE else 0
                before = now
            await asyncio.sleep(_SETTLE_LOOK_S)

    def _waited_ms(self) -> float:
        return round((time.monotonic() - self._began) * 1e3, 1)

    def _responded(self, params: dict[str, Any], _at: int) -> None:
        response = params["response"]
        if self._is_stream(response["url"]) and response["status"] == 200:
            self._open.add(params["requestId"])

    def _created(self, params: dict[str, Any], _at: int) -> None:
        if self._is_stream(params["url"]):
            self._sockets.add(params["requestId"])

    def _shaken(self, params: dict[str, Any], _at: int) -> None:
        if params["requestId"] in self._sockets:
            self._open.add(params["requestId"])

    def _is_stream(self, url: str) -> bool:
        return self._shown.stream is not None and self._shown.stream in url
