"""Gemini CLI (``gemini -o stream-json``): recipe found on version 0.61."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import notes
from .base import Agent, Ask, Note, Outcome, Setup, environment, package_folder, write_json, write_private

_PACKAGE = "@google/gemini-cli"


def prepare(setup: Setup) -> dict[str, str]:
    """Write ``settings.json``: the key's kind, one attempt, no statistics, no updates."""
    folder = setup.home / ".gemini"
    write_json(
        folder / "settings.json",
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "maxAttempts": 1},
        },
    )
    if setup.system:
        write_private(folder / "GEMINI.md", setup.system)  # what it adds to its own system text
    return environment(
        setup,
        GEMINI_API_KEY=setup.token,
        GOOGLE_GEMINI_BASE_URL=setup.base_url,
        GEMINI_CLI_NO_RELAUNCH="true",
    )


def argv(setup: Setup, ask: Ask) -> list[str]:
    """Return the command line; the prompt is read from stdin."""
    return [
        str(setup.executable),
        *("-o", "stream-json", "-m", setup.model, "--approval-mode", "yolo", "--skip-trust"),
        *setup.flags,
        *(("--resume", "latest") if ask.turn > 1 else ()),
    ]


#: In its warning that it takes the model for caught in one; it hangs up in the middle of the stream.
_LOOP = "Loop detected"


class GeminiReader:
    """Read Gemini CLI's events. Usage is reported for a process, not for a request."""

    def __init__(self) -> None:
        self.session: str | None = None
        self._turn = 0
        self._calls: dict[str, str] = {}
        self._answer = ""
        self._result: Mapping[str, Any] = {}
        self._error = ""

    def begin(self, turn: int) -> None:
        """Forget the last turn's outcome."""
        self._turn, self._answer, self._result, self._error = turn, "", {}, ""

    def read(self, data: Mapping[str, Any], *, unix_ms: float) -> Iterator[Note]:
        """Read one event."""
        kind = data.get("type")
        if kind == "init":
            self.session = self.session or notes.text(data.get("session_id")) or None
        elif kind == "message" and data.get("role") == "assistant":
            said = notes.text(data.get("content"))
            self._answer += said
            yield notes.piece(self._id, "text", said)
        elif kind == "tool_use":
            self._answer = ""  # what was said before a call is no answer
            self._calls[notes.text(data.get("tool_id"))] = notes.text(data.get("tool_name"))
            yield notes.tool(
                data.get("tool_id"),
                data.get("tool_name"),
                "running",
                message=self._id,
                input=data.get("parameters"),
            )
        elif kind == "tool_result":
            name = self._calls.get(notes.text(data.get("tool_id")))
            status = "completed" if data.get("status") == "success" else "error"
            yield notes.tool(data.get("tool_id"), name, status, message=self._id, output=data.get("output"))
        elif kind == "error":
            self._error = notes.text(data.get("message"))
            yield notes.failure(notes.text(data.get("severity")) or "error", self._error)
        elif kind == "result":
            self._result = data
            yield from self._usage(notes.mapping(data.get("stats")))

    @property
    def _id(self) -> str:
        return f"{self.session}/{self._turn}"

    def _usage(self, stats: Mapping[str, Any]) -> Iterator[Note]:
        if notes.count(stats.get("input_tokens")):  # zeros stand for none after a failure
            usage = {key: value for key, value in stats.items() if notes.count(value) is not None}
            yield Note(
                "usage",
                {"scope": "turn", "usage": usage}
                | notes.tokens(
                    "inclusive",
                    input=stats.get("input_tokens"),
                    cache_read=stats.get("cached"),
                    output=stats.get("output_tokens"),
                    total=stats.get("total_tokens"),
                ),
            )

    def finish(self, setup: Setup) -> Iterator[Note]:
        """Nothing is left behind that the stream has not told."""
        yield from ()

    def outcome(self) -> Outcome:
        """Judge by the ``result`` event and a text: it calls a full window and a loop a success."""
        status = notes.text(self._result.get("status")) or None
        said = notes.text(notes.mapping(self._result.get("error")).get("message")) or self._error
        if _LOOP in self._error:
            return Outcome(False, "loop_detected", "", self._error)
        if status == "success" and self._answer.strip():
            return Outcome(True, status, self._answer)
        return Outcome(False, status, "", said or ("no text" if status == "success" else status))


def _bundle(executable: Path) -> Path:
    return executable.parent


AGENT = Agent(
    name="gemini_cli",
    title="Gemini CLI",
    package=_PACKAGE,
    version="0.61.0",
    dialects=("gemini",),
    candidates=package_folder(_PACKAGE, "bundle/gemini.js"),
    bundle=_bundle,
    prepare=prepare,
    argv=argv,
    reader=GeminiReader,
    runtime="node",
)
