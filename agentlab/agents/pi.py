"""Pi (``--mode json --print``): recipe found on version 0.73."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import notes
from .base import Agent, Ask, Note, Outcome, Setup, environment, package_folder, write_json

_PACKAGE = "@mariozechner/pi-coding-agent"
_APIS = {
    "chat": "openai-completions",
    "responses": "openai-responses",
    "messages": "anthropic-messages",
    "gemini": "google-generative-ai",
}


def prepare(setup: Setup) -> dict[str, str]:
    """Write ``models.json`` with the gateway as the only provider, and switch retries off.

    ``retry.enabled`` alone leaves the three attempts of its SDK.
    """
    folder = setup.home / "pi"
    url = setup.base_url + ("/v1beta" if setup.dialect == "gemini" else "")
    model = {
        "id": setup.model,
        "name": setup.model,
        "reasoning": False,
        "input": ["text"],
        "contextWindow": setup.context_tokens,
        "maxTokens": setup.output_tokens,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    }
    provider = {"baseUrl": url, "api": _APIS[setup.dialect], "apiKey": setup.token, "models": [model]}
    write_json(folder / "models.json", {"providers": {"lab": provider}})
    write_json(folder / "settings.json", {"retry": {"enabled": False, "provider": {"maxRetries": 0}}})
    return environment(setup, PI_CODING_AGENT_DIR=str(folder), PI_OFFLINE="1", PI_TELEMETRY="0")


def argv(setup: Setup, ask: Ask) -> list[str]:
    """Return the command line; the prompt is read from stdin, for ``--`` is no option of Pi."""
    return [
        str(setup.executable),
        *("--mode", "json", "--print", "--provider", "lab", "--model", setup.model, "--thinking", "off"),
        *("--no-extensions", "--no-skills", "--no-prompt-templates", "--no-context-files", "--offline"),
        *("--session-dir", str(setup.home / "sessions")),
        *(("--append-system-prompt", setup.system) if setup.system else ()),
        *setup.flags,
        *(("--continue",) if ask.turn > 1 else ()),
    ]


class PiReader:
    """Read Pi's events; the verdict is the stop reason of its last assistant message.

    It repeats the whole message in each update, so that only the differences are looked at.
    """

    def __init__(self) -> None:
        self.session: str | None = None
        self._number = 0
        self._last: Mapping[str, Any] = {}

    def begin(self, turn: int) -> None:
        """Forget the last turn's outcome."""
        self._last = {}

    def read(self, data: Mapping[str, Any], *, unix_ms: float) -> Iterator[Note]:
        """Read one event."""
        kind = data.get("type")
        message = notes.mapping(data.get("message"))
        if kind == "session":
            self.session = notes.text(data.get("id")) or None
        elif kind == "message_start" and message.get("role") == "assistant":
            self._number += 1
        elif kind == "message_update":
            yield from self._piece(notes.mapping(data.get("assistantMessageEvent")))
        elif kind == "message_end" and message.get("role") == "assistant":
            yield from self._message(message, unix_ms)
        elif kind == "tool_execution_start":
            yield notes.tool(
                data.get("toolCallId"),
                data.get("toolName"),
                "running",
                message=self._id,
                input=data.get("args"),
            )
        elif kind == "tool_execution_end":
            status = "error" if data.get("isError") else "completed"
            yield notes.tool(
                data.get("toolCallId"),
                data.get("toolName"),
                status,
                message=self._id,
                output=data.get("result"),
            )
        elif kind == "auto_retry_start":
            yield Note("status", notes.known({"state": "retry", "attempt": notes.count(data.get("attempt"))}))
        elif kind == "compaction_end" and data.get("result") and not data.get("aborted"):
            before = notes.count(notes.mapping(data.get("result")).get("tokensBefore"))
            yield Note("compacted", notes.known({"before_tokens": before}))

    @property
    def _id(self) -> str:
        return f"{self.session}/{self._number}"

    def _piece(self, event: Mapping[str, Any]) -> Iterator[Note]:
        kinds = {"text_delta": "text", "thinking_delta": "reasoning"}
        kind = kinds.get(notes.text(event.get("type")))
        if kind == "text" or kind == "reasoning":
            yield notes.piece(self._id, kind, notes.text(event.get("delta")), part=event.get("contentIndex"))

    def _message(self, message: Mapping[str, Any], unix_ms: float) -> Iterator[Note]:
        self._last = message
        usage = notes.mapping(message.get("usage"))
        failed = message.get("stopReason") in ("error", "aborted")
        # A message that failed carries zeros in place of a usage.
        reported = bool(usage) and not (failed and not notes.count(usage.get("totalTokens")))
        fields = {
            "message": self._id,
            "role": "assistant",
            "provider": message.get("provider"),
            "model": message.get("model"),
            "finish": message.get("stopReason"),
            "error": message.get("stopReason") if failed else None,
            "created_unix_ms": message.get("timestamp"),  # before it sends its request
            "completed_unix_ms": unix_ms,
            "source": "stream",
        }
        if reported:
            fields |= {"usage": notes.numbers(usage)} | notes.tokens(
                "exclusive",
                input=usage.get("input"),
                cache_read=usage.get("cacheRead"),
                cache_write=usage.get("cacheWrite"),
                output=usage.get("output"),
                total=usage.get("totalTokens"),
            )
        yield Note("message", notes.known(fields), {"text": _texts(message)})
        if failed:
            yield notes.failure(str(message.get("stopReason")), message.get("errorMessage"))

    def finish(self, setup: Setup) -> Iterator[Note]:
        """Nothing is left behind that the stream has not told."""
        yield from ()

    def outcome(self) -> Outcome:
        """Judge by the last assistant message; Pi exits with 0 on every failure."""
        stop = notes.text(self._last.get("stopReason")) or None
        answer = _texts(self._last)
        said = notes.text(self._last.get("errorMessage"))
        return Outcome(stop == "stop", stop, answer, said or (None if stop == "stop" else stop))


def _texts(message: Mapping[str, Any]) -> str:
    parts = [notes.mapping(part) for part in notes.listed(message.get("content"))]
    return "".join(notes.text(part.get("text")) for part in parts if part.get("type") == "text")


def _bundle(executable: Path) -> Path:
    return executable.parent


AGENT = Agent(
    name="pi",
    title="Pi",
    package=_PACKAGE,
    version="0.73.1",
    dialects=("chat", "responses", "messages", "gemini"),
    candidates=package_folder(_PACKAGE, "dist/cli.js"),
    bundle=_bundle,
    prepare=prepare,
    argv=argv,
    reader=PiReader,
    runtime="node",
)
