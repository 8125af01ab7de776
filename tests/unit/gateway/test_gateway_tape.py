"""Reading tapes, and what is said when there is none."""

import json
from pathlib import Path

import pytest

from agentlab import Gateway, Tape
from agentlab.errors import ConfigError
from agentlab.gateway.tape import data_of, prompt_hash, tape_file


def line(kind: str, request: int = 1, **fields: object) -> str:
    return json.dumps({"t": 5, "kind": kind, "request": request, **fields}) + "\n"


HEAD = {"run_id": "r", "arm": "a", "dialect": "chat", "hash": prompt_hash(b"x")}
TAPE = (
    line("tape.begin", **HEAD)
    + line("tape.send", status=200, text="{}")
    + line("tape.result", status=200, terminal_seen=True)
)


def test_a_tape_is_read_and_a_torn_line_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "tape.jsonl").write_text(TAPE + line("tape.begin", 2, **HEAD) + '{"t":6,"kind":"tape.wr')
    (take,) = Tape(tmp_path).takes()
    assert (take.run_id, take.arm, len(take.replies)) == ("r", "a", 2)
    assert [op["kind"] for op in take.replies[0].ops] == ["tape.send"]
    assert take.replies[0].result["status"] == 200
    assert take.replies[1].ops == []


def test_lines_that_say_too_little_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "tape.jsonl").write_text(line("tape.begin", 3) + line("tape.send", 3) + TAPE)
    (take,) = Tape(tmp_path).takes()
    assert len(take.replies) == 1
    (tmp_path / "tape-2.jsonl").mkdir()
    with pytest.raises(ConfigError, match=r"tape-2\.jsonl.*cannot be read: Is a directory"):
        Tape(tmp_path)


def test_gateways_play_in_the_order_in_which_they_were_started(tmp_path: Path) -> None:
    names = [
        "tape.jsonl",
        "tape-2.jsonl",
        "tape-10.jsonl",
        "runs/0001-a/tape.jsonl",
        "runs/0002-a/tape.jsonl",
    ]
    for name in reversed(names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(TAPE)
    assert [str(file.relative_to(tmp_path)) for file in Tape(tmp_path).files()] == names


def test_bytes_that_are_no_text_come_back() -> None:
    assert data_of({"base64": "/w=="}) == b"\xff"
    assert data_of({"text": "ö"}) == "ö".encode()


def test_where_a_tape_lies() -> None:
    assert tape_file("/s/runs/1/gateway.jsonl") == "/s/runs/1/tape.jsonl"
    assert tape_file("/s/gateway-2.jsonl") == "/s/tape-2.jsonl"
    assert tape_file("/s/other.jsonl") == "/s/tapeother.jsonl"


def test_settings_cross_and_hold_the_digest(tmp_path: Path) -> None:
    file = tmp_path / "tape.jsonl"
    file.write_text(TAPE)
    gateway = Gateway(Tape(file, timing="original"), budget_usd=1)
    again = Gateway.from_dict(json.loads(json.dumps(gateway.to_dict())))
    assert again == gateway
    file.write_text(TAPE + "\n")
    with pytest.raises(ConfigError, match="another one"):
        Gateway.from_dict(gateway.to_dict())


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({}, "there is no tape; give a study"),
        ({"study.json": '{"keep": "numbers"}'}, r"keep='numbers'.*keep='content'"),
        ({"study.json": '{"keep": "content"}'}, "not recorded behind a gateway"),
        ({"tape.jsonl": ""}, "no reply is on it"),
    ],
)
def test_what_is_no_tape_is_said(tmp_path: Path, files: dict[str, str], text: str) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError, match=text):
        Tape(tmp_path)


def test_a_run_of_a_study_without_content_is_said_too(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text('{"keep": "numbers"}')
    run = tmp_path / "runs" / "0000-a"
    run.mkdir(parents=True)
    with pytest.raises(ConfigError, match="keep='numbers'"):
        Tape(run)
    with pytest.raises(ConfigError, match="no such file"):
        Tape(tmp_path / "nowhere")


def test_a_tape_needs_no_key_and_a_timing_is_checked(tmp_path: Path) -> None:
    (tmp_path / "tape.jsonl").write_text(TAPE)
    with pytest.raises(ConfigError, match="needs no key"):
        Gateway(Tape(tmp_path), key_env="KEY")
    with pytest.raises(ConfigError, match="'none' or 'original'"):
        Tape(tmp_path, timing="slow")  # type: ignore[arg-type]
