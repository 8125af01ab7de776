"""OpenCode from the command line (``opencode run --format json``); its server is :mod:`.opencode`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import notes, opencode
from .base import Agent, Ask, Note, Outcome, Setup, environment, write_private

#: Package of its provider, and what comes behind the gateway's base URL. All are in the binary.
_PROVIDERS = {
    "chat": ("@ai-sdk/openai-compatible", ""),
    "responses": ("@ai-sdk/openai", ""),
    "messages": ("@ai-sdk/anthropic", "/v1"),
    "gemini": ("@ai-sdk/google", "/v1beta"),
}


def prepare(setup: Setup) -> dict[str, str]:
    """Give the configuration as a variable, as the server gets it."""
    package, below = _PROVIDERS[setup.dialect]
    extra: dict[str, Any] = {"provider": {"lab": {"npm": package}}}
    if setup.system:
        file = setup.home / "system.md"
        write_private(file, setup.system)
        extra["instructions"] = [str(file)]
    config = opencode.server_config(
        f"lab/{setup.model}",
        base_url=setup.base_url + below,
        token=setup.token,
        context_tokens=setup.context_tokens,
        output_tokens=setup.output_tokens,
        extra=extra,
    )
    if not (setup.home / ".config").exists():
        opencode.prepare_home(setup.home)
    own = opencode.server_environment(home=setup.home, database=setup.home / "opencode.db", config=config)
    return environment(setup) | own


def argv(setup: Setup, ask: Ask) -> list[str]:
    """Return the command line; the prompt is read from stdin: it puts quotes around an argument."""
    return [
        str(setup.executable),
        *("run", "--format", "json", "--pure", "--model", f"lab/{setup.model}"),
        *setup.flags,
        *(("--session", ask.session) if ask.turn > 1 and ask.session else ()),
    ]


class OpenCodeReader:
    """Read the events of ``opencode run``: a step is one request; its text comes when it is complete."""

    def __init__(self) -> None:
        self.session: str | None = None
        self._stop: str | None = None
        self._answer = ""
        self._error = ""

    def begin(self, turn: int) -> None:
        """Forget the last turn's outcome."""
        self._stop, self._answer, self._error = None, "", ""

    def read(self, data: Mapping[str, Any], *, unix_ms: float) -> Iterator[Note]:
        """Read one event."""
        kind = data.get("type")
        self.session = self.session or notes.text(data.get("sessionID")) or None
        part = notes.mapping(data.get("part"))
        message = notes.text(part.get("messageID"))
        if kind == "step_start":
            self._answer = ""
            yield Note("step.begin", {"message": message, "part": part.get("id")})
        elif kind in ("text", "reasoning"):
            said = notes.text(part.get("text"))
            self._answer += said if kind == "text" else ""
            name = "text" if kind == "text" else "reasoning"
            yield notes.piece(message, name, said, part=notes.text(part.get("id")))
        elif kind == "tool_use":
            yield from self._tool(part, message)
        elif kind == "step_finish":
            self._stop = notes.text(part.get("reason")) or None
            yield from self._message(part, message, unix_ms)
        elif kind == "error":
            error = notes.mapping(data.get("error"))
            self._error = notes.text(notes.mapping(error.get("data")).get("message")) or notes.text(
                error.get("name")
            )
            yield notes.failure(notes.text(error.get("name")) or "error", self._error)

    def _tool(self, part: Mapping[str, Any], message: str) -> Iterator[Note]:
        state = notes.mapping(part.get("state"))
        time = notes.mapping(state.get("time"))
        status = "error" if state.get("status") == "error" else "completed"
        yield notes.tool(
            part.get("callID"),
            part.get("tool"),
            status,
            message=message,
            input=state.get("input"),
            output=state.get("output"),
            start_unix_ms=time.get("start"),
            end_unix_ms=time.get("end"),
        )

    def _message(self, part: Mapping[str, Any], message: str, unix_ms: float) -> Iterator[Note]:
        usage = notes.mapping(part.get("tokens"))
        cache = notes.mapping(usage.get("cache"))
        fields = {
            "message": message,
            "role": "assistant",
            "finish": part.get("reason"),
            "completed_unix_ms": unix_ms,
            "cost_usd": part.get("cost"),
            "source": "stream",
            "usage": notes.numbers(usage),
        } | notes.tokens(
            "exclusive",
            input=usage.get("input"),
            cache_read=cache.get("read"),
            cache_write=cache.get("write"),
            output=_sum(usage.get("output"), usage.get("reasoning")),  # apart in its report
            reasoning=usage.get("reasoning"),
            total=usage.get("total"),
        )
        yield Note("message", notes.known(fields))

    def finish(self, setup: Setup) -> Iterator[Note]:
        """Nothing is left behind that the stream has not told."""
        yield from ()

    def outcome(self) -> Outcome:
        """Judge by the last step's reason and its text."""
        if self._stop == "stop" and self._answer.strip() and not self._error:
            return Outcome(True, self._stop, self._answer)
        return Outcome(False, self._stop, "", self._error or self._stop)


def _sum(output: object, reasoning: object) -> int | None:
    whole = notes.count(output)
    return None if whole is None else whole + (notes.count(reasoning) or 0)


AGENT = Agent(
    name="opencode",
    title="OpenCode",
    package=opencode.PACKAGE,
    version=opencode.VERSION,
    dialects=("chat", "responses", "messages", "gemini"),
    candidates=opencode.candidates,
    bundle=lambda executable: executable.parent,
    prepare=prepare,
    argv=argv,
    reader=OpenCodeReader,
)
