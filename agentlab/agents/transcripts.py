"""What agents' own files count of tokens: read after a run, only counts, for the usage auditor.

A file whose form is not known is said to be so: no rows are not the same as no tokens.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from . import notes
from .base import Note

_MOST_BYTES = 256_000_000


class _Count(NamedTuple):
    """One count of a file, as it is spelled there."""

    usage: Mapping[str, Any]
    message: str | None
    model: str | None
    cost: Any = None


class _Unknown(Exception):
    """The file has another form than is known."""


class _Format(NamedTuple):
    """Where an agent's files are below its home, and how they are read."""

    pattern: str
    counts: Callable[[Path], list[_Count]]
    tokens: Callable[[Mapping[str, Any]], dict[str, Any]]
    scope: str = "request"


def read_transcripts(agent: str, home: Path) -> Iterator[Note]:
    """Read the files that an agent left behind.

    Parameters
    ----------
    agent : str
        Its name in the catalogue.
    home : pathlib.Path
        Its home.

    Yields
    ------
    Note
        For each file its ``usage`` events with the source ``transcript``, then one ``transcript`` event. None
        for an agent that leaves no such files.
    """
    form = _FORMATS.get(agent)
    files = [] if form is None else [f for f in sorted(home.glob(form.pattern)) if f.is_file()]
    for number, file in enumerate(files, 1):
        assert form is not None
        size = file.stat().st_size
        counts: list[_Count] = []
        schema = "known"
        try:
            if size > _MOST_BYTES:
                raise _Unknown
            counts = form.counts(file)
        except (_Unknown, OSError, ValueError, sqlite3.Error):
            schema = "unknown"
        for count in counts:
            about = {"source": "transcript", "scope": form.scope, "file": number, "message": count.message}
            usage = {key: value for key, value in count.usage.items() if notes.count(value) is not None}
            fields = {**about, "model": count.model, "usage": usage, "cost_usd": count.cost}
            yield Note("usage", notes.known(fields) | form.tokens(count.usage))
        about = {"file": number, "n_bytes": size, "n_rows": len(counts), "schema": schema}
        yield Note("transcript", about)


