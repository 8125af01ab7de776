"""The event stream of one run: read, filter to the run's sessions, emit, and tell when a turn is idle."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from ...errors import AgentlabError, DriverError, DriverTimeout
from ...wire.eventsource import EventSource
from ...wire.sse import SSEEvent
from ..base import Run
from .api import Api, decode, event_unix_ms
from .normalise import Normaliser

#: The server sends a heartbeat every 10 s.
_SILENCE_S = 25.0
_READY_S = 10.0
_HEARTBEATS = ("server.heartbeat", "server.connected")
_BACKSTOPS = {"permission.asked": "permission", "question.asked": "question"}


class Stream:
    """Read ``/event`` while a run's session lives.

    Parameters
    ----------
    api : Api
        The server.
    run : Run
        Where everything observed goes.
    answer : callable
        Called with ``("permission" or "question", id)`` for a request that would block the session for ever.

    Attributes
    ----------
    lost : str or None
        Issue code once the stream has ended although it was needed.
    last_activity : float
        ``time.monotonic()`` of the last event of the run's sessions; heartbeats and repeats do not count.
    children : list of str
        Child sessions, in order of appearance.
    idle : asyncio.Event
        Set when the current turn's own idle event was seen.
    """

    def __init__(self, api: Api, run: Run, answer: Callable[[str, str], None]) -> None:
        self.lost: str | None = None
        self.last_activity = time.monotonic()
        self.children: list[str] = []
        self.idle = asyncio.Event()
        self._run = run
        self._answer = answer
        self._source = EventSource(
            api.url + "/event",
            auth=api.auth,
            headers=api.headers,
            open_timeout_s=_READY_S,
            read_timeout_s=_SILENCE_S,
            redactor=api.redactor,
        )
        self._ready = asyncio.Event()
        self._early: list[tuple[SSEEvent, dict[str, Any]]] | None = []
        self._sessions: set[str] = set()
        self._root = ""
        self._turn_message: str | None = None
        self._turn_seen = False
        self._told: set[str] = set()
        self._ids: set[str] = set()
        self._n_repeats = 0
        self._states: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._normaliser = Normaliser()

    async def __aenter__(self) -> Stream:
        limit = min(self._run.scenario.timeouts.start, _READY_S)
        self._task = asyncio.create_task(self._read())
        waiter = asyncio.create_task(self._ready.wait())
        await asyncio.wait({waiter, self._task}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        waiter.cancel()
        if not self._ready.is_set():
            code = self.lost or "stream_not_ready"
            await self._stop()
            raise DriverError(f"GET /event was not ready within {limit:g} s", driver="opencode", code=code)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()
        parser = self._source.parser
        self._run.emit(
            "stream.end",
            reason=self._source.ended or "closed",
            n_bytes=parser.n_bytes,
            n_events=parser.n_events,
            n_comments=parser.n_comments,
            n_truncated=parser.n_truncated,
            n_repeats=self._normaliser.n_repeats + self._n_repeats,
        )
        if parser.n_truncated:
            self._run.issue("stream_truncated")
        if parser.n_bytes and not parser.n_events:
            self._run.issue("stream_empty", discard=True)

    def follow(self, session: str) -> None:
        """Take events of this session, and of its children, from now on; those that came early, too."""
        self._root = session
        self._sessions.add(session)
        early, self._early = self._early or [], None
        for event, data in early:
            self._handle(event, data)

    def begin_turn(self, message: str) -> None:
        """Expect the idle event of the turn that this user message begins.

        An idle event counts once the server has shown this very message: a late one of the turn before
        does not.
        """
        self._turn_message, self._turn_seen = message, False
        self._told.clear()
        self.idle.clear()
        self.last_activity = time.monotonic()

    async def _stop(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _read(self) -> None:
        try:
            async with self._source as source:
                self._run.emit("stream.open", t=source.t_open)
                async for events in source:
                    for event in events:
                        self._decode(event)
            self.lost = {"failed": "stream_failed", "silent": "stream_failed"}.get(
                self._source.ended or "", "stream_closed"
            )
        except DriverTimeout:
            self.lost = "stream_not_ready"
        except Exception as error:  # whatever it is: a run must not go on blind
            self.lost = "stream_failed"
            text = str(error) if isinstance(error, AgentlabError) else type(error).__name__
            self._run.issue("stream_failed", text, discard=True)

    def _decode(self, event: SSEEvent) -> None:
        try:
            data: Any = decode(event.data)
            data = data.get("payload", data)  # one route wraps its events
            kind, properties, number = data["type"], data.get("properties"), data.get("id")
        except (ValueError, AttributeError, KeyError, TypeError):
            self._tell("stream_malformed", discard=True)
            return
        if kind == "server.connected":
            self._ready.set()
        if kind in _HEARTBEATS or kind == "sync":  # durable events come a second time as "sync" on one route
            return
        if not isinstance(number, str):
            number = None
        elif number in self._ids:
            self._n_repeats += 1
            return
        else:
            self._ids.add(number)
        properties = properties if isinstance(properties, dict) else {}
        record = {"id": number, "type": kind, "properties": properties}
        if self._early is not None:
            self._early.append((event, record))
        else:
            self._handle(event, record)

    def _handle(self, event: SSEEvent, record: dict[str, Any]) -> None:
        try:
            self._take(event, record)
        except (KeyError, TypeError, AttributeError, ValueError):
            self._tell("stream_malformed", f"event {record['type']} lacks a field", discard=True)

    def _take(self, event: SSEEvent, record: dict[str, Any]) -> None:
        kind, properties = record["type"], record["properties"]
        session = _session_of(properties)
        if kind == "session.created" and (info := properties["info"]).get("parentID") in self._sessions:
            self._adopt(info["id"], info["parentID"], event.t)
        if session not in self._sessions:
            return
        if kind in _BACKSTOPS:
            self._answer(_BACKSTOPS[kind], properties["id"])
        server = event_unix_ms(record["id"], time.time_ns() // 1_000_000) if record["id"] else None
        for name, fields, content in list(
            self._normaliser.feed(kind, {"sessionID": session, **properties}, server)
        ):
            if name == "chunk" and event.t_first != event.t:
                fields["t_first"] = event.t_first
            self._run.emit(name, t=event.t, content=content, **fields)
            self._notice(name, fields)
            if self._is_news(name, fields):
                self.last_activity = time.monotonic()

    def _is_news(self, name: str, fields: Mapping[str, Any]) -> bool:
        """Say whether it is more than the same state of a message or session once again."""
        if name not in ("message", "status"):
            return True
        key = (name, fields.get("session"), fields.get("message"))
        state = {k: v for k, v in fields.items() if k != "server_unix_ms"}
        before, self._states[key] = self._states.get(key), state
        return before != state

    def _adopt(self, session: str, parent: str, t: int) -> None:
        self._sessions.add(session)
        self.children.append(session)
        self._run.emit("session.open", t=t, session=session, parent=parent, role="child")
        self._tell("child_session")

    def _notice(self, name: str, fields: Mapping[str, Any]) -> None:
        if name == "message" and fields.get("message") == self._turn_message:
            self._turn_seen = True
        elif name == "idle" and fields.get("session") == self._root and self._turn_seen:
            self.idle.set()
        elif name == "status" and fields.get("state") == "retry":
            self._tell("retry", f"attempt {fields.get('attempt')}", discard=True)
        elif name == "compacted":
            self._tell("compaction", discard=True)
        elif name == "step.end" and fields.get("reason") == "unknown":
            self._tell("step_unfinished", discard=True)
        elif name == "tool" and fields.get("name") == "invalid":
            self._tell("tool_invalid")

    def _tell(self, code: str, detail: str | None = None, *, discard: bool = False) -> None:
        """Raise an issue, once a turn."""
        if code not in self._told:
            self._told.add(code)
            self._run.issue(code, detail, discard=discard)


def _session_of(properties: Mapping[str, Any]) -> str | None:
    """Return the session that an event belongs to; a few events name it only inside."""
    for holder in (properties, properties.get("info"), properties.get("part")):
        if isinstance(holder, dict) and isinstance(session := holder.get("sessionID"), str):
            return session
    return None
