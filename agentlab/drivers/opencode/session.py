"""One OpenCode session: created, prompted, read back, aborted if busy, deleted."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from ...agents.base import split_model
from ...errors import AgentExited, AgentlabError, DriverError, DriverTimeout
from ..base import Arm, Run
from . import normalise
from .api import Api, message_id
from .stream import Stream

if TYPE_CHECKING:
    from . import OpenCode

#: After the reply: how long the session's own idle event may take, and how long late events are collected.
_IDLE_S = 5.0
_DRAIN_S = 0.3
#: When everything is to end at once.
HURRY_S = 0.8
#: How long a session is looked for whose creation got no answer.
_ORPHAN_S = 5.0
_FINISHED = ("stop", "length")


class OpenCodeSession:
    """Prompt one session; made by :func:`open_session`."""

    def __init__(self, driver: OpenCode, api: Api, run: Run, stream: Stream, session: str) -> None:
        self.id = session
        self._driver = driver
        self._api = api
        self._run = run
        self._stream = stream
        self._turn = 0
        self._route = f"/session/{quote(session, safe='')}"

    async def prompt(self, text: str) -> None:
        """Submit one prompt; the turn ends at the reply, the session's own idle event and a drain.

        Parameters
        ----------
        text : str
            The prompt.

        Raises
        ------
        DriverTimeout
            Not complete in time, or nothing happened for too long.
        AgentExited, DriverError
            The server, its stream or the call failed.
        """
        self._turn += 1
        message = message_id(time.time_ns() // 1_000_000)
        body = self._body(text, message)
        self._stream.begin_turn(message)
        stamp = time.monotonic_ns()
        call = asyncio.create_task(self._api.call("POST", f"{self._route}/message", body, timeout_s=None))
        self._run.emit(
            "turn.send",
            t=stamp,
            content={"text": text},
            session=self.id,
            turn=self._turn,
            message=message,
            n_chars=len(text),
            n_bytes=len(text.encode()),
        )
        reason = "cancelled"
        try:
            reply, arrived = await self._reply(call)
            self._emit_reply(reply, arrived)
            await self._until_idle()
            reason = self._judge(reply["info"], message)
        except DriverTimeout as error:
            reason = "stall" if error.code == "turn_stalled" else "timeout"
            raise
        except DriverError as error:
            reason = "stream" if (error.code or "").startswith("stream") else "error"
            raise
        finally:
            call.cancel()
            self._run.emit("turn.end", session=self.id, turn=self._turn, reason=reason)

    def _body(self, text: str, message: str) -> dict[str, Any]:
        system = self._driver.system
        return prompt_body(self._driver, text) | normalise.known(
            {"messageID": message, "system": system and system.replace("{turn}", str(self._turn))}
        )

    async def _reply(self, call: asyncio.Task[tuple[Any, int]]) -> tuple[dict[str, Any], int]:
        timeouts = self._run.scenario.timeouts
        started = time.monotonic()
        while not call.done():
            await asyncio.wait([call], timeout=0.1)
            if call.done():
                break
            now = time.monotonic()
            if self._stream.lost is not None:
                await asyncio.wait([call], timeout=0.5)  # a server that died breaks both; say which
                if call.done() and isinstance(call.exception(), AgentExited):
                    break
                raise self._error("the event stream ended during the turn", self._stream.lost)
            if now - started > timeouts.prompt:
                text = f"turn {self._turn} was not complete within {timeouts.prompt:g} s"
                raise DriverTimeout(text, driver="opencode", phase="turn", code="turn_timeout")
            if now - self._stream.last_activity > timeouts.stall:
                text = f"nothing happened in turn {self._turn} for {timeouts.stall:g} s"
                raise DriverTimeout(text, driver="opencode", phase="turn", code="turn_stalled")
        reply, arrived = call.result()
        if not isinstance(reply, dict) or not isinstance(reply.get("info"), dict):
            raise self._error("POST message returned no message", "turn_unproven")
        return reply, arrived

    def _error(self, text: str, code: str) -> DriverError:
        return DriverError(text, driver="opencode", run_id=self._run.run_id, phase="turn", code=code)

    def _emit_reply(self, reply: dict[str, Any], arrived: int) -> None:
        info = reply["info"]
        texts = [str(p.get("text", "")) for p in reply.get("parts", ()) if p.get("type") == "text"]
        fields = {
            "message": info.get("id"),
            "parent": info.get("parentID"),
            "finish": info.get("finish"),
            "completed_unix_ms": (info.get("time") or {}).get("completed"),
            "error": normalise.error_fields(info.get("error")).get("name"),
        }
        self._run.emit(
            "turn.reply",
            t=arrived,
            content={"text": "".join(texts)},
            session=self.id,
            turn=self._turn,
            http_status=200,
            text_chars=sum(len("".join(text.split())) for text in texts),
            **normalise.known(fields),
        )

    async def _until_idle(self) -> None:
        idle = asyncio.create_task(self._stream.idle.wait())
        end = time.monotonic() + _IDLE_S
        try:
            while not idle.done() and self._stream.lost is None and time.monotonic() < end:
                await asyncio.wait([idle], timeout=0.1)
        finally:
            idle.cancel()
        if not self._stream.idle.is_set():
            if self._stream.lost is not None:
                raise self._error("the event stream ended before the session was idle", self._stream.lost)
            self._run.issue("idle_missing", discard=True)
        await asyncio.sleep(_DRAIN_S)

    def _judge(self, info: dict[str, Any], message: str) -> str:
        """Judge a turn by error, finish, completion and parent; the HTTP status says nothing."""
        error = normalise.error_fields(info.get("error"))
        if error:
            code = "turn_aborted" if error.get("name") == "MessageAbortedError" else "turn_error"
            detail = " ".join(str(error[key]) for key in ("name", "status_code") if key in error)
            self._run.issue(code, detail, discard=True)
            return "error"
        if info.get("finish") not in _FINISHED or not (info.get("time") or {}).get("completed"):
            self._run.issue("turn_unproven", f"finish {info.get('finish')!r}", discard=True)
            return "error"
        if info.get("parentID") != message:
            self._run.issue("turn_unproven", "the reply belongs to another prompt", discard=True)
            return "error"
        if info["finish"] == "length":
            self._run.issue("turn_length")
        return "complete"

    async def web(self) -> dict[str, Any]:
        """Say where a browser finds this session.

        Returns
        -------
        dict
            ``url`` of the server that serves the page, ``directory`` of the session, the ``headers`` that the
            browser has to send, and ``login``, an address at which it learns name and password, or None.
        """
        info, _ = await self._api.call("GET", self._route)
        headers, login = dict(self._api.headers), None
        if self._api.auth is not None:
            told = base64.b64encode(":".join(self._api.auth).encode()).decode()
            headers["Authorization"] = f"Basic {told}"
            name, password = (quote(part, safe="") for part in self._api.auth)
            server = urlsplit(self._api.url)
            login = f"{server.scheme}://{name}:{password}@{server.netloc}/global/health"
        about = {"url": self._api.url, "directory": info["directory"]}
        return {**about, "headers": headers, "login": login}

    async def collect(self) -> None:
        """Read history and state of the session and its children: proof that outlasts the stream."""
        for session in (self.id, *self._stream.children):
            route = f"/session/{quote(session, safe='')}"
            entries, _ = await self._api.call("GET", f"{route}/message")
            for kind, fields, content in normalise.history(entries):
                self._run.emit(kind, content=content, **fields)
            info, _ = await self._api.call("GET", route)
            model = info.get("model") or {}
            about = {
                "agent": info.get("agent"),
                "provider": model.get("providerID"),
                "model": model.get("id"),
                "version": info.get("version"),
                "n_children": len(self._stream.children) if session == self.id else None,
                **normalise.tokens(info.get("tokens")),
            }
            self._run.emit("session.info", session=session, **normalise.known(about))
            if session == self.id:
                self._check_routing(entries, about)

    def _check_routing(self, entries: list[dict[str, Any]], about: dict[str, Any]) -> None:
        provider, model = split_model("OpenCode", self._driver.model)
        wanted = (self._driver.agent, provider, model)
        seen = {(about["agent"], about["provider"], about["model"])}
        for entry in entries:
            info = entry["info"]
            if info.get("role") == "assistant" and not info.get("summary"):
                seen.add((info.get("agent") or info.get("mode"), info.get("providerID"), info.get("modelID")))
        wrong = sorted("/".join(map(str, route)) for route in seen - {wanted})
        if wrong:
            self._run.issue(
                "routing_mismatch", f"{', '.join(wrong)} in place of {'/'.join(wanted)}", discard=True
            )

    async def end(self, budget_s: float) -> None:
        """Delete the session, whatever it is doing.

        Parameters
        ----------
        budget_s : float
            Seconds for all of it.
        """
        deleted = False
        try:
            async with asyncio.timeout(budget_s):
                await delete_session(self._api, self.id)
                deleted = True
        except TimeoutError:
            self._run.issue("session_not_deleted", f"not done within {budget_s:g} s")
        except AgentlabError as error:
            self._run.issue("session_not_deleted", str(error))
        self._run.emit("session.close", session=self.id, deleted=deleted)


async def delete_session(api: Api, session: str) -> None:
    """Abort if busy, wait for idle, delete: a session deleted while busy goes on running.

    Parameters
    ----------
    api : Api
        The server.
    session : str
        Its id.
    """
    route = f"/session/{quote(session, safe='')}"
    if await _busy(api, session):
        await api.call("POST", f"{route}/abort")
        while await _busy(api, session):  # noqa: ASYNC110 (asks the server, there is no event)
            await asyncio.sleep(0.05)
    await api.call("DELETE", route)


async def _busy(api: Api, session: str) -> bool:
    status, _ = await api.call("GET", "/session/status")
    return session in status


def prompt_body(driver: OpenCode, text: str) -> dict[str, Any]:
    """Return the body of a prompt that names agent and model, so that no default can stand in."""
    provider, model = split_model("OpenCode", driver.model)
    return {
        "parts": [{"type": "text", "text": text}],
        "agent": driver.agent,
        "model": {"providerID": provider, "modelID": model},
    }


async def create_session(driver: OpenCode, api: Api, timeout_s: float) -> str:
    """Create a session; when no answer comes, find and delete the one that may have been made.

    Parameters
    ----------
    driver : OpenCode
        Settings.
    api : Api
        The server.
    timeout_s : float
        For the call, seconds.

    Returns
    -------
    str
        Session id.

    Raises
    ------
    DriverError
        Refused, or no answer (code ``orphan_session`` when a session was found and deleted).
    """
    mark = secrets.token_hex(8)  # others may create sessions on a server that is not ours
    body: dict[str, Any] = {"metadata": {"agentlab": mark}}
    if driver.title is not None:
        body["title"] = driver.title
    try:
        session, _ = await api.call("POST", "/session", body, timeout_s=timeout_s)
    except asyncio.CancelledError:
        await _delete_orphan(api, mark, HURRY_S, again=True)
        raise
    except DriverError as error:  # also after HTTP 500 the session may have been made
        slow = isinstance(error, DriverTimeout)
        if await _delete_orphan(api, mark, min(timeout_s, _ORPHAN_S), again=slow):
            error.code = "orphan_session"
        raise
    if not isinstance(session, dict) or not isinstance(session.get("id"), str):
        raise DriverError("POST /session returned no session id", driver="opencode", code="http_error")
    return session["id"]


async def _delete_orphan(api: Api, mark: str, budget_s: float, *, again: bool) -> bool:
    """Find the session that was made, or, when looked for again, is made a little later; delete it."""
    with contextlib.suppress(TimeoutError, AgentlabError):
        async with asyncio.timeout(budget_s):
            while True:
                sessions, _ = await api.call("GET", "/session")
                made = [s["id"] for s in sessions if (s.get("metadata") or {}).get("agentlab") == mark]
                for orphan in made:
                    await delete_session(api, orphan)
                if made or not again:
                    return bool(made)
                await asyncio.sleep(0.2)
    return False


@contextlib.asynccontextmanager
async def open_session(driver: OpenCode, api: Api, arm: Arm, run: Run) -> AsyncGenerator[OpenCodeSession]:
    """Open a run's session: stream first, then the session; both are gone afterwards.

    Parameters
    ----------
    driver : OpenCode
        Settings.
    api : Api
        A ready server.
    arm : Arm
        Says whether to hurry.
    run : Run
        Where everything observed goes.

    Yields
    ------
    OpenCodeSession
    """
    timeouts = run.scenario.timeouts
    answers: set[asyncio.Task[None]] = set()

    def answer(what: str, number: str) -> None:
        task = asyncio.create_task(_reject(api, run, what, number))
        answers.add(task)
        task.add_done_callback(answers.discard)

    async with Stream(api, run, answer) as stream:
        session = OpenCodeSession(driver, api, run, stream, await create_session(driver, api, timeouts.start))
        stream.follow(session.id)
        run.emit("session.open", session=session.id, role="main")
        try:
            yield session
            await session.collect()
        finally:
            if arm.hurry and driver.url is None:  # its server is killed next, and its database removed
                run.emit("session.close", session=session.id, deleted=False)
            else:
                await session.end(HURRY_S if arm.hurry else timeouts.cleanup)
            for task in answers:
                task.cancel()


async def _reject(api: Api, run: Run, what: str, number: str) -> None:
    """Reject a request that would block the session for ever."""
    route = f"/{what}/{quote(number, safe='')}/" + ("reply" if what == "permission" else "reject")
    body = {"reply": "reject"} if what == "permission" else {}
    try:
        await api.call("POST", route, body)
        run.emit(what, id=number, answer="reject")
        run.issue(f"{what}_rejected")
    except AgentlabError as error:
        run.issue("http_error", str(error), discard=True)
