"""OpenCode's events and messages in the vocabulary of ``docs/events.md``; pure functions, little state."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any

Emission = tuple[str, dict[str, Any], dict[str, Any] | None]  # kind, fields, content


def known(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is None: an absent key is unknown."""
    return {key: value for key, value in fields.items() if value is not None}


def tokens(raw: Mapping[str, Any] | None) -> dict[str, Any]:
    """Normalise OpenCode's token counts.

    Parameters
    ----------
    raw : mapping or None
        ``{total?, input, output, reasoning, cache: {read, write}}``. OpenCode's ``input`` excludes cached
        tokens and its ``output`` excludes reasoning.

    Returns
    -------
    dict
        The token columns. Empty when all are 0 and ``total`` is absent: the provider reported no usage, or
        the step failed.

    Examples
    --------
    >>> tokens({"input": 12, "output": 5, "reasoning": 1, "cache": {"read": 8, "write": 0}})["output_tokens"]
    6
    """
    if not raw:
        return {}
    cache = raw.get("cache") or {}
    values = {
        "input_uncached_tokens": raw.get("input"),
        "cache_read_tokens": cache.get("read"),
        "cache_write_tokens": cache.get("write"),
        "reasoning_tokens": raw.get("reasoning"),
        "total_tokens": raw.get("total"),
    }
    output, reasoning = raw.get("output"), raw.get("reasoning")
    if output is not None and reasoning is not None:
        values["output_tokens"] = output + reasoning
    if raw.get("total") is None and not any(values.values()):
        return {}
    return known(values)


