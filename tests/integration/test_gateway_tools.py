"""``/v1/tools``: the shared tools over the gateway, in the run's folder and nowhere else."""

import json
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from agentlab import Gateway, ScriptedModel, Step
from agentlab.tools import SYSTEM, TOOLS

GATEWAY = Gateway(ScriptedModel([Step(text="hi")]))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("the-secret\n")
    return folder


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


async def call(url: str, token: str, name: str, **arguments: object) -> dict[str, Any]:
    async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
        reply = await client.post(
            url, json={"name": name, "arguments": arguments}, headers={"authorization": f"Bearer {token}"}
        )
    assert reply.status_code == 200
    return reply.json()


async def test_calls_are_carried_out_in_the_runs_folder_and_recorded(tmp_path: Path, work: Path) -> None:
    live = await GATEWAY.start(tmp_path)
    try:
        await live.begin("r1", "pi", tmp_path / "r1.jsonl")
        await live.serve_tools(work)
        said = await call(live.tools_url, live.token, "read", path="a.txt")
        assert said == {"ok": True, "content": "the-secret\n"}
        said = await call(live.tools_url, live.token, "read", path="../r1.jsonl")
        assert (said["ok"], "outside" in said["content"]) == (False, True)
        said = await call(live.tools_url, live.token, "bash", command="the-secret")
        assert not said["ok"]
        # The next run has another folder, and starts its observations afresh.
        other = tmp_path / "other"
        other.mkdir()
        await live.begin("r2", "pi", tmp_path / "r2.jsonl")
        await live.serve_tools(other)
        assert (await call(live.tools_url, live.token, "ls"))["content"] == "(empty)"
        await live.serve_tools(None)
        assert (await call(live.tools_url, live.token, "ls"))["content"].startswith("no folder is served")
        await live.sync()
        assert live.requests == []
        first, outside, unknown = rows(tmp_path / "r1.jsonl")
        assert (first["kind"], first["tool"], first["ok"], first["n_chars"]) == (
            "tool.call",
            "read",
            True,
            11,
        )
        assert first["duration_ns"] > 0
        assert (outside["ok"], "tool" in unknown) == (False, False)
        assert "the-secret" not in (tmp_path / "r1.jsonl").read_text()
        assert [row["tool"] for row in rows(tmp_path / "r2.jsonl")] == ["ls", "ls"]
        processes = psutil.Process(live.pid).children(recursive=True)
    finally:
        await live.close()
    assert not [process for process in processes if process.is_running()]


async def test_content_is_kept_whole_when_it_is_asked_for(tmp_path: Path, work: Path) -> None:
    (work / "long.txt").write_text("x" * 500)
    live = await GATEWAY.start(tmp_path, keep="content")
    try:
        await live.serve_tools(work, max_chars=100)
        assert (
            "[cut: 100 of 500" in (await call(live.tools_url, live.token, "read", path="long.txt"))["content"]
        )
        (row,) = rows(tmp_path / "gateway.jsonl")
        assert row["content"] == {"name": "read", "arguments": {"path": "long.txt"}, "output": "x" * 500}
    finally:
        await live.close()


async def test_it_says_which_tools_there_are_to_who_has_the_token(tmp_path: Path) -> None:
    async with GATEWAY as live, httpx.AsyncClient(trust_env=False) as client:
        told = await client.get(live.tools_url, headers={"x-api-key": live.token})
        assert told.json() == {"tools": json.loads(json.dumps(TOOLS)), "system": SYSTEM}
        assert (await client.get(live.tools_url)).status_code == 403
        assert (await client.post(live.tools_url, json={}, headers={"x-api-key": "no"})).status_code == 403
        put = await client.put(live.tools_url, headers={"x-api-key": live.token})
        assert put.status_code == 403
        bad = await client.post(live.tools_url, content=b"{", headers={"x-api-key": live.token})
        assert (bad.status_code, bad.json()["ok"]) == (200, False)
        await live.sync()
        assert live.refused == {"token": 2, "method": 1}


async def test_a_folder_that_is_gone_is_a_failed_call(tmp_path: Path) -> None:
    live = await GATEWAY.start(tmp_path)
    try:
        await live.serve_tools(tmp_path / "missing")
        assert (await call(live.tools_url, live.token, "ls"))["ok"] is False
    finally:
        await live.close()
