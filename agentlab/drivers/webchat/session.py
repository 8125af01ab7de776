"""A session of a web chat: its browser, its page, and the prompts that are sent beside it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from ...errors import CleanupError, ConfigError
from ...scenario import digest
from ...wire.cdp import Browser, Page, launch
from ...wire.children import Children
from ..base import Arm, Run
from .listening import Listening
from .recording import Recording
from .visit import Visit

if TYPE_CHECKING:
    from . import WebChat

_PROBE = (Path(__file__).parent / "probe.js").read_text("utf-8")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Chat(Protocol):
    """A session of the app, as a page can show it; its driver tells everything else through the run."""

    @property
    def id(self) -> str:
        """Id of the session."""
        ...

    async def prompt(self, text: str) -> None:
        """Submit one prompt and return when its turn is complete."""
        ...

    async def web(self) -> Mapping[str, Any]:
        """Return ``url`` of the app, ``directory`` of the session, ``headers`` to send, perhaps ``login``."""
        ...


class WebChatSession:
    """Prompt a chat whose page is watched; made by :func:`open_page`.

    Parameters
    ----------
    chat : Chat
        Sends the prompts.
    page : Page
        Shows the session, and is ready.
    recording : Recording
        Begins with the first prompt.
    """

    def __init__(self, chat: Chat, page: Page, recording: Recording) -> None:
        self._chat = chat
        self._page = page
        self._recording = recording
        self._begun = False

    async def prompt(self, text: str) -> None:
        """Submit one prompt; the recording begins before the first one.

        Parameters
        ----------
        text : str
            The prompt.

        Raises
        ------
        BrowserGone
            The page crashed, or the browser ended.
        DriverError
            As of the app's driver.
        """
        if not self._begun:
            self._begun = True
            await self._recording.begin()
        turn = asyncio.create_task(self._chat.prompt(text))
        try:
            while not turn.done():
                await asyncio.wait([turn], timeout=0.1)
                if (gone := self._page.connection.gone) is not None and not turn.done():
                    raise gone
            turn.result()
            await self._recording.catch_up()
        finally:
            if not turn.done():
                turn.cancel()
                await asyncio.wait([turn])


@contextlib.asynccontextmanager
async def open_page(
    driver: WebChat, arm: Arm, chat: Chat, run: Run, heard: Listening
) -> AsyncGenerator[WebChatSession]:
    """Open the page of a session in a browser of its own.

    Parameters
    ----------
    driver : WebChat
        Settings.
    arm : Arm
        Says whether to hurry.
    chat : Chat
        The session.
    run : Run
        Where everything observed goes.
    heard : Listening
        What the chat's own driver says.

    Yields
    ------
    WebChatSession

    Raises
    ------
    ConfigError
        Pictures are to be taken, and content is not kept.
    DriverError
        The page is not ready in time; the code says which gate has failed.
    """
    if driver.recorder.films and run.content_folder is None:
        raise ConfigError(
            "WebChat(preset='film'): pictures show what was said; record(..., keep='content') keeps them"
        )
    place = await chat.web()
    address = driver.shown.address_of(url=place["url"], session=chat.id, directory=place["directory"])
    async with contextlib.AsyncExitStack() as stack:
        children = await stack.enter_async_context(Children())
        run.own(children.pid)
        stack.push_async_callback(_end, children, arm)
        browser = await stack.enter_async_context(_browser(driver, children, address, run))
        await _log_in(browser, place.get("login"), run)
        page = await stack.enter_async_context(await browser.page())
        visit = await _visit(driver, browser, page, address, place["headers"], run)
        await visit.ready(chat.id)
        recording = Recording(driver, page, visit, run, heard)
        try:
            yield WebChatSession(chat, page, recording)
        finally:
            await recording.end(hurry=arm.hurry)


def _browser(
    driver: WebChat, children: Children, address: str, run: Run
) -> contextlib.AbstractAsyncContextManager[Browser]:
    width, height = driver.viewport
    return launch(
        children,
        executable=driver.browser,
        headless=driver.headless,
        viewport=(width, height),
        profile=None if driver.profile is None else Path(driver.profile),
        loopback_only=urlsplit(address).hostname in _LOOPBACK,
        start_s=run.scenario.timeouts.start,
    )


async def _log_in(browser: Browser, login: str | None, run: Run) -> None:
    """Let the browser learn a password: what workers of a page ask for gets no headers of ours.

    In a page of its own, as a trace tells of all documents of the recorded one.
    """
    if login is not None:
        async with await browser.page() as door:
            await door.navigate(login, timeout_s=run.scenario.timeouts.start)


async def _visit(
    driver: WebChat, browser: Browser, page: Page, address: str, headers: Mapping[str, str], run: Run
) -> Visit:
    shown, recorder = driver.shown, driver.recorder
    visit = Visit(page, shown, run)
    if recorder.sampling_us is not None:
        await page.attach_workers()
    counters = shown.counters.prepare if shown.counters is not None else ""
    scripts = (shown.prepare, counters, _PROBE if recorder.probe else "")
    await visit.open(
        address,
        headers=headers,
        bypass=driver.service_worker == "bypass",
        scripts=tuple(script for script in scripts if script),
    )
    about: dict[str, Any] = {
        "url_hash": digest(address),
        "width": driver.viewport[0],
        "height": driver.viewport[1],
        "headless": driver.headless,
        "browser": browser.version,
        "preset": recorder.preset,
        "categories_hash": recorder.categories_hash,
        "sampling_us": recorder.sampling_us,
        "probe": recorder.probe,
        "typing": driver.typing,
        "service_worker": driver.service_worker,
        "origin_ns": visit.origin_ns,
        "loaded_ms": visit.loaded_ms,
    }
    run.emit("page.open", **{key: value for key, value in about.items() if value is not None})
    return visit


async def _end(children: Children, arm: Arm) -> None:
    survivors = await children.close(term_s=0.0 if arm.hurry else 0.5)
    if survivors:
        raise CleanupError(
            f"still alive after clean-up: {', '.join(survivors)}; end them by their pid",
            survivors=survivors,
            driver="webchat",
            phase="cleanup",
            code="survivors",
        )