def _lines(file: Path, known: frozenset[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a file of JSON lines; a line that is none (its last may be cut) is left out."""
    seen = False
    for line in file.read_bytes().split(b"\n"):
        with contextlib.suppress(ValueError):
            data = notes.mapping(json.loads(line))
            seen = seen or data.get("type") in known
            yield data
    if not seen:
        raise _Unknown


def _checked(counts: list[_Count], n_answers: int) -> list[_Count]:
    """Answers without any count: the counts stand elsewhere now."""
    if n_answers and not counts:
        raise _Unknown
    return counts


def _claude(file: Path) -> list[_Count]:
    counts: list[_Count] = []
    answers = 0
    for line in _lines(file, frozenset({"user", "assistant", "system", "queue-operation", "summary"})):
        message = notes.mapping(line.get("message"))
        if line.get("type") == "assistant" and message.get("model") != "<synthetic>":
            answers += 1
            if usage := notes.mapping(message.get("usage")):
                counts.append(_Count(usage, _text(message.get("id")), _text(message.get("model"))))
    return _checked(counts, answers)


def _codex(file: Path) -> list[_Count]:
    """Read running totals; on resume they may come before the model's name, which then is filled in."""
    counts: list[_Count] = []
    model: str | None = None
    answers = 0
    for line in _lines(file, frozenset({"session_meta", "turn_context", "event_msg", "response_item"})):
        payload = notes.mapping(line.get("payload"))
        if line.get("type") == "turn_context":
            model = _text(payload.get("model")) or model
            counts = [count if count.model else count._replace(model=model) for count in counts]
        answers += line.get("type") == "response_item" and payload.get("role") == "assistant"
        info = notes.mapping(payload.get("info"))
        if payload.get("type") == "token_count" and info:
            usage = notes.mapping(info.get("total_token_usage"))
            if usage:
                counts.append(_Count(usage, None, model))
    return _checked(counts, answers)


def _gemini(file: Path) -> list[_Count]:
    counts: list[_Count] = []
    answers = 0
    for line in _lines(file, frozenset({"user", "gemini"})):
        if line.get("type") == "gemini":
            answers += 1
            if usage := notes.mapping(line.get("tokens")):
                counts.append(_Count(usage, _text(line.get("id")), _text(line.get("model"))))
    return _checked(counts, answers)


def _pi(file: Path) -> list[_Count]:
    counts: list[_Count] = []
    answers = 0
    for line in _lines(file, frozenset({"session", "message"})):
        message = notes.mapping(line.get("message"))
        if message.get("role") == "assistant":
            usage = notes.mapping(message.get("usage"))
            failed = message.get("stopReason") in ("error", "aborted")
            answers += not failed
            if usage and not (failed and not notes.count(usage.get("totalTokens"))):
                cost = notes.mapping(usage.get("cost")).get("total")
                counts.append(_Count(usage, _text(line.get("id")), _text(message.get("model")), cost))
    return _checked(counts, answers)


def _cline(file: Path) -> list[_Count]:
    messages = notes.mapping(json.loads(file.read_bytes())).get("messages")
    if not isinstance(messages, list):
        raise _Unknown
    said = [m for m in map(notes.mapping, notes.listed(messages)) if m.get("role") == "assistant"]
    counts = [
        _Count(usage, _text(m.get("id")), _text(notes.mapping(m.get("modelInfo")).get("id")))
        for m in said
        if (usage := notes.mapping(m.get("metrics")))
    ]
    return _checked(counts, len(said))


def _opencode(file: Path) -> list[_Count]:
    counts: list[_Count] = []
    answers = 0
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        rows = database.execute("select id, data from message").fetchall()
    for name, text in rows:
        message = notes.mapping(json.loads(text))
        if message.get("role") == "assistant":
            answers += not message.get("error")
            if usage := notes.mapping(message.get("tokens")):
                flat = {**usage, **{f"cache_{k}": v for k, v in notes.mapping(usage.get("cache")).items()}}
                counts.append(_Count(flat, _text(name), _text(message.get("modelID")), message.get("cost")))
    return _checked(counts, answers)


def _text(value: object) -> str | None:
    return notes.text(value) or None


def _spelled(
    convention: Any,  # noqa: ANN401
    *,
    outside: bool = False,
    **names: str,
) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Make the reader of a spelling; reasoning outside the output is added to it."""

    def tokens(usage: Mapping[str, Any]) -> dict[str, Any]:
        found = {name: usage.get(key) for name, key in names.items()}
        output, reasoning = notes.count(found.get("output")), notes.count(found.get("reasoning"))
        if outside and output is not None:
            found["output"] = output + (reasoning or 0)
        return notes.tokens(convention, input=found.pop("input", None), **found)

    return tokens


_FORMATS = {
    "claude_code": _Format(
        "claude/projects/**/*.jsonl",
        _claude,
        _spelled("exclusive", input="input_tokens", cache_read="cache_read_input_tokens",
                 cache_write="cache_creation_input_tokens", output="output_tokens"),
    ),
    "codex": _Format(
        "codex/sessions/**/rollout-*.jsonl",
        _codex,
        _spelled("inclusive", input="input_tokens", cache_read="cached_input_tokens",
                 cache_write="cache_write_input_tokens", output="output_tokens",
                 reasoning="reasoning_output_tokens", total="total_tokens"),
        "session",
    ),
    "gemini_cli": _Format(
        ".gemini/tmp/**/chats/session-*.jsonl",
        _gemini,
        _spelled("inclusive", outside=True, input="input", cache_read="cached", output="output",
                 reasoning="thoughts", total="total"),
    ),
    "pi": _Format(
        "sessions/**/*.jsonl",
        _pi,
        _spelled("exclusive", input="input", cache_read="cacheRead", cache_write="cacheWrite",
                 output="output", total="totalTokens"),
    ),
    "cline": _Format(
        "**/sessions/**/*.messages.json",
        _cline,
        _spelled("inclusive", input="inputTokens", cache_read="cacheReadTokens",
                 cache_write="cacheWriteTokens", output="outputTokens"),
    ),
    "opencode": _Format(
        "opencode.db",
        _opencode,
        _spelled("exclusive", outside=True, input="input", cache_read="cache_read", cache_write="cache_write",
                 output="output", reasoning="reasoning", total="total"),
    ),
}  # fmt: skip
