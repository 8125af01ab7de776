"""The tools in a process of their own."""

import asyncio
import time
from pathlib import Path

import pytest

from agentlab.tools import Workbench
from agentlab.wire.children import Children


async def test_a_call_that_takes_for_ever_is_ended_and_the_next_one_works(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("a" * 64 + "b\n")
    async with Children() as children:
        bench = Workbench(children, work, archive=tmp_path / "archive", max_seconds=0.5)
        first = await bench.call("read", {"path": "a.txt"})
        assert (first.ok, first.name) == (True, "o1")
        assert bench.whole(first) == first.content
        began = time.monotonic()
        late = await bench.call("grep", {"pattern": "(a+)+$"})
        assert time.monotonic() - began < 5
        assert not late.ok
        assert "not done within 0.5 s" in late.content
        assert bench.whole(late) == late.content
        again = await bench.call("query", {"observation": "o1", "pattern": "b$"})
        assert again.ok
        assert again.name == "o2"
        await bench.close()
    assert children.survivors == ()


async def test_a_cancelled_call_leaves_no_half_answer(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("a" * 64 + "b\n")
    async with Children() as children:
        bench = Workbench(children, work, archive=tmp_path / "archive")
        await bench.start()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(bench.call("grep", {"pattern": "(a+)+$"}), 0.2)
        assert (await bench.call("ls", {})).content == "a.txt"


async def test_an_observation_may_be_as_long_as_a_file(tmp_path: Path) -> None:
    text = "eine lange Zeile \u4e2d" * 300_000
    (tmp_path / "long.txt").write_text(text)
    async with Children() as children:
        bench = Workbench(children, tmp_path, archive=tmp_path / "archive", max_chars=10**9)
        assert (await bench.call("read", {"path": "long.txt"})).content == text
        assert (await bench.call("ls", {})).content == "archive/\nlong.txt"


async def test_a_relative_folder_is_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work").mkdir()
    async with Children() as children:
        bench = Workbench(children, Path("work"), archive=Path("archive"))
        assert (await bench.call("write", {"path": "a.txt", "content": "a"})).ok
    assert (tmp_path / "work" / "a.txt").read_text() == "a"
