"""What is written, and to whom a request belongs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentlab.frames.evidence import read_events
from agentlab.gateway.attribution import Attribution, Owner
from agentlab.gateway.chains import Link
from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.dialects.base import ModelRequest, Piece
from agentlab.gateway.exchange import Exchange
from agentlab.gateway.journal import Journal

CHAT = DIALECTS["chat"]


def request(*texts: str, tools: tuple[str, ...] = ("read",), system: str = "s") -> ModelRequest:
    messages = [{"role": "system", "content": system}, *({"role": "user", "content": t} for t in texts)]
    body = {"model": "m", "messages": messages, "tools": [{"function": {"name": name}} for name in tools]}
    return CHAT.parse(json.dumps(body).encode())


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def test_lines_are_private_strict_and_appended(tmp_path: Path) -> None:
    file = tmp_path / "gateway.jsonl"
    file.write_text('{"t":1}\n')
    file.chmod(0o644)
    journal = Journal()
    journal.write(str(file), 2, "a", {"x": None, "y": "\u2028", "z": 0})
    journal.close(str(file))
    journal.write(str(file), 3, "b", {})
    journal.write(None, 4, "c", {})
    journal.close_all()
    assert rows(file) == [{"t": 1}, {"t": 2, "kind": "a", "y": "\u2028", "z": 0}, {"t": 3, "kind": "b"}]
    assert file.read_bytes().count(b"\n") == 3
    assert journal.failed is None
    new = tmp_path / "new.jsonl"
    journal.open(str(new))
    assert new.stat().st_mode & 0o777 == 0o600
    journal.close_all()


def test_what_cannot_be_written_is_remembered_and_does_not_raise(tmp_path: Path) -> None:
    journal = Journal()
    journal.write(str(tmp_path / "no" / "file"), 1, "a", {})
    assert journal.failed == "ENOENT"
    full = Journal()
    full.write("/dev/full", 1, "a", {})
    assert full.failed == "ENOSPC"
    full.close_all()


def test_half_of_a_surrogate_pair_spoils_no_line(tmp_path: Path) -> None:
    file, journal = tmp_path / "f", Journal()
    journal.write(str(file), 1, "a", {"content": {"text": "\U0001f600 cut \ud83d"}, "n": 2**70})
    journal.close_all()
    (event,) = read_events(file)
    assert event["content"]["text"] == "\U0001f600 cut \ufffd"


def test_the_token_that_an_agent_sends_as_text_is_not_kept(tmp_path: Path) -> None:
    file, journal = str(tmp_path / "f"), Journal("s3cr3t_Tok-en")
    journal.write(file, 1, "a", {"content": {"body": {"output": "KEY=s3cr3t_Tok-en\n"}}})
    journal.close_all()
    assert rows(Path(file))[0]["content"]["body"]["output"] == "KEY=<token>\n"


def test_a_torn_line_does_not_spoil_the_next(tmp_path: Path, monkeypatch: Any) -> None:  # noqa: ANN401
    import os

    file, journal, write = str(tmp_path / "f"), Journal(), os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:5]))
    journal.write(file, 1, "a", {})
    monkeypatch.setattr(os, "write", write)
    journal.write(file, 2, "b", {})
    journal.close_all()
    assert journal.failed == "ENOSPC"
    assert json.loads(Path(file).read_bytes().split(b"\n")[1])["t"] == 2


def test_a_session_is_bound_when_first_seen() -> None:
    idle, first, second = Owner(file="study"), Owner("r1", "a", "f1"), Owner("r2", "a", "f2")
    attribution = Attribution(idle)
    assert attribution.owner({"x-session-id": "warm"}) == ("warm", idle)
    attribution.current = first
    assert attribution.owner({"x-session-id": "one", "x-session-affinity": "other"}) == ("one", first)
    attribution.current = second
    assert attribution.owner({"x-session-affinity": "one"}) == ("one", first)
    assert attribution.owner({"x-session-id": "warm"}) == ("warm", idle)
    assert attribution.owner({"x-session-id": ""}) == (None, second)
    assert attribution.owner({}) == (None, second)


def test_namespaces_follow_the_scope_and_warm_up_is_apart() -> None:
    owner, idle = Owner("r1", "a", "f"), Owner()
    names = {scope: owner.namespace(scope) for scope in ("run", "arm", "study")}  # type: ignore[arg-type]
    assert len(set(names.values())) == 3
    assert idle.namespace("study") not in names.values()
    assert Owner("a", "r1").namespace("run") != owner.namespace("arm")


def test_an_exchange_writes_numbers_and_ends_once(tmp_path: Path) -> None:
    file, journal = tmp_path / "f", Journal()
    exchange = Exchange(journal, number=1, owner=Owner("r", "a", str(file)), keep_content=False)
    asked = request("a secret")
    exchange.begin(
        10, session="s", dialect=CHAT, path="/p", body=b"123", request=asked, link=Link(retry_of=None)
    )
    exchange.chunk(Piece("text", " \n"), t=20, emit_ns=19)
    exchange.chunk(Piece("tool", "é", 1, ("c", "read")), t=30)
    exchange.report({"prompt_tokens": 5, "completion_tokens": 2, "note": "secret", "deep": {"a": "b"}})
    exchange.status, exchange.terminal_seen, exchange.finish = 200, True, "stop"
    exchange.end(40)
    exchange.end(50)
    journal.close_all()
    begin, first, second, end = rows(file)
    assert b"secret" not in file.read_bytes()
    assert (begin["t"], begin["body_bytes"], begin["n_messages"], begin["n_tools"]) == (10, 3, 1, 1)
    assert begin["segments"][0][0] == "tools" and begin["canonical_bytes"] == len(asked.canonical.data)
    assert "retry_of" not in begin and "prefix_bytes" not in begin
    assert first == {
        "t": 20,
        "kind": "request.chunk",
        "request": 1,
        "chunk": "text",
        "n_chars": 2,
        "n_bytes": 2,
        "visible": False,
        "emit_ns": 19,
    }
    assert (second["n_chars"], second["n_bytes"], second["visible"]) == (1, 2, True)
    assert "emit_ns" not in second
    assert end["usage"] == {"prompt_tokens": 5, "completion_tokens": 2}
    assert end["unknown_usage_keys"] == ["deep.a", "note"]
    assert (end["input_total_tokens"], end["output_tokens"], end["convention"]) == (5, 2, "inclusive")
    assert "cache_read_tokens" not in end and "reason" not in end


def test_an_aborted_exchange_has_unknown_usage(tmp_path: Path) -> None:
    file, journal = tmp_path / "f", Journal()
    exchange = Exchange(journal, number=1, owner=Owner("r", "a", str(file)), keep_content=False)
    exchange.begin(1, session=None, dialect=CHAT, path="/p", body=b"", request=None, link=Link())
    for k in range(5):
        exchange.chunk(Piece("text", "x"), t=k)
    exchange.fault = "client_gone"
    exchange.end(9)
    journal.close_all()
    end = rows(file)[-1]
    assert end["reason"] == "no_usage" and not end["terminal_seen"]
    assert not [key for key in end if key.endswith("_tokens")]
