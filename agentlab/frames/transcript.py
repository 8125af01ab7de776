"""From a run's events to its conversation: one handler for each kind of event."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .conversation import AgentSession, Conversation, Message, Turn, same
from .evidence import Event, RunInfo
from .values import as_int, as_text


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


def _on_message(talk: Conversation, event: Event) -> None:
    message = _message(talk, event)
    if message is None:
        return
    if event.get("source") != "history" and message.first_ns is None:
        message.first_ns = event["t"]
    if message.state and same(message.state, event):
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
    if not any(same(old, event) for old in session.retries[-1:]):
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
    told = [m for m in talk.messages.values() if m.session == session.id]
    own = [m for m in told if m.is_assistant]
    pieces = [] if any(m.state for m in told) else told
    for message in own:
        message.created_ns = run.monotonic_ns(message.state.get("created_unix_ms"))
        message.completed_ns = run.monotonic_ns(message.state.get("completed_unix_ms"))
    if all(message.begin_ns is not None for message in own):
        own.sort(key=lambda message: message.begin_ns or 0)
    session.messages = own
    for turn in session.turns:
        turn.messages = [m for m in own if m.parent is not None and m.parent == turn.message]
        turn.messages += [m for m in pieces if turn.holds(m.seen_ns)]
