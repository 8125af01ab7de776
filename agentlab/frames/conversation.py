"""What was said in one run, put in order: sessions, turns, messages and their streamed pieces."""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from .evidence import Event, RunInfo
from .values import as_int, as_text


@dataclasses.dataclass
class Message:
    """One message of the agent; an assistant's message stands for one model request.

    ``state`` is its last report, of the history when it was read there, else of the stream.
    """

    id: str
    session: str | None
    state: Event
    first_ns: int | None
    """Arrival of its first report on the stream; unknown when only the history holds it."""
    created_ns: int | None = None
    completed_ns: int | None = None
    n_repeats: int = 0
    chunks: list[Event] = dataclasses.field(default_factory=list[Event])
    steps: list[Event] = dataclasses.field(default_factory=list[Event])
    ends: list[Event] = dataclasses.field(default_factory=list[Event])
    tools: list[Event] = dataclasses.field(default_factory=list[Event])

    @property
    def parent(self) -> str | None:
        """Id of the user's message that it answers."""
        return as_text(self.state.get("parent"))

    @property
    def is_assistant(self) -> bool:
        """True for an answer of the model."""
        return self.state.get("role") == "assistant"

    @property
    def is_compaction(self) -> bool:
        """True for a summary that replaces the context."""
        return self.state.get("summary") is True or self.state.get("agent") == "compaction"

    @property
    def is_complete(self) -> bool:
        """True when the agent says so: finish known, completion stamped, no error."""
        state = self.state
        return (
            not state.get("error")
            and bool(state.get("finish"))
            and state.get("completed_unix_ms") is not None
        )

    @property
    def begin_ns(self) -> int | None:
        """When it came to be: the server's stamp, else its first report."""
        return self.created_ns if self.created_ns is not None else self.first_ns


@dataclasses.dataclass
class Turn:
    """One submitted prompt; the window ends with the next prompt of its session."""

    session: str
    turn: int
    message: str | None
    send: Event
    until_ns: int | None = None
    reply: Event | None = None
    end: Event | None = None
    messages: list[Message] = dataclasses.field(default_factory=list[Message])
    """Assistants that answer this prompt by their parent; nothing is guessed."""

    @property
    def send_ns(self) -> int:
        """Stamp directly before the prompt was sent."""
        return self.send["t"]

    def holds(self, t_ns: int | None) -> bool:
        """Say whether a stamp lies in the turn's window.

        Parameters
        ----------
        t_ns : int or None
            CLOCK_MONOTONIC ns.

        Returns
        -------
        bool
        """
        return t_ns is not None and self.send_ns <= t_ns and (self.until_ns is None or t_ns < self.until_ns)


@dataclasses.dataclass
class AgentSession:
    """One conversation of the agent."""

    id: str
    role: str | None = None
    parent: str | None = None
    opened: Event | None = None
    closed: Event | None = None
    info: Event = dataclasses.field(default_factory=dict)
    turns: list[Turn] = dataclasses.field(default_factory=list[Turn])
    messages: list[Message] = dataclasses.field(default_factory=list[Message])
    """Assistants, in order."""
    retries: list[Event] = dataclasses.field(default_factory=list[Event])
    idles: list[Event] = dataclasses.field(default_factory=list[Event])
    compactions: list[Event] = dataclasses.field(default_factory=list[Event])


