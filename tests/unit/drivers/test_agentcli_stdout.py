"""What an agent writes is kept whole, but for the gateway's token, wherever the reads are cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentlab.drivers.agentcli.stdout import Stdout
from agentlab.errors import RecordingError

TOKEN = "aab" * 3 + "aaab"
SAID = f"a {TOKEN}{TOKEN} aab{TOKEN} {TOKEN[:-1]} aa".encode()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 100])
def test_any_cutting_gives_the_same_file(tmp_path: Path, size: int) -> None:
    file = Stdout(tmp_path / "stdout.jsonl", TOKEN)
    assert file.begin() == 0
    for at in range(0, len(SAID), size):
        file.write(SAID[at : at + size])
    file.end()
    file.close()
    assert (tmp_path / "stdout.jsonl").read_bytes() == SAID.replace(TOKEN.encode(), b"*" * len(TOKEN))


def test_what_is_held_back_is_shorter_than_the_token(tmp_path: Path) -> None:
    path = tmp_path / "stdout.jsonl"
    file = Stdout(path, TOKEN)
    file.write(b"x" * 100_000 + TOKEN[:4].encode())
    assert path.stat().st_size == 100_000
    file.end()
    assert path.stat().st_size == 100_004
    file.close()


def test_each_process_begins_on_a_line_of_its_own(tmp_path: Path) -> None:
    file = Stdout(tmp_path / "stdout.jsonl", TOKEN)
    begins: list[int | None] = []
    for said in (b"", b"{}", b"{}\n", b""):
        begins.append(file.begin())
        file.write(said)
        file.end()
    assert begins == [0, 0, 3, 6]
    file.close()
    file.close()
    assert (tmp_path / "stdout.jsonl").read_bytes() == b"{}\n{}\n"


def test_nothing_is_kept_without_a_place(tmp_path: Path) -> None:
    file = Stdout(None, TOKEN)
    assert file.begin() is None
    file.write(b"secret")
    file.end()
    file.close()
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_told_with_the_file() -> None:
    file = Stdout(Path("/dev/full"), TOKEN)
    with pytest.raises(RecordingError, match=r"/dev/full cannot be written: No space left.*to resume"):
        file.write(b"x")
    file.close()
    with pytest.raises(RecordingError, match="cannot be written: No such file"):
        Stdout(Path("/nowhere/stdout.jsonl"), TOKEN)
