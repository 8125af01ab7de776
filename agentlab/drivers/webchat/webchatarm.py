"""An arm of a web chat: the app's server for all its runs, and for each run a session and a browser."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, cast

from ...errors import ConfigError
from ...wire.cdp import find
from ..base import Arm, Opened, Run
from .app import App
from .listening import Listening
from .session import Chat, WebChatSession, open_page

if TYPE_CHECKING:
    from . import WebChat


@contextlib.asynccontextmanager
async def open_arm(driver: WebChat, arm: Arm) -> AsyncGenerator[Opened]:
    """Open an arm: the driver that talks to the app, or the API that the page names.

    Parameters
    ----------
    driver : WebChat
        Settings.
    arm : Arm
        From the engine.

    Yields
    ------
    Opened

    Raises
    ------
    ConfigError
        The browser is not found.
    """
    find(driver.browser)  # before a server is started
    chat = driver.chat
    if chat is None:
        yield WebChatArm(driver, arm, App(driver, arm))
        return
    async with chat.open(arm) as opened:
        yield WebChatArm(driver, arm, opened)


class WebChatArm:
    """Open the runs of one arm; made by :func:`open_arm`.

    Parameters
    ----------
    driver : WebChat
        Settings.
    arm : Arm
        From the engine.
    opened : Opened
        Opens sessions of the app.
    """

    def __init__(self, driver: WebChat, arm: Arm, opened: Opened) -> None:
        self._driver = driver
        self._arm = arm
        self._opened = opened

    @contextlib.asynccontextmanager
    async def session(self, run: Run) -> AsyncGenerator[WebChatSession]:
        """Open a session of the app, and its page.

        Parameters
        ----------
        run : Run
            From the engine.

        Yields
        ------
        WebChatSession
        """
        heard = Listening(run)
        async with self._opened.session(heard) as chat:
            if not hasattr(chat, "web"):
                name = type(self._driver.chat).__name__
                raise ConfigError(f"WebChat: a session of {name} has no page (its web() is missing)")
            shown = cast("Chat", cast("Any", chat))
            async with open_page(self._driver, self._arm, shown, run, heard) as session:
                yield session