@dataclasses.dataclass
class Conversation:
    """All of it, by id."""

    run: RunInfo
    sessions: dict[str, AgentSession] = dataclasses.field(default_factory=dict[str, AgentSession])
    messages: dict[str, Message] = dataclasses.field(default_factory=dict[str, Message])
    calls: dict[tuple[str | None, str], list[Event]] = dataclasses.field(
        default_factory=dict[tuple[str | None, str], list[Event]]
    )

    @property
    def turns(self) -> list[Turn]:
        """Turns of all sessions, in the order they were sent."""
        return sorted((t for s in self.sessions.values() for t in s.turns), key=lambda t: t.send_ns)

    def main_of(self, session: str | None) -> AgentSession | None:
        """Return the session that a child session belongs to, following parents.

        Parameters
        ----------
        session : str or None
            A session.

        Returns
        -------
        AgentSession or None
        """
        seen: set[str] = set()
        found = self.sessions.get(session or "")
        while found is not None and found.parent and found.parent in self.sessions and found.id not in seen:
            seen.add(found.id)
            found = self.sessions[found.parent]
        return found

    def turn_at(self, session: str | None, t_ns: int | None) -> Turn | None:
        """Return the turn whose window holds a stamp; a child session's stamps count for its main session.

        Parameters
        ----------
        session : str or None
            A session.
        t_ns : int or None
            CLOCK_MONOTONIC ns.

        Returns
        -------
        Turn or None
        """
        main = self.main_of(session)
        if main is None or t_ns is None:
            return None
        at = bisect_right([turn.send_ns for turn in main.turns], t_ns) - 1
        return main.turns[at] if at >= 0 else None

    def turn_of(self, message: Message) -> Turn | None:
        """Return the turn a message belongs to: by its parent, else by time (compaction, child sessions).

        Parameters
        ----------
        message : Message
            An assistant's message.

        Returns
        -------
        Turn or None
        """
        main = self.main_of(message.session)
        for turn in main.turns if main else ():
            if message.parent is not None and message.parent == turn.message:
                return turn
        return self.turn_at(message.session, message.begin_ns)

    def call_repeats(self, call: tuple[str | None, str]) -> int:
        """Count the reports of a tool call that arrived again unchanged.

        Parameters
        ----------
        call : tuple
            (session, call).

        Returns
        -------
        int
        """
        states = self.calls[call]
        return sum(1 for before, after in pairwise(states) if _same(before, after))

    def is_warmup(self, session: str | None, number: int | None) -> bool:
        """Apply the scenario's rule to the number of a turn or to the position of a request.

        Parameters
        ----------
        session : str or None
            A session.
        number : int or None
            1-based.

        Returns
        -------
        bool
            With a single turn nothing is warm-up.
        """
        found = self.sessions.get(session or "")
        turns = self.run.planned_turns
        if turns is None:
            turns = len(found.turns) if found else 0
        return self.run.warmup_rule == "original" and number == 1 and turns > 1


def read_conversation(run: RunInfo, events: Sequence[Event]) -> Conversation:
    """Put the events of a run in order.

    Parameters
    ----------
    run : RunInfo
        The run.
    events : sequence of Event
        ``events.jsonl``.

    Returns
    -------
    Conversation
        A repeated report of the same state changes nothing but the count of repeats.
    """
    talk = Conversation(run)
    for event in events:
        handler = _HANDLERS.get(event["kind"])
        if handler is not None:
            handler(talk, event)
    for session in talk.sessions.values():
        _order(talk, session)
    return talk


def _session(talk: Conversation, event: Event) -> AgentSession | None:
    name = as_text(event.get("session"))
    if name is None:
        return None
    return talk.sessions.setdefault(name, AgentSession(name))


def _message(talk: Conversation, event: Event) -> Message | None:
    name = as_text(event.get("message"))
    if name is None:
        return None
    _session(talk, event)
    return talk.messages.setdefault(name, Message(name, as_text(event.get("session")), {}, None))


def _on_session_open(talk: Conversation, event: Event) -> None:
    if session := _session(talk, event):
        session.opened = event
        session.role = as_text(event.get("role"))
        session.parent = as_text(event.get("parent"))


def _on_session_close(talk: Conversation, event: Event) -> None:
    if session := _session(talk, event):
        session.closed = event


def _on_session_info(talk: Conversation, event: Event) -> None:
    if session := _session(talk, event):
        session.info = event


def _on_turn_send(talk: Conversation, event: Event) -> None:
    if session := _session(talk, event):
        number = as_int(event.get("turn")) or len(session.turns) + 1
        session.turns.append(Turn(session.id, number, as_text(event.get("message")), event))


