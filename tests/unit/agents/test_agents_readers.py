"""Readers on what the real agents wrote (``streams/``, made by ``make_streams.py``)."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from agentlab.agents.base import Note, Outcome, Setup
from agentlab.agents.catalogue import AGENTS

STREAMS = Path(__file__).parent / "streams"


@pytest.fixture
def setup(tmp_path) -> Setup:
    return Setup(
        home=tmp_path,
        workspace=tmp_path,
        executable=tmp_path / "agent",
        dialect="chat",
        base_url="http://127.0.0.1:1/v1",
        token="t",
        model="m",
        context_tokens=1000,
        output_tokens=100,
        system=None,
        flags=(),
    )


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (STREAMS / f"{name}.jsonl").read_text().splitlines()]


def read(name: str, records: list[dict[str, Any]], setup: Setup) -> tuple[list[Note], Outcome, Any]:
    reader = AGENTS[name].reader()
    reader.begin(1)
    found: list[Note] = []
    if name == "mini_swe_agent":
        (setup.home / "trajectory.json").write_text(json.dumps(records[0]))
    else:
        for record in records:
            found += reader.read(record, unix_ms=5.0)
    found += reader.finish(setup)
    return found, reader.outcome(), reader


TOOLS = {
    "pi": ["read", "edit", "bash"],
    "opencode": ["read", "edit", "bash"],
    "codex": ["exec_command"] * 3,
    "claude_code": ["Read", "Edit", "Bash"],
    "gemini_cli": ["read_file", "replace", "run_shell_command"],
    "cline": ["read_files", "editor", "run_commands"],
    "mini_swe_agent": ["bash"] * 4,  # with its own submit
}


@pytest.mark.parametrize("name", AGENTS)
def test_the_task_is_read(name, setup):
    notes, outcome, reader = read(name, lines(name), setup)
    assert outcome.answered
    assert outcome.answer.strip() == "Done."
    assert outcome.reason is None
    assert (reader.session is None) == (name == "mini_swe_agent")
    over = {n.fields["call"]: n.fields for n in notes if n.kind == "tool" and n.fields["status"] != "running"}
    assert [fields["name"] for fields in over.values()] == TOOLS[name]
    states = [fields["status"] for fields in over.values()][:3]
    assert states[:2] == ["completed", "completed"]


@pytest.mark.parametrize("name", ["pi", "codex", "claude_code", "mini_swe_agent"])
def test_a_command_that_fails_is_a_failed_call(name, setup):
    """OpenCode, Gemini CLI and Cline report it as a success."""
    notes, _, _ = read(name, lines(name), setup)
    last = [n.fields["status"] for n in notes if n.kind == "tool" and n.fields["status"] != "running"][2]
    assert last == "error"


@pytest.mark.parametrize("name", AGENTS)
def test_fields_hold_no_text(name, setup):
    notes, _, _ = read(name, lines(name), setup)
    fields = json.dumps([note.fields for note in notes])
    assert "Done." not in fields
    assert "colour" not in fields
    assert "<FOLDER>" not in fields


@pytest.mark.parametrize("name", AGENTS)
def test_tokens_are_counted_once(name, setup):
    notes, _, _ = read(name, lines(name), setup)
    told = [n.fields for n in notes if n.kind == "usage"]
    if not told:
        told = list({n.fields["message"]: n.fields for n in notes if n.kind == "message"}.values())
        assert len(told) == 4
    for fields in told:
        assert fields["convention"] in ("inclusive", "exclusive")
        whole = fields["input_uncached_tokens"] + fields.get("cache_read_tokens", 0)
        assert fields.get("input_total_tokens", whole) == whole
        assert fields["output_tokens"] > 0


@pytest.mark.parametrize("name", [name for name in AGENTS if name != "mini_swe_agent"])
def test_a_stream_that_ends_early_is_no_answer(name, setup):
    records = lines(name)
    for n in range(len(records) // 2):
        _, outcome, _ = read(name, records[:n], setup)
        assert not outcome.answered


@pytest.mark.parametrize("name", [name for name in AGENTS if name != "mini_swe_agent"])
def test_unknown_shapes_break_nothing(name, setup):
    odd: list[Any] = [None, 1, "x", [], {}, {"a": 1}]
    for record in lines(name):
        for key in record:
            for value in odd:
                read(name, [{**record, key: value}], setup)


def test_pi_judges_by_its_last_stop_reason(setup):
    records = lines("pi")
    for record in records:
        if record["type"] == "message_end" and record["message"].get("stopReason") == "stop":
            record["message"] |= {"stopReason": "error", "errorMessage": "500 no", "content": []}
            record["message"]["usage"] = dict.fromkeys(record["message"]["usage"], 0)
    notes, outcome, _ = read("pi", records, setup)
    assert (outcome.answered, outcome.stop, outcome.reason) == (False, "error", "500 no")
    failed = [n.fields for n in notes if n.kind == "message" and n.fields.get("error")]
    assert len(failed) == 1
    assert "input_uncached_tokens" not in failed[0], "zeros stand for nothing"
    assert [n.fields for n in notes if n.kind == "agent.error"] == [{"name": "error", "status_code": 500}]


def test_pi_counts_a_compaction_only_with_a_result(setup):
    told = [
        {"type": "compaction_end", "aborted": True, "result": None},
        {"type": "compaction_end", "aborted": False, "result": {"tokensBefore": 900}},
    ]
    notes, _, _ = read("pi", told, setup)
    assert [(n.kind, n.fields) for n in notes] == [("compacted", {"before_tokens": 900})]


def test_claude_tells_its_compaction(setup):
    told = {"type": "system", "subtype": "compact_boundary", "session_id": "s"}
    told["compact_metadata"] = {"pre_tokens": 69129, "post_tokens": 2896}
    notes, _, _ = read("claude_code", [told], setup)
    assert notes[0].fields == {"before_tokens": 69129, "after_tokens": 2896}


def test_claude_calls_an_error_a_success(setup):
    told = {"type": "result", "subtype": "success", "is_error": True, "result": "API Error: 400 no"}
    _, outcome, _ = read("claude_code", [{**told, "stop_reason": "stop_sequence"}], setup)
    assert not outcome.answered
    assert outcome.reason == "API Error: 400 no"


def test_claudes_output_of_a_message_is_a_placeholder(setup):
    notes, _, _ = read("claude_code", lines("claude_code"), setup)
    assert all("output_tokens" not in n.fields for n in notes if n.kind == "message")


def test_gemini_without_a_text_is_not_answered(setup):
    records = [r for r in lines("gemini_cli") if not (r["type"] == "message" and r["role"] == "assistant")]
    _, outcome, _ = read("gemini_cli", records, setup)
    assert (outcome.answered, outcome.reason) == (False, "no text")


def test_gemini_that_sees_a_loop_has_not_answered(setup):
    *before, result = lines("gemini_cli")
    told = {"type": "error", "severity": "warning", "message": "Loop detected, stopping execution"}
    _, outcome, _ = read("gemini_cli", [*before, told, result], setup)
    assert (outcome.answered, outcome.stop) == (False, "loop_detected")
    assert outcome.reason == "Loop detected, stopping execution"
    harmless = {**told, "message": "Something else"}
    assert read("gemini_cli", [*before, harmless, result], setup)[1].answered


def test_codex_fails_a_turn(setup):
    records = [*lines("codex")[:-1], {"type": "turn.failed", "error": {"message": "429 Too Many Requests"}}]
    _, outcome, _ = read("codex", records, setup)
    assert (outcome.answered, outcome.stop, outcome.reason) == (False, "failed", "429 Too Many Requests")


def test_codex_warns_and_goes_on(setup):
    warning = {"type": "item.completed", "item": {"id": "i", "type": "error", "message": "no metadata"}}
    _, outcome, _ = read("codex", [warning, *lines("codex")], setup)
    assert outcome.answered


def test_opencode_tells_an_error(setup):
    error = {"type": "error", "sessionID": "s", "error": {"name": "APIError", "data": {"message": "no"}}}
    notes, outcome, _ = read("opencode", [*lines("opencode"), error], setup)
    assert (outcome.answered, outcome.reason) == (False, "no")
    assert notes[-1].fields == {"name": "APIError"}


def test_mini_ends_by_its_own_submit_only(setup):
    data = lines("mini_swe_agent")[0]
    data["messages"][-1]["extra"] = {"exit_status": "LimitsExceeded", "submission": ""}
    _, outcome, _ = read("mini_swe_agent", [data], setup)
    assert (outcome.answered, outcome.stop) == (False, "LimitsExceeded")


def test_mini_without_a_trajectory_is_not_answered(setup):
    reader = AGENTS["mini_swe_agent"].reader()
    reader.begin(1)
    assert list(reader.finish(dataclasses.replace(setup))) == []
    assert reader.outcome() == Outcome()
