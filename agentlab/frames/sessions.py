"""Rows of the table ``sessions``: one per conversation of the agent."""

from __future__ import annotations

from typing import Any

from .conversation import AgentSession, Conversation
from .reading import Reading
from .startup import startup_columns
from .values import as_bool, as_count, as_float, as_int, as_text


def build_sessions(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run, in the order the sessions appeared.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    talk, requests, startups = read.talk, read.requests, startup_columns(read)
    return [
        {
            **_row(talk, session),
            "n_requests": sum(1 for r in requests if r.session == session.id),
            **startups.get(session.id, {}),
        }
        for session in talk.sessions.values()
    ]


def _row(talk: Conversation, session: AgentSession) -> dict[str, Any]:
    opened, closed = session.opened or {}, session.closed or {}
    info = {name: opened[name] for name in ("agent", "version") if name in opened} | session.info
    children = sum(1 for s in talk.sessions.values() if s.parent == session.id)
    return {
        **talk.run.key(),
        "session_id": session.id,
        "parent_id": session.parent,
        "role": session.role,
        "agent": as_text(info.get("agent")),
        "provider": as_text(info.get("provider")),
        "model": as_text(info.get("model")),
        "version": as_text(info.get("version")),
        "answered_by": _answered_by(session),
        "opened_ns": as_int(opened.get("t")),
        "closed_ns": as_int(closed.get("t")),
        "deleted": as_bool(closed.get("deleted")),
        "n_turns": len(session.turns),
        "n_messages": len(session.messages),
        "n_tools": sum(1 for owner, _ in talk.calls if owner == session.id),
        "n_children": max(children, as_count(info.get("n_children")) or 0),
        "n_retries": len(session.retries),
        "n_compactions": len(session.compactions),
        "agent_input_uncached_tokens": as_count(info.get("input_uncached_tokens")),
        "agent_cache_read_tokens": as_count(info.get("cache_read_tokens")),
        "agent_cache_write_tokens": as_count(info.get("cache_write_tokens")),
        "agent_output_tokens": as_count(info.get("output_tokens")),
        "agent_reasoning_tokens": as_count(info.get("reasoning_tokens")),
        "agent_cost_usd": as_float(info.get("cost_usd")),
    }


def _answered_by(session: AgentSession) -> str | None:
    names = [
        "/".join(as_text(m.state.get(part)) or "?" for part in ("agent", "provider", "model"))
        for m in session.messages
    ]
    return ",".join(dict.fromkeys(names)) or None
