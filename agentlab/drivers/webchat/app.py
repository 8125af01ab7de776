"""A chat app that runs already, used through the API that its page names."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...errors import AgentlabError, DriverError, DriverTimeout, ProtocolError
from ...wire.children import Children
from ..base import Arm, Run
from .api import CommandApi, HttpApi
from .appcalls import Calls, Commands, HttpCalls, look_up

if TYPE_CHECKING:
    from . import WebChat

_STATUS_S = 30.0
#: Between two questions for the state; a command costs a process each time.
_POLL_S = {"http": 0.2, "command": 0.5}
#: An answer so short that it was never seen under way is over when so long after the prompt nothing is.
_NEVER_BUSY_S = 1.0
_DRAIN_S = 0.3
_HURRY_S = 0.8


class App:
    """Open sessions of an app.

    Parameters
    ----------
    driver : WebChat
        Settings; its page names an API.
    arm : Arm
        Says whether to hurry.
    """

    def __init__(self, driver: WebChat, arm: Arm) -> None:
        self._driver = driver
        self._arm = arm

    @contextlib.asynccontextmanager
    async def session(self, run: Run) -> AsyncGenerator[AppSession]:
        """Make a session, or use the one that was named.

        Parameters
        ----------
        run : Run
            Where everything observed goes.

        Yields
        ------
        AppSession
        """
        driver, api = self._driver, self._driver.shown.api
        assert api is not None and driver.url is not None
        async with Children() as children:
            if isinstance(api, CommandApi):
                calls: Calls = Commands(api, children)
            else:
                calls = HttpCalls(api, driver.url)
            try:
                run.issue("foreign_server")
                session = AppSession(driver, api, calls, run)
                await session.open()
                try:
                    yield session
                finally:
                    limit = _HURRY_S if self._arm.hurry else run.scenario.timeouts.cleanup
                    await session.end(limit)
            finally:
                await calls.close()


class AppSession:
    """Prompt one session of an app; made by :class:`App`.

    Attributes
    ----------
    id : str
        The session's.
    """

    def __init__(self, driver: WebChat, api: CommandApi | HttpApi, calls: Calls, run: Run) -> None:
        self.id = driver.session or ""
        self._driver = driver
        self._api = api
        self._calls = calls
        self._run = run
        self._turn = 0
        self._poll_s = _POLL_S["command" if isinstance(api, CommandApi) else "http"]

    async def open(self) -> None:
        """Make the session where none was named.

        Raises
        ------
        DriverError
            The app refuses, or names no session.
        """
        if not self.id:
            limit = self._run.scenario.timeouts.start
            made = await self._calls.ask("create", self._values(), limit)
            session = look_up(made, self._api.session_key)
            if isinstance(session, int) and not isinstance(session, bool):
                session = str(session)
            if not isinstance(session, str) or not session:
                raise ProtocolError(
                    f"the app made a session and names none: {self._api.session_key!r} is missing",
                    driver="webchat",
                )
            self.id = session
        self._run.emit("session.open", session=self.id, role="main")

    async def web(self) -> dict[str, Any]:
        """Say where a browser finds this session; see :class:`agentlab.drivers.webchat.session.Chat`."""
        directory = None if self._driver.directory is None else str(self._driver.directory)
        return {"url": self._driver.url, "directory": directory, "headers": {}}

    async def prompt(self, text: str) -> None:
        """Submit one prompt; the turn ends when the app says that it is idle.

        Parameters
        ----------
        text : str
            The prompt.

        Raises
        ------
        DriverTimeout
            Not idle in time.
        DriverError
            The app refuses the prompt, or does not answer.
        """
        self._turn += 1
        about: dict[str, Any] = {"session": self.id, "turn": self._turn}
        self._run.emit(
            "turn.send",
            content={"text": text},
            **about,
            message=f"turn-{self._turn}",
            n_chars=len(text),
            n_bytes=len(text.encode()),
        )
        limit = self._run.scenario.timeouts.prompt
        sending = asyncio.create_task(self._calls.ask("send", self._values(prompt=text), limit))
        reason = "cancelled"
        try:
            idle_ns = await self._until_idle(sending, time.monotonic() + limit)
            await self._tell_reply(idle_ns)
            self._run.emit("idle", t=idle_ns, session=self.id)
            await asyncio.sleep(_DRAIN_S)
            reason = "complete"
        except DriverTimeout:
            reason = "timeout"
            raise
        except DriverError:
            reason = "error"
            raise
        finally:
            sending.cancel()
            await asyncio.wait([sending])
            self._run.emit("turn.end", **about, reason=reason)

    async def _until_idle(self, sending: asyncio.Task[Any], deadline: float) -> int:
        """Return when the app was idle: after it was busy, or when it was never seen so after the prompt."""
        seen_busy, quiet_since = False, None
        while True:
            if sending.done():
                sending.result()  # refused: say so at once
            state = await self._state()
            now = time.monotonic()
            if state in self._api.busy:
                seen_busy, quiet_since = True, None
            elif seen_busy:
                return time.monotonic_ns()
            elif sending.done():
                quiet_since = quiet_since or now
                if now - quiet_since >= _NEVER_BUSY_S:
                    return round(quiet_since * 1e9)
            if now > deadline:
                raise DriverTimeout(
                    f"turn {self._turn} was not complete in time", driver="webchat", phase="turn",
                    code="turn_timeout",
                )  # fmt: skip
            await asyncio.sleep(self._poll_s)

    async def _state(self) -> str:
        told = await self._calls.ask("status", self._values(), _STATUS_S)
        found = (look_up(told, key) for key in self._api.state_keys)
        return str(next((state for state in found if state is not None), "idle"))

    async def _tell_reply(self, idle_ns: int) -> None:
        text: str | None = None
        if self._api.read is not None:
            with contextlib.suppress(DriverError):  # a gate says that the answer is not known
                told = await self._calls.ask("read", self._values(), _STATUS_S)
                text = told if isinstance(told, str) else look_up(told, self._api.answer_key)
        content = {"text": text} if isinstance(text, str) else None
        known: dict[str, Any] = {"text_chars": len("".join(text.split()))} if isinstance(text, str) else {}
        done_unix_ms = (time.time_ns() - time.monotonic_ns() + idle_ns) // 1_000_000
        about: dict[str, Any] = {"session": self.id, "turn": self._turn, "parent": f"turn-{self._turn}"}
        self._run.emit(
            "turn.reply",
            t=idle_ns,
            content=content,
            **about,
            http_status=200,
            finish="stop",
            completed_unix_ms=done_unix_ms,
            **known,
        )

    async def end(self, budget_s: float) -> None:
        """Delete the session, if it was made here and is not to be kept.

        Parameters
        ----------
        budget_s : float
            Longest time for it, s.
        """
        deleted = False
        ours = self._driver.session is None and not self._driver.keep_session
        if ours and self._api.delete is not None:
            try:
                await self._calls.ask("delete", self._values(), budget_s)
                deleted = True
            except AgentlabError as error:
                self._run.issue("session_not_deleted", str(error))
        self._run.emit("session.close", session=self.id, deleted=deleted)

    def _values(self, **more: str) -> dict[str, str | None]:
        driver = self._driver
        parts = urlsplit(driver.url or "")
        provider, _, name = driver.model.partition("/") if isinstance(driver.model, str) else ("", "", "")
        return {
            "url": driver.url,
            "port": str(parts.port or (443 if parts.scheme == "https" else 80)),
            "session": self.id or None,
            "directory": None if driver.directory is None else str(driver.directory),
            "model": driver.model if isinstance(driver.model, str) else None,
            "provider": provider or None,
            "model_id": name or None,
            "agent": driver.agent,
            "title": f"agentlab: {self._run.scenario.name}",
            **more,
        }
