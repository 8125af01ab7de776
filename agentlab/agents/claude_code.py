"""Claude Code (``claude -p --output-format stream-json``): recipe found on version 2.1.197."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import notes
from .base import Agent, Ask, Note, Outcome, Setup, environment

#: Model that it names for messages of its own, which no model has written.
_SYNTHETIC = "<synthetic>"


def candidates(folder: Path) -> list[Path]:
    """List the native binaries that the package ships for this machine, best first."""
    system = {"Linux": "linux", "Darwin": "darwin"}.get(platform.system(), platform.system().lower())
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    stem = f"claude-code-{system}-{machine}"
    files = [folder / "node_modules" / "@anthropic-ai" / name / "claude" for name in (stem, f"{stem}-musl")]
    return [file for file in files if file.is_file()]


def prepare(setup: Setup) -> dict[str, str]:
    """Return the environment: all settings are variables."""
    return environment(
        setup,
        ANTHROPIC_BASE_URL=setup.base_url,
        ANTHROPIC_API_KEY=setup.token,
        CLAUDE_CONFIG_DIR=str(setup.home / "claude"),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK="1",
        CLAUDE_CODE_MAX_OUTPUT_TOKENS=str(setup.output_tokens),
        CLAUDE_CODE_MAX_RETRIES="0",
        DISABLE_AUTOUPDATER="1",
        DISABLE_ERROR_REPORTING="1",
        DISABLE_TELEMETRY="1",
        IS_SANDBOX="1",  # else it refuses to go on without asking where it runs as root
    )


def argv(setup: Setup, ask: Ask) -> list[str]:
    """Return the command line; the prompt is read from stdin."""
    return [
        str(setup.executable),
        *("-p", "--output-format", "stream-json", "--verbose", "--model", setup.model),
        *("--permission-mode", "bypassPermissions", "--strict-mcp-config"),
        *(("--append-system-prompt", setup.system) if setup.system else ()),
        *setup.flags,
        *(("--resume", ask.session) if ask.turn > 1 and ask.session else ()),
    ]


class ClaudeReader:
    """Read Claude Code's events; a message comes once for each of its parts, with the same id."""

    def __init__(self) -> None:
        self.session: str | None = None
        self._calls: dict[str, tuple[str, str | None]] = {}
        self._result: Mapping[str, Any] = {}
        self._synthetic = ""
        self._told: Counter[str] = Counter()

    def begin(self, turn: int) -> None:
        """Forget the last turn's outcome."""
        self._result = {}
        self._synthetic = ""

    def read(self, data: Mapping[str, Any], *, unix_ms: float) -> Iterator[Note]:
        """Read one event."""
        kind = data.get("type")
        self.session = self.session or notes.text(data.get("session_id")) or None
        message = notes.mapping(data.get("message"))
        if kind == "assistant":
            yield from self._assistant(message, unix_ms, child=bool(data.get("parent_tool_use_id")))
        elif kind == "user":
            yield from self._results(message)
        elif kind == "system":
            yield from self._system(data)
        elif kind == "result":
            self._result = data
            yield from self._usage(data)

    def _assistant(self, message: Mapping[str, Any], unix_ms: float, *, child: bool) -> Iterator[Note]:
        name = notes.text(message.get("id"))
        parts = [notes.mapping(part) for part in notes.listed(message.get("content"))]
        said = "".join(notes.text(part.get("text")) for part in parts if part.get("type") == "text")
        if message.get("model") == _SYNTHETIC:
            self._synthetic = said
            yield notes.failure("synthetic", said)
            return
        usage = notes.mapping(message.get("usage"))
        self._told[name] += len(parts)  # each event tells the next blocks of a message: it is no repeat
        fields = {
            "message": name,
            "n_parts": self._told[name],
            "role": "assistant",
            "agent": "subagent" if child else None,
            "model": message.get("model"),
            "finish": message.get("stop_reason"),
            "completed_unix_ms": unix_ms,
            "source": "stream",
        }
        if usage:
            # Its output is that of the message's begin, a placeholder; the turn's report has the real one.
            fields |= {"usage": _numbers(usage)} | _tokens({**usage, "output_tokens": None})
        yield Note("message", notes.known(fields), {"text": said})
        for number, part in enumerate(parts):
            if part.get("type") in ("text", "thinking"):
                kind = "text" if part["type"] == "text" else "reasoning"
                yield notes.piece(name, kind, notes.text(part.get(str(part["type"]))), part=number)
            elif part.get("type") == "tool_use":
                self._calls[notes.text(part.get("id"))] = notes.text(part.get("name")), name
                yield notes.tool(
                    part.get("id"), part.get("name"), "running", message=name, input=part.get("input")
                )

    def _results(self, message: Mapping[str, Any]) -> Iterator[Note]:
        for part in map(notes.mapping, notes.listed(message.get("content"))):
            if part.get("type") == "tool_result":
                call = notes.text(part.get("tool_use_id"))
                name, caller = self._calls.get(call, ("", None))
                status = "error" if part.get("is_error") else "completed"
                yield notes.tool(call, name, status, message=caller, output=part.get("content"))

    def _system(self, data: Mapping[str, Any]) -> Iterator[Note]:
        kind = data.get("subtype")
        if kind == "compact_boundary":
            about = notes.mapping(data.get("compact_metadata"))
            yield Note(
                "compacted",
                notes.known(
                    {
                        "before_tokens": notes.count(about.get("pre_tokens")),
                        "after_tokens": notes.count(about.get("post_tokens")),
                    }
                ),
            )
        elif kind == "api_retry":
            yield Note("status", notes.known({"state": "retry", "attempt": notes.count(data.get("attempt"))}))

    def _usage(self, data: Mapping[str, Any]) -> Iterator[Note]:
        usage = notes.mapping(data.get("usage"))
        if usage:
            cost = data.get("total_cost_usd")
            fields = {"scope": "turn", "usage": _numbers(usage), "cost_usd": cost} | _tokens(usage)
            yield Note("usage", notes.known(fields))

    def finish(self, setup: Setup) -> Iterator[Note]:
        """Nothing is left behind that the stream has not told."""
        yield from ()

    def outcome(self) -> Outcome:
        """Judge by the ``result`` event; also an error has the subtype ``success``."""
        result = self._result
        said = notes.text(result.get("result"))
        stop = notes.text(result.get("stop_reason")) or notes.text(result.get("subtype")) or None
        good = result.get("subtype") == "success" and not result.get("is_error") and stop == "end_turn"
        if good:
            return Outcome(True, stop, said)
        errors = " ".join(notes.text(error) for error in notes.listed(result.get("errors")))
        return Outcome(False, stop, "", said or self._synthetic or errors or stop)


def _tokens(usage: Mapping[str, Any]) -> dict[str, Any]:
    return notes.tokens(
        "exclusive",
        input=usage.get("input_tokens"),
        cache_read=usage.get("cache_read_input_tokens"),
        cache_write=usage.get("cache_creation_input_tokens"),
        output=usage.get("output_tokens"),
    )


def _numbers(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in usage.items() if notes.count(value) is not None}


AGENT = Agent(
    name="claude_code",
    title="Claude Code",
    package="@anthropic-ai/claude-code",
    version="2.1.197",
    dialects=("messages",),
    candidates=candidates,
    bundle=lambda executable: executable.parent,
    prepare=prepare,
    argv=argv,
    reader=ClaudeReader,
)
