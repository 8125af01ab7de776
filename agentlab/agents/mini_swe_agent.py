"""mini-swe-agent (``mini -y --exit-immediately``): recipe found on version 2.4.6.

It tells nothing on stdout that a program could read, and all in its trajectory, which it writes after each
step. It never takes a plain text for an end: only its own submit command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import notes
from .base import Agent, Ask, Note, Outcome, Setup, environment, write_private

#: Name of the file that starts it, in its installation.
LAUNCHER = "mini"
_SUBMITTED = "Submitted"


def candidates(folder: Path) -> list[Path]:
    """List the launcher of an installation."""
    file = folder / LAUNCHER
    return [file] if file.is_file() else []


def bundle(executable: Path) -> Path:
    """Return the folder of its own code."""
    found = sorted((executable.parent / "venv").glob("lib/python*/site-packages/minisweagent"))
    return found[-1] if found else executable.parent


def prepare(setup: Setup) -> dict[str, str]:
    """Return the environment; the model and the key are variables of LiteLLM."""
    return environment(
        setup,
        OPENAI_API_BASE=setup.base_url,
        OPENAI_API_KEY=setup.token,
        LITELLM_LOCAL_MODEL_COST_MAP="True",
        LITELLM_TELEMETRY="False",
        MSWEA_CONFIGURED="true",
        MSWEA_COST_TRACKING="ignore_errors",
        MSWEA_GLOBAL_CONFIG_DIR=str(setup.home / "mswea"),
        MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT="1",
        MSWEA_SILENT_STARTUP="1",
    )


def argv(setup: Setup, ask: Ask) -> list[str]:
    """Return the command line; the prompt stands in a configuration file, so that it may begin with ``-``."""
    file = setup.home / "task.yaml"
    kwargs = {"num_retries": 0, "max_retries": 0, "max_tokens": setup.output_tokens}
    config = {"run": {"task": ask.text}, "model": {"model_kwargs": kwargs}}
    write_private(file, _yaml(config))
    return [
        str(setup.executable),
        *("-m", f"openai/{setup.model}", "-y", "--exit-immediately", "-o", str(_trajectory(setup))),
        *("-c", "mini.yaml", "-c", str(file)),
        *setup.flags,
    ]


def _yaml(config: Mapping[str, Any]) -> str:
    """Spell JSON such that YAML reads the same: no pairs of surrogates, none of its own line ends."""
    text = json.dumps(config, ensure_ascii=False)
    return re.sub(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]", _escaped, text)


def _escaped(character: re.Match[str]) -> str:
    return f"\\u{ord(character[0]):04x}"


def _trajectory(setup: Setup) -> Path:
    return setup.home / "trajectory.json"


class MiniReader:
    """Read the trajectory when the process has ended."""

    def __init__(self) -> None:
        self.session: str | None = None
        self._exit: Mapping[str, Any] = {}

    def begin(self, turn: int) -> None:
        """Forget the last turn's outcome."""
        self._exit = {}

    def read(self, data: Mapping[str, Any], *, unix_ms: float) -> Iterator[Note]:
        """Nothing on stdout is meant for programs."""
        yield from ()

    def finish(self, setup: Setup) -> Iterator[Note]:
        """Read the trajectory, as far as it was written."""
        try:
            data = json.loads(_trajectory(setup).read_bytes())
        except (OSError, ValueError):
            return
        caller: str | None = None
        for number, message in enumerate(map(notes.mapping, notes.listed(data.get("messages")))):
            caller = f"mini/{number}" if message.get("role") == "assistant" else caller
            yield from self._message(caller, message)

    def _message(self, caller: str | None, message: Mapping[str, Any]) -> Iterator[Note]:
        extra = notes.mapping(message.get("extra"))
        if message.get("role") == "assistant":
            response = notes.mapping(extra.get("response"))
            usage = notes.mapping(response.get("usage"))
            details = notes.mapping(usage.get("prompt_tokens_details"))
            choices = [notes.mapping(choice) for choice in notes.listed(response.get("choices"))]
            fields = {
                "message": caller,
                "role": "assistant",
                "model": response.get("model"),
                "finish": choices[0].get("finish_reason") if choices else None,
                "completed_unix_ms": _milliseconds(extra.get("timestamp")),
                "source": "history",
                "usage": {key: value for key, value in usage.items() if notes.count(value) is not None},
            } | notes.tokens(
                "inclusive",
                input=usage.get("prompt_tokens"),
                cache_read=details.get("cached_tokens"),
                output=usage.get("completion_tokens"),
                total=usage.get("total_tokens"),
            )
            yield Note("message", notes.known(fields), {"text": notes.text(message.get("content"))})
        elif message.get("role") == "tool":
            failed = extra.get("returncode") not in (0, None) and not _ended(extra)
            yield Note(
                "tool",
                notes.known(
                    {
                        "message": caller,
                        "call": notes.text(message.get("tool_call_id")),
                        "name": "bash",
                        "status": "error" if failed else "completed",
                        "end_unix_ms": _milliseconds(extra.get("timestamp")),
                        "source": "history",
                    }
                ),
                {"output": extra.get("raw_output")},
            )
        elif message.get("role") == "exit":
            self._exit = {**extra, "content": message.get("content")}

    def outcome(self) -> Outcome:
        """Judge by the exit status of the trajectory; its exit code is 0 also at a limit."""
        status = notes.text(self._exit.get("exit_status")) or None
        said = notes.text(self._exit.get("submission"))
        if status == _SUBMITTED:
            return Outcome(True, status, said)
        return Outcome(False, status, "", notes.text(self._exit.get("content")) or status)


def _ended(extra: Mapping[str, Any]) -> bool:
    """Say whether a call was its submit command, which it reports as not executed."""
    return extra.get("exception_info") == "action was not executed"


def _milliseconds(seconds: object) -> float | None:
    return seconds * 1000 if isinstance(seconds, float) else None


AGENT = Agent(
    name="mini_swe_agent",
    title="mini-swe-agent",
    source="pypi",
    module="minisweagent.run.mini",
    package="mini-swe-agent",
    version="2.4.6",
    dialects=("chat",),
    candidates=candidates,
    bundle=bundle,
    prepare=prepare,
    argv=argv,
    reader=MiniReader,
    runtime="python",
    resumes=False,
    takes_system=False,
    stdin=False,
)
