"""Cline (``cline --json``): recipe found on version 3.0.65."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import notes
from .base import Agent, Ask, Note, Outcome, Setup, environment, write_json

_PROVIDER = "openai-compatible"
_SPACE = re.compile(r"\s")


def candidates(folder: Path) -> list[Path]:
    """List the native binaries that the package ships for this machine."""
    system = {"Linux": "linux", "Darwin": "darwin"}.get(platform.system(), platform.system().lower())
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    file = folder / "node_modules" / "@cline" / f"cli-{system}-{machine}" / "bin" / "cline"
    return [file] if file.is_file() else []


def prepare(setup: Setup) -> dict[str, str]:
    """Write ``providers.json`` as ``cline auth`` does, which takes the key in its command line."""
    data = _data(setup)
    settings = {
        "provider": _PROVIDER,
        "apiKey": setup.token,
        "model": setup.model,
        "baseUrl": setup.base_url,
    }
    entry = {"settings": settings, "updatedAt": "2000-01-01T00:00:00.000Z", "tokenSource": "manual"}
    write_json(
        data / "settings" / "providers.json",
        {"version": 1, "lastUsedProvider": _PROVIDER, "modes": {}, "providers": {_PROVIDER: entry}},
    )
    settings_file = data / "settings" / "global-settings.json"
    write_json(settings_file, {"telemetryOptOut": True, "autoUpdateEnabled": False})
    return environment(
        setup,
        CLINE_DIR=str(setup.home / "cline"),
        CLINE_DATA_DIR=str(data),
        CLINE_GLOBAL_SETTINGS_PATH=str(settings_file),
        CLINE_NO_AUTO_UPDATE="1",
        CLINE_SESSION_BACKEND_MODE="local",
    )


def _data(setup: Setup) -> Path:
    return setup.home / "cline" / "data"


def argv(setup: Setup, ask: Ask) -> list[str]:
    """Return the command line; it reads no prompt from stdin, and ``--id`` is for its screen only.

    One word alone is taken for a command, so that a space follows it.
    """
    return [
        str(setup.executable),
        *("--json", "--auto-approve", "true", "--cwd", str(setup.workspace)),
        *("--config", str(setup.home / "cline"), "--data-dir", str(_data(setup))),
        *("-P", _PROVIDER, "-m", setup.model, "--retries", "1"),
        *setup.flags,
        "--",
        ask.text if _SPACE.search(ask.text) else ask.text + " ",
    ]


class ClineReader:
    """Read Cline's events: an iteration is one request."""

    def __init__(self) -> None:
        self.session: str | None = None
        self._number = 0
        self._done: Mapping[str, Any] = {}
        self._error = ""
        self._iteration = 0

    def begin(self, turn: int) -> None:
        """Forget the last turn's outcome."""
        self._done, self._error = {}, ""

    def read(self, data: Mapping[str, Any], *, unix_ms: float) -> Iterator[Note]:
        """Read one event."""
        kind = data.get("type")
        if kind == "hook_event":
            self.session = self.session or notes.text(data.get("taskId")) or None
        elif kind == "agent_event":
            yield from self._event(notes.mapping(data.get("event")), unix_ms)
        elif kind == "run_result":
            self._done = data
            yield from self._usage(notes.mapping(data.get("usage")))
        elif kind == "error":
            self._error = notes.text(data.get("message")) or notes.text(data.get("error"))
            yield notes.failure("error", self._error)

    @property
    def _id(self) -> str:
        return f"{self.session}/{self._number}"

    def _event(self, event: Mapping[str, Any], unix_ms: float) -> Iterator[Note]:
        kind = event.get("type")
        if kind == "iteration_start":
            self._number += 1
        elif kind == "usage":
            fields = {"message": self._id, "role": "assistant", "finish": "reported", "source": "stream"}
            usage = {key: value for key, value in event.items() if notes.count(value) is not None}
            yield Note("message", fields | {"completed_unix_ms": unix_ms, "usage": usage} | _tokens(event))
        elif kind in ("content_start", "content_end"):
            yield from self._content(event, over=kind == "content_end")
        elif kind == "error":
            self._error = notes.text(notes.mapping(event.get("error")).get("message"))
            yield notes.failure("error", self._error)

    def _content(self, event: Mapping[str, Any], *, over: bool) -> Iterator[Note]:
        kind = event.get("contentType")
        if kind == "tool":
            failed = bool(event.get("error")) or _unsuccessful(event.get("output"))
            yield notes.tool(
                event.get("toolCallId"),
                event.get("toolName"),
                ("error" if failed else "completed") if over else "running",
                message=self._id,
                input=event.get("input"),
                output=event.get("output"),
            )
        elif kind == "text" and not over:
            yield notes.piece(self._id, "text", notes.text(event.get("text")))
        elif kind == "reasoning" and not over:
            yield notes.piece(self._id, "reasoning", notes.text(event.get("reasoning")))

    def _usage(self, usage: Mapping[str, Any]) -> Iterator[Note]:
        if notes.count(usage.get("inputTokens")):
            yield Note("usage", {"scope": "turn", "usage": notes.numbers(usage)} | _tokens(usage))

    def finish(self, setup: Setup) -> Iterator[Note]:
        """Nothing is left behind that the stream has not told."""
        yield from ()

    def outcome(self) -> Outcome:
        """Judge by ``run_result`` and its text."""
        stop = notes.text(self._done.get("finishReason")) or None
        said = notes.text(self._done.get("text"))
        if stop == "completed" and said.strip():
            return Outcome(True, stop, said)
        return Outcome(False, stop, "", self._error or said or stop)


def _tokens(usage: Mapping[str, Any]) -> dict[str, Any]:
    return notes.tokens(
        "inclusive",
        input=usage.get("inputTokens"),
        # It leaves the key out when nothing came from the cache.
        cache_read=usage.get("cacheReadTokens", 0),
        cache_write=usage.get("cacheWriteTokens"),
        output=usage.get("outputTokens"),
    )


def _unsuccessful(output: object) -> bool:
    results = notes.listed(output) or [output]
    return any(notes.mapping(result).get("success") is False for result in results)


AGENT = Agent(
    name="cline",
    title="Cline",
    package="cline",
    version="3.0.65",
    dialects=("chat",),
    candidates=candidates,
    bundle=lambda executable: executable.parent.parent,
    prepare=prepare,
    argv=argv,
    reader=ClineReader,
    stdin=False,
    resumes=False,
    takes_system=False,
)