def _turn(talk: Conversation, event: Event) -> Turn | None:
    session = _session(talk, event)
    number = as_int(event.get("turn"))
    found = [turn for turn in session.turns if turn.turn == number] if session else []
    return found[-1] if found else None


def _on_turn_reply(talk: Conversation, event: Event) -> None:
    if turn := _turn(talk, event):
        turn.reply = event
        # an agent that chooses the ids itself tells the prompt's id only with its reply
        turn.message = turn.message or as_text(event.get("parent"))


def _on_turn_end(talk: Conversation, event: Event) -> None:
    if turn := _turn(talk, event):
        turn.end = event


def _same(a: Event, b: Event) -> bool:
    volatile = {"t", "server_unix_ms", "t_first"}
    return {k: v for k, v in a.items() if k not in volatile} == {
        k: v for k, v in b.items() if k not in volatile
    }


def _on_message(talk: Conversation, event: Event) -> None:
    message = _message(talk, event)
    if message is None:
        return
    if event.get("source") != "history" and message.first_ns is None:
        message.first_ns = event["t"]
    if message.state and _same(message.state, event):
        message.n_repeats += 1
    if event.get("source") == "history" or message.state.get("source") != "history":
        message.state = event
    message.session = as_text(event.get("session")) or message.session


def _on_chunk(talk: Conversation, event: Event) -> None:
    if message := _message(talk, event):
        message.chunks.append(event)


def _on_step_begin(talk: Conversation, event: Event) -> None:
    if message := _message(talk, event):
        if any(
            step.get("part") is not None and step.get("part") == event.get("part") for step in message.steps
        ):
            message.n_repeats += 1
        else:
            message.steps.append(event)


def _on_step_end(talk: Conversation, event: Event) -> None:
    if message := _message(talk, event):
        message.ends.append(event)


def _on_tool(talk: Conversation, event: Event) -> None:
    call = as_text(event.get("call"))
    if call is not None:
        _session(talk, event)
        talk.calls.setdefault((as_text(event.get("session")), call), []).append(event)
    if message := _message(talk, event):
        message.tools.append(event)


def _on_status(talk: Conversation, event: Event) -> None:
    session = _session(talk, event)
    if session is None or event.get("state") != "retry":
        return
    # the same wait is announced more than once; a new one has another number or another end
    if not any(_same(old, event) for old in session.retries[-1:]):
        session.retries.append(event)


def _on_idle(talk: Conversation, event: Event) -> None:
    if session := _session(talk, event):
        session.idles.append(event)


def _on_compacted(talk: Conversation, event: Event) -> None:
    if session := _session(talk, event):
        session.compactions.append(event)


_HANDLERS = {
    "session.open": _on_session_open,
    "session.close": _on_session_close,
    "session.info": _on_session_info,
    "turn.send": _on_turn_send,
    "turn.reply": _on_turn_reply,
    "turn.end": _on_turn_end,
    "message": _on_message,
    "chunk": _on_chunk,
    "step.begin": _on_step_begin,
    "step.end": _on_step_end,
    "tool": _on_tool,
    "status": _on_status,
    "idle": _on_idle,
    "compacted": _on_compacted,
}


def _order(talk: Conversation, session: AgentSession) -> None:
    run = talk.run
    session.turns.sort(key=lambda turn: turn.send_ns)
    for turn, following in pairwise(session.turns):
        turn.until_ns = following.send_ns
    own = [m for m in talk.messages.values() if m.session == session.id and m.is_assistant]
    for message in own:
        message.created_ns = run.monotonic_ns(message.state.get("created_unix_ms"))
        message.completed_ns = run.monotonic_ns(message.state.get("completed_unix_ms"))
    if all(message.begin_ns is not None for message in own):
        own.sort(key=lambda message: message.begin_ns or 0)
    session.messages = own
    for turn in session.turns:
        turn.messages = [m for m in own if m.parent is not None and m.parent == turn.message]
