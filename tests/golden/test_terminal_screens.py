"""The first screens of real agents, recorded by ``make_terminal.py``, look and ask as they did."""

import json
from pathlib import Path

import pytest

from agentlab.wire.emulator import Emulator
from agentlab.wire.ptyfile import PtyRecord, read_pty

HERE = Path(__file__).resolve().parent / "terminal"
AGENTS = ("claude_code", "codex", "opencode", "pi")
#: A word of each prompt, so that an empty screen is no success.
WORDS = {"claude_code": "? for shortcuts", "codex": "OpenAI Codex", "opencode": "Ask anything", "pi": "pi v0"}


def shown(record: PtyRecord, size: int | None = None) -> Emulator:
    terminal = Emulator(cols=record.cols, rows=record.rows)
    data = b"".join(data for _, data in record.reads)
    for read in (
        [data[i : i + size] for i in range(0, len(data), size)] if size else [d for _, d in record.reads]
    ):
        terminal.feed(read)
    return terminal


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("size", [None, 1, 7, 4096])
def test_the_screen_and_the_questions_of_a_real_agent(name: str, size: int | None) -> None:
    terminal = shown(read_pty(HERE / f"{name}.pty"), size)
    expected = (HERE / f"{name}.txt").read_text()
    assert "\n".join(terminal.screen.lines()).strip("\n") + "\n" == expected
    assert WORDS[name] in expected
    asked = json.loads((HERE / f"{name}.json").read_text())
    assert dict(terminal.queries.seen) == asked["seen"]
    assert dict(terminal.queries.unanswered) == asked["unanswered"]
    assert terminal.parser.n_broken == terminal.parser.n_cut == 0


def test_questions_and_titles_are_not_painted() -> None:
    """Opencode asks long before it paints: up to there nothing may count as its first screen."""
    record = read_pty(HERE / "opencode.pty")
    terminal = Emulator(cols=record.cols, rows=record.rows)
    first = next(
        i
        for i, (_, data) in enumerate(record.reads)
        if terminal.feed(data) is not None and not terminal.screen.blank()
    )
    assert first > 0
    assert terminal.queries.seen.total() > 30


def test_a_file_that_was_cut_is_read_to_its_last_whole_read(tmp_path: Path) -> None:
    whole = read_pty(HERE / "pi.pty")
    cut = tmp_path / "cut.pty"
    cut.write_bytes((HERE / "pi.pty").read_bytes()[:-3])
    assert read_pty(cut).reads == whole.reads[:-1]
    assert [t for t, _ in whole.reads] == sorted(t for t, _ in whole.reads)