def error_fields(error: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return name, status and retryability of an error; never its message, which may hold model output."""
    if not error:
        return {}
    data: Mapping[str, Any] = error.get("data") or {}
    return known(
        {
            "name": error.get("name"),
            "status_code": data.get("statusCode"),
            "retryable": data.get("isRetryable"),
        }
    )


def message(info: Mapping[str, Any], source: str) -> Emission:
    """Normalise the state of a message."""
    role, time = info.get("role"), info.get("time") or {}
    model: Mapping[str, Any] = info.get("model") or {}
    error = error_fields(info.get("error"))
    fields = {
        "session": info.get("sessionID"),
        "message": info.get("id"),
        "parent": info.get("parentID"),
        "role": role,
        "agent": info.get("agent") or info.get("mode"),
        "provider": info.get("providerID") or model.get("providerID"),
        "model": info.get("modelID") or model.get("modelID"),
        "summary": True if info.get("summary") is True else None,
        "finish": info.get("finish"),
        "error": error.get("name"),
        "error_status": error.get("status_code"),
        "created_unix_ms": time.get("created"),
        "completed_unix_ms": time.get("completed"),
        "cost_usd": info.get("cost") if role == "assistant" and info.get("cost") else None,
        "source": source,
    }
    if role == "assistant":
        fields |= tokens(info.get("tokens"))
    return "message", known(fields), None


def tool(part: Mapping[str, Any], source: str, server_unix_ms: int | None = None) -> Emission:
    """Normalise the state of a tool call."""
    state: Mapping[str, Any] = part.get("state") or {}
    time = state.get("time") or {}
    fields = {
        "session": part.get("sessionID"),
        "message": part.get("messageID"),
        "call": part.get("callID"),
        "part": part.get("id"),
        "name": part.get("tool"),
        "status": state.get("status"),
        "start_unix_ms": time.get("start"),
        "end_unix_ms": time.get("end"),
        "server_unix_ms": server_unix_ms,
        "source": source,
    }
    content = known({"input": state.get("input"), "output": state.get("output"), "error": state.get("error")})
    return "tool", known(fields), content or None


def history(entries: list[dict[str, Any]]) -> Iterator[Emission]:
    """Normalise a session's history: each message, then its tool calls and finished steps."""
    for entry in entries:
        yield message(entry["info"], "history")
        for part in entry.get("parts", ()):
            if part.get("type") == "tool":
                yield tool(part, "history")
            elif part.get("type") == "step-finish":
                yield _step_end(part, "history")


def _step_end(part: Mapping[str, Any], source: str) -> Emission:
    fields = {
        "session": part.get("sessionID"),
        "message": part.get("messageID"),
        "part": part.get("id"),
        "reason": part.get("reason"),
        "source": source,
        **tokens(part.get("tokens")),
    }
    return "step.end", known(fields), None


@dataclasses.dataclass
class _Part:
    type: str
    n_chars: int = 0
    last: str = ""


class Normaliser:
    """Turn the events of one run's sessions into emissions.

    Attributes
    ----------
    n_repeats : int
        Part updates that were identical to the one before; they are counted and dropped.
    """

    def __init__(self) -> None:
        self.n_repeats = 0
        self._parts: dict[str, _Part] = {}
        self._roles: dict[str, str] = {}

    def feed(
        self, kind: str, properties: Mapping[str, Any], server_unix_ms: int | None
    ) -> Iterator[Emission]:
        """Normalise one event.

        Parameters
        ----------
        kind : str
            OpenCode's event type.
        properties : mapping
            Its properties.
        server_unix_ms : int or None
            The server's publish time.

        Yields
        ------
        tuple
            Kind, fields and content of each emission; none for a repeat.
        """
        session = properties.get("sessionID")
        if kind == "message.part.delta":
            yield self._delta(properties, server_unix_ms)
        elif kind == "message.part.updated":
            yield from self._part(properties["part"], server_unix_ms)
        elif kind == "message.updated":
            info = properties["info"]
            self._roles[info["id"]] = info.get("role", "")
            yield message({"sessionID": session, **info}, "stream")
        elif kind == "session.status":
            status = properties["status"]
            fields = {
                "session": session,
                "state": status.get("type"),
                "attempt": status.get("attempt"),
                "next_unix_ms": status.get("next"),
                "server_unix_ms": server_unix_ms,
            }
            yield "status", known(fields), None
        elif kind == "session.idle":
            yield "idle", known({"session": session, "server_unix_ms": server_unix_ms}), None
        elif kind == "session.compacted":
            yield "compacted", known({"session": session}), None
        elif kind == "session.error":
            yield "agent.error", known({"session": session, **error_fields(properties.get("error"))}), None
        else:
            size = len(json.dumps(properties, ensure_ascii=False).encode())
            yield "other", known({"type": kind, "session": session, "n_bytes": size}), None

    def _delta(self, properties: Mapping[str, Any], server_unix_ms: int | None) -> Emission:
        part = self._parts.setdefault(properties["partID"], _Part("text"))
        text = properties["delta"]
        part.n_chars += len(text)
        return self._chunk(part.type, properties, properties["partID"], text, server_unix_ms)

    @staticmethod
    def _chunk(
        kind: str, owner: Mapping[str, Any], part_id: str, text: str, server_unix_ms: int | None
    ) -> Emission:
        fields = {
            "session": owner.get("sessionID"),
            "message": owner.get("messageID"),
            "part": part_id,
            "chunk": "reasoning" if kind == "reasoning" else "text",
            "n_chars": len(text),
            "n_bytes": len(text.encode()),
            "visible": not text.isspace() and text != "",
            "server_unix_ms": server_unix_ms,
        }
        return "chunk", known(fields), {"text": text}

    def _part(self, raw: Mapping[str, Any], server_unix_ms: int | None) -> Iterator[Emission]:
        kind = raw.get("type", "")
        text = json.dumps(raw, sort_keys=True, ensure_ascii=False)
        part = self._parts.setdefault(raw["id"], _Part(kind))
        part.type = kind
        if part.last == text:
            self.n_repeats += 1
            return
        part.last = text
        where = {"session": raw.get("sessionID"), "message": raw.get("messageID"), "part": raw.get("id")}
        if kind == "tool":
            yield tool(raw, "stream", server_unix_ms)
        elif kind == "step-start":
            yield "step.begin", known({**where, "server_unix_ms": server_unix_ms}), None
        elif kind == "step-finish":
            yield _step_end(raw, "stream")
        elif kind in ("text", "reasoning") and self._roles.get(raw.get("messageID", "")) == "assistant":
            # Text that came in no delta (a model that does not stream) is one chunk, seen now.
            rest = str(raw.get("text", ""))[part.n_chars :]
            if rest:
                part.n_chars += len(rest)
                yield self._chunk(kind, raw, raw["id"], rest, server_unix_ms)
        else:
            yield "other", known({"type": f"part.{kind}", "n_bytes": len(text.encode()), **where}), None
