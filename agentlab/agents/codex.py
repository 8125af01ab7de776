"""Codex (``codex exec --json``): recipe found on version 0.171."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import notes
from .base import Agent, Ask, Note, Outcome, Setup, environment, write_private

_KEY = "AGENTLAB_GATEWAY_TOKEN"
#: Kinds of items that are tool calls, and the name that they get where they carry none.
_TOOLS = {
    "command_execution": "exec_command",
    "file_change": "apply_patch",
    "mcp_tool_call": "mcp",
    "web_search": "web_search",
}


def candidates(folder: Path) -> list[Path]:
    """List the native binaries that the package ships for this machine."""
    system = {"Linux": "linux", "Darwin": "darwin"}.get(platform.system(), platform.system().lower())
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    vendor = folder / "node_modules" / "@openai" / f"codex-{system}-{machine}" / "vendor"
    return sorted(vendor.glob("*/bin/codex"))


def prepare(setup: Setup) -> dict[str, str]:
    """Write ``config.toml``: the gateway as the only provider, no retries, no questions, no analytics."""
    quoted = {name: json.dumps(value) for name, value in (("model", setup.model), ("url", setup.base_url))}
    system = f"developer_instructions = {json.dumps(setup.system)}\n" if setup.system else ""
    write_private(
        setup.home / "codex" / "config.toml",
        f"""model = {quoted["model"]}
model_provider = "lab"
model_context_window = {setup.context_tokens}
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
{system}
[analytics]
enabled = false

[model_providers.lab]
name = "lab"
base_url = {quoted["url"]}
env_key = "{_KEY}"
wire_api = "responses"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
""",
    )
    return environment(setup, CODEX_HOME=str(setup.home / "codex"), **{_KEY: setup.token})


def argv(setup: Setup, ask: Ask) -> list[str]:
    """Return the command line; ``-`` reads the prompt from stdin."""
    resume = ("resume", ask.session or "--last") if ask.turn > 1 else ()
    return [str(setup.executable), "exec", *resume, "--json", "--skip-git-repo-check", *setup.flags, "-"]


class CodexReader:
    """Read Codex's events. Usage is reported for a turn, not for a request."""

    def __init__(self) -> None:
        self.session: str | None = None
        self._turn = 0
        self._outcome = Outcome()

    def begin(self, turn: int) -> None:
        """Forget the last turn's outcome."""
        self._turn = turn
        self._outcome = Outcome()

    def read(self, data: Mapping[str, Any], *, unix_ms: float) -> Iterator[Note]:
        """Read one event."""
        kind = notes.text(data.get("type"))
        if kind == "thread.started":
            self.session = notes.text(data.get("thread_id")) or None
        elif kind in ("item.started", "item.completed"):
            yield from self._item(notes.mapping(data.get("item")), over=kind == "item.completed")
        elif kind == "turn.completed":
            self._outcome.stop = "completed"
            self._outcome.answered = True
            yield from self._usage(notes.mapping(data.get("usage")))
        elif kind in ("turn.failed", "error"):
            error = notes.mapping(data.get("error"))
            said = notes.text(error.get("message")) or notes.text(data.get("message"))
            self._outcome = Outcome(False, "failed", self._outcome.answer, said)
            yield notes.failure(kind, said)

    @property
    def _id(self) -> str:
        return f"{self.session}/{self._turn}"

    def _item(self, item: Mapping[str, Any], *, over: bool) -> Iterator[Note]:
        kind = notes.text(item.get("type"))
        if kind in _TOOLS:
            failed = item.get("status") == "failed" or item.get("exit_code") not in (None, 0)
            status = ("error" if failed else "completed") if over else "running"
            yield notes.tool(
                f"{self._turn}/{item.get('id')}",  # ids begin anew with each process
                item.get("tool") or _TOOLS[kind],
                status,
                message=self._id,
                input=item.get("command"),
                output=item.get("aggregated_output") if over else None,
            )
        elif over and kind in ("agent_message", "reasoning"):
            said = notes.text(item.get("text"))
            yield notes.piece(
                self._id, "text" if kind == "agent_message" else "reasoning", said, part=item.get("id")
            )
            if kind == "agent_message":
                self._outcome.answer = said
        elif over and kind == "error":  # also a warning, e.g. that it does not know the model
            yield notes.failure("item", item.get("message"))

    def _usage(self, usage: Mapping[str, Any]) -> Iterator[Note]:
        if usage:
            yield Note(
                "usage",
                {"scope": "session", "usage": notes.numbers(usage)}
                | notes.tokens(
                    "inclusive",
                    input=usage.get("input_tokens"),
                    cache_read=usage.get("cached_input_tokens"),
                    cache_write=usage.get("cache_write_input_tokens"),
                    output=usage.get("output_tokens"),
                    reasoning=usage.get("reasoning_output_tokens"),
                ),
            )

    def finish(self, setup: Setup) -> Iterator[Note]:
        """Nothing is left behind that the stream has not told."""
        yield from ()

    def outcome(self) -> Outcome:
        """Judge by ``turn.completed`` and the last message."""
        return self._outcome


AGENT = Agent(
    name="codex",
    title="Codex",
    package="@openai/codex",
    version="0.171.0",
    dialects=("responses",),
    candidates=candidates,
    bundle=lambda executable: executable.parent,
    prepare=prepare,
    argv=argv,
    reader=CodexReader,
)
