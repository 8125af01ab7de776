"""Counts in the files that agents leave: their spellings, what is cut, and a form that is not known."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agentlab.agents.base import Note
from agentlab.agents.transcripts import read_transcripts


def write(home: Path, name: str, *rows: object, tail: str = "\n") -> Path:
    file = home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(json.dumps(row) for row in rows) + tail)
    return file


def read(agent: str, home: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    found: list[Note] = list(read_transcripts(agent, home))
    assert all(note.content is None for note in found)
    return (
        [note.fields for note in found if note.kind == "usage"],
        [note.fields for note in found if note.kind == "transcript"],
    )


CLAUDE = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 12304,
    "cache_read_input_tokens": 0,
    "output_tokens": 550,
}


def claude(message: str, **usage: int) -> dict[str, Any]:
    said = {
        "id": message,
        "model": "m",
        "usage": CLAUDE | usage,
        "content": [{"type": "text", "text": "SECRET"}],
    }
    return {"type": "assistant", "sessionId": "s", "message": said}


def test_claudes_messages_are_counts_and_never_content(tmp_path: Path) -> None:
    rows = [
        {"type": "user", "message": {"content": "SECRET"}},
        claude("a"),
        claude("a"),
        claude("b", input_tokens=9),
    ]
    write(tmp_path, "claude/projects/p/one.jsonl", *rows)
    write(tmp_path, "claude/projects/p/two.jsonl", *rows, tail='\n{"type": "assist')
    usages, files = read("claude_code", tmp_path)
    assert [u["message"] for u in usages] == ["a", "a", "b"] * 2 and [u["file"] for u in usages] == [
        1
    ] * 3 + [2] * 3
    first = usages[0]
    assert (first["convention"], first["input_uncached_tokens"], first["cache_write_tokens"]) == (
        "exclusive",
        3,
        12304,
    )
    assert first["source"] == "transcript" and first["usage"] == CLAUDE
    assert [(f["n_rows"], f["schema"]) for f in files] == [(3, "known")] * 2
    assert "SECRET" not in json.dumps(usages)


def test_codex_counts_before_the_models_name_get_it(tmp_path: Path) -> None:
    def count(given: int, cached: int) -> dict[str, Any]:
        total = {
            "input_tokens": given,
            "cached_input_tokens": cached,
            "output_tokens": 5,
            "total_tokens": given + 5,
        }
        return {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": total}}}

    context = {"type": "turn_context", "payload": {"model": "gpt-x"}}
    write(tmp_path, "codex/sessions/2026/rollout-1.jsonl", count(100, 0), context, count(250, 90))
    usages, _ = read("codex", tmp_path)
    assert [(u["model"], u["scope"], u["input_total_tokens"]) for u in usages] == [
        ("gpt-x", "session", 100),
        ("gpt-x", "session", 250),
    ]
    assert usages[1]["input_uncached_tokens"] == 160 and "cache_write_tokens" not in usages[1]


def test_a_model_that_is_never_named_stays_unknown(tmp_path: Path) -> None:
    total = {"input_tokens": 1, "output_tokens": 2}
    row = {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": total}}}
    write(tmp_path, "codex/sessions/rollout-1.jsonl", row)
    assert "model" not in read("codex", tmp_path)[0][0]


def test_gemini_and_opencode_count_reasoning_beside_the_output(tmp_path: Path) -> None:
    tokens = {"input": 100, "output": 7, "cached": 60, "thoughts": 6, "total": 113}
    row = {"type": "gemini", "id": "g", "model": "m", "tokens": tokens}
    write(tmp_path, ".gemini/tmp/ws/chats/session-1.jsonl", {"sessionId": "s"}, row, row)
    usages, _ = read("gemini_cli", tmp_path)
    assert (usages[0]["output_tokens"], usages[0]["reasoning_tokens"]) == (13, 6)
    database(tmp_path / "opencode.db", "message")
    usages, files = read("opencode", tmp_path)
    assert (usages[0]["output_tokens"], usages[0]["cache_read_tokens"], files[0]["schema"]) == (
        12,
        4,
        "known",
    )


def database(file: Path, table: str) -> None:
    tokens = {"input": 9, "output": 6, "reasoning": 6, "cache": {"read": 4, "write": 0}}
    with sqlite3.connect(file) as made:
        made.execute(f"create table {table} (id text, data text)")
        made.execute(
            f"insert into {table} values ('m', ?)", [json.dumps({"role": "assistant", "tokens": tokens})]
        )
    made.close()


@pytest.mark.parametrize("table", ["message_v2", "session"])
def test_a_renamed_table_is_loud(tmp_path: Path, table: str) -> None:
    database(tmp_path / "opencode.db", table)
    usages, files = read("opencode", tmp_path)
    assert not usages and (files[0]["n_rows"], files[0]["schema"]) == (0, "unknown")


@pytest.mark.parametrize(
    ("agent", "name", "rows"),
    [
        ("claude_code", "claude/projects/p/s.jsonl", [{"kind": "assistant", "usage": CLAUDE}]),
        ("claude_code", "claude/projects/p/s.jsonl", [{"type": "assistant", "message": {"tokens": CLAUDE}}]),
        ("codex", "codex/sessions/rollout-1.jsonl",
         [{"type": "response_item", "payload": {"role": "assistant"}}]),
        ("pi", "sessions/s.jsonl", [{"type": "message", "message": {"role": "assistant"}}]),
        ("cline", "data/sessions/1/1.messages.json", [{"turns": []}]),
        ("cline", "data/sessions/1/1.messages.json", [{"messages": [{"role": "assistant"}]}]),
    ],
)  # fmt: skip
def test_answers_without_the_known_counts_are_an_unknown_form(
    tmp_path: Path, agent: str, name: str, rows: list[object]
) -> None:
    write(tmp_path, name, *rows)
    usages, files = read(agent, tmp_path)
    assert not usages and files[0]["schema"] == "unknown"


def test_pis_failed_message_of_zeros_is_no_count(tmp_path: Path) -> None:
    def said(stop: str, **usage: object) -> dict[str, Any]:
        return {
            "type": "message",
            "id": stop,
            "message": {"role": "assistant", "stopReason": stop, "usage": usage},
        }

    write(tmp_path, "sessions/s.jsonl", {"type": "session"}, said("error", input=0, totalTokens=0),
          said("stop", input=5, output=2, cacheRead=1, totalTokens=8, cost={"total": 0.25}))  # fmt: skip
    usages, files = read("pi", tmp_path)
    assert [(u["message"], u["cost_usd"]) for u in usages] == [("stop", 0.25)] and files[0][
        "schema"
    ] == "known"


def test_an_agent_without_files_has_none(tmp_path: Path) -> None:
    assert read("mini_swe_agent", tmp_path) == ([], []) == read("codex", tmp_path)
