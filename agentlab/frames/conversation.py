"""What was said in one run, put in order: sessions, turns, messages and their streamed pieces."""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from itertools import pairwise

from .evidence import Event, RunInfo
from .values import as_text


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
        """True when the agent says so: finish known and no failure, completion stamped, no error."""
        state = self.state
        return (
            not state.get("error")
            and state.get("finish") not in (None, "", "unknown", "error")
            and state.get("completed_unix_ms") is not None
        )

    @property
    def begin_ns(self) -> int | None:
        """When it came to be: the server's stamp, else its first report."""
        return self.created_ns if self.created_ns is not None else self.first_ns

    @property
    def seen_ns(self) -> int | None:
        """When it was first heard of: its begin, else its first chunk, step or tool on the stream."""
        if self.begin_ns is not None:
            return self.begin_ns
        pieces = [*self.chunks, *self.steps, *(t for t in self.tools if t.get("source") != "history")]
        return min((piece["t"] for piece in pieces), default=None)


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
    """Assistants that answer this prompt by their parent; nothing is guessed. Of an agent that describes no
    message at all, and only streams pieces: those that came in the turn's window."""

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
        return self.turn_at(message.session, message.seen_ns)

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
        return sum(1 for before, after in pairwise(states) if same(before, after))

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


def same(a: Event, b: Event) -> bool:
    """Say whether two reports tell the same, whenever they came.

    Parameters
    ----------
    a, b : Event
        Reports of one message, call or state.

    Returns
    -------
    bool
    """
    volatile = {"t", "server_unix_ms", "t_first"}
    return {k: v for k, v in a.items() if k not in volatile} == {
        k: v for k, v in b.items() if k not in volatile
    }
