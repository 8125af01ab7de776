"""One run of ours as its object in a schema-2 report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .discard_texts import CLEANUP, error_code, in_order, to_text
from .schema2 import RUN

if TYPE_CHECKING:
    import pandas as pd

    from ..frames.evidence import Event, RunInfo
    from ..recording import Recording, Recordings

Row = Mapping[str, Any]

#: Our kinds of events that are parts of a message -> OpenCode's type of part.
_PARTS = {"tool": "tool", "step.begin": "step-start", "step.end": "step-finish"}


def plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame with None for NA.

    Parameters
    ----------
    frame : pandas.DataFrame
        Any of ours.

    Returns
    -------
    list of dict
    """
    rows: list[Any] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return rows


def settings_of(info: RunInfo) -> Mapping[str, Any]:
    """Return the settings of a run's driver.

    Parameters
    ----------
    info : RunInfo
        The run.

    Returns
    -------
    mapping
        Empty when they are unknown.
    """
    value = info.part("identity").get("settings")
    return value if isinstance(value, Mapping) else {}


class Tables:
    """The rows of each run of some tables; read once for all runs.

    Parameters
    ----------
    recs : Recordings
        The runs.
    """

    def __init__(self, recs: Recordings) -> None:
        self._recs = recs
        self._rows: dict[str, dict[tuple[str, str], list[dict[str, Any]]]] = {}

    def rows(self, name: str, info: RunInfo) -> Sequence[Row]:
        """Return the rows of one run.

        Parameters
        ----------
        name : str
            Name of the table.
        info : RunInfo
            The run.

        Returns
        -------
        sequence of mapping
        """
        if name not in self._rows:
            found: dict[tuple[str, str], list[dict[str, Any]]] = {}
            for row in plain(self._recs.table(name)):
                found.setdefault((row["study"], row["run_id"]), []).append(row)
            self._rows[name] = found
        return self._rows[name].get((info.study, info.run_id), ())


def run_object(recording: Recording, tables: Tables, number: int | None) -> dict[str, Any]:
    """Return the run's object.

    Parameters
    ----------
    recording : Recording
        The run; one that came from a report is given back as it stood there.
    tables : Tables
        Of all runs.
    number : int
        ``runIndex``.

    Returns
    -------
    dict
        Keys in the order of the original.

    Raises
    ------
    ConfigError
        It has several main sessions.
    """
    info = recording.info
    if RUN in info.raw:
        return info.raw[RUN]
    main = [row for row in tables.rows("sessions", info) if row["role"] == "main"]
    if len(main) > 1:
        raise ConfigError(
            f"run {info.run_id} has {len(main)} sessions, and a schema-2 report holds one a run; "
            "export another format"
        )
    session = main[0] if main else None
    events = recording.events if session else []
    provider, _, model = str(info.part("identity").get("model") or "").partition("/")
    run: dict[str, Any] = {
        "runIndex": number,
        "runOrder": None if number is None else number + 1,
        "requestedRouting": {
            "agent": settings_of(info).get("agent"),
            "providerID": provider or None,
            "modelID": model or None,
        },
        "sessionID": session["session_id"] if session else None,
        "observation": _observation(info, session, events, tables),
        "discarded": not info.eligible,
    }
    if not info.eligible:
        texts = [to_text(issue.code, issue.detail) for issue in info.issues if issue.discard]
        run["discardReasons"] = in_order(texts or info.discard_codes)
    kept = [issue for issue in info.issues if issue.code == "session_not_deleted"]
    return {**run, "cleanupError": CLEANUP} if kept else run


def _observation(
    info: RunInfo, session: Row | None, events: Sequence[Event], tables: Tables
) -> dict[str, Any]:
    """Return what was seen; of a run that did not come to its end only its events, as after an exception."""
    name = session["session_id"] if session else None
    own = [event for event in events if event.get("session") == name]
    stored = list(_events(info, own))
    if session is None or info.status != "complete":
        return {"events": stored}
    requests = [
        row for row in tables.rows("requests", info) if row["chain"] == "main" and row["session_id"] == name
    ]
    last = {row["position"]: row for row in requests}  # of several attempts the last one gave the result
    turns = [row for row in tables.rows("turns", info) if row["session_id"] == name]
    answers = [event for event in own if event["kind"] == "message" and event.get("role") == "assistant"]
    errors = {event["message"]: event["error"] for event in answers if event.get("error")}
    return {
        "routing": {
            "sessionAgent": session["agent"],
            "sessionProviderID": session["provider"],
            "sessionModelID": session["model"],
            "assistantCount": session["n_messages"],
        },
        "events": stored,
        "tools": [
            # the agent calls a call that it cannot make a completed call of "invalid"
            {"tool": row["name"], "status": "completed" if row["status"] == "invalid" else row["status"]}
            for row in tables.rows("tools", info)
            if row["session_id"] == name
        ],
        "requests": [_request(row) for _, row in sorted(last.items())],
        "promptLoops": [
            {
                "turn": row["turn"],
                "warmup": row["turn"] == 1,
                "promptLoopTtftMs": row["ttft_ms"],
                "promptLoopLatencyMs": row["latency_ms"],
            }
            for row in turns
        ],
        "retries": any(event["kind"] == "status" and event.get("state") == "retry" for event in own),
        "compaction": any(event["kind"] == "compacted" for event in own),
        "historyRetry": False,  # the parts it looked for do not exist
        "historyCompaction": any(event.get("summary") is True for event in answers),
        "assistantErrorCodes": [error_code(error) for error in errors.values()],
        "providerErrorCodes": [],
    }


def _request(row: Row) -> dict[str, Any]:
    output, reasoning = row["output_tokens"], row["reasoning_tokens"]
    return {
        "position": row["position"],
        "warmup": row["position"] == 1,
        "input": row["input_uncached_tokens"],
        "output": output - (reasoning or 0) if output is not None else None,
        "cacheRead": row["cache_read_tokens"],
        "cacheWrite": row["cache_write_tokens"],
        "totalInput": row["input_total_tokens"],
    }


def _events(info: RunInfo, events: Sequence[Event]) -> Iterator[dict[str, Any]]:
    """Yield the events that the original kept, in its words; absent keys are left out."""
    for event in events:
        about = _event(event)
        at = info.unix_ms(event["t"])
        if about is None or at is None or event.get("source") == "history":
            continue
        where = {
            "sessionID": event.get("session"),
            "messageID": event.get("message"),
            "partID": event.get("part"),
        }
        row = {"at": at, "type": about.pop("type"), **where, **about}
        yield {name: value for name, value in row.items() if value is not None}


def _event(event: Event) -> dict[str, Any] | None:
    kind = event["kind"]
    if kind == "chunk":
        return {"type": "message.part.delta", "field": "text"}  # of reasoning, too
    if kind in _PARTS:
        return {"type": "message.part.updated", "partType": _PARTS[kind]}
    if kind == "message":
        return {"type": "message.updated"}
    if kind == "status":
        return {"type": "session.status", "status": event.get("state"), "retryAttempt": event.get("attempt")}
    if kind == "other":
        name = str(event.get("type", ""))
        if name.startswith("part."):
            return {"type": "message.part.updated", "partType": name.removeprefix("part.")}
        return {"type": name} if "compaction" in name.lower() else None
    return None
