"""Type into the composer while an answer streams, as a user who has the next thought already."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from ...errors import DriverError
from ...wire.cdp import Page

_EVERY_S = 0.3
_LETTERS = "the next question "


class Typist:
    """Press keys until it is stopped; what was typed is taken back, and never sent.

    Parameters
    ----------
    page : Page
        The page.
    composer : str
        CSS selector of the field.

    Attributes
    ----------
    n_keys : int
        Keys that were pressed.
    """

    def __init__(self, page: Page, composer: str) -> None:
        self.n_keys = 0
        self._page = page
        self._composer = composer
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Put the cursor into the composer and begin to type."""
        await self._page.evaluate(f"document.querySelector({json.dumps(self._composer)}).focus()")
        self._task = asyncio.create_task(self._type())

    async def stop(self) -> None:
        """Stop typing."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def take_back(self) -> None:
        """Erase what was typed."""
        with contextlib.suppress(DriverError):
            for _ in range(self.n_keys):
                await self._press("Backspace", "Backspace", 8)

    async def _type(self) -> None:
        with contextlib.suppress(DriverError):  # a page that is busy or gone: fewer keys, which are counted
            while True:
                letter = _LETTERS[self.n_keys % len(_LETTERS)]
                self.n_keys += 1
                if letter == " ":
                    await self._press(" ", "Space", 32, text=" ")
                else:
                    await self._press(letter, f"Key{letter.upper()}", ord(letter.upper()), text=letter)
                await asyncio.sleep(_EVERY_S)

    async def _press(self, key: str, code: str, number: int, *, text: str | None = None) -> None:
        about: dict[str, Any] = {"key": key, "code": code, "windowsVirtualKeyCode": number}
        typed: dict[str, Any] = {} if text is None else {"text": text}
        kind = "keyDown" if typed else "rawKeyDown"
        await self._page.call("Input.dispatchKeyEvent", type=kind, **about, **typed)
        await self._page.call("Input.dispatchKeyEvent", type="keyUp", **about)
