"""The real OpenCode behind the gateway: both tools complete, and the cache sees the bytes that were sent."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import secrets
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx

from agentlab import Gateway, ScriptedModel, Step
from agentlab.gateway import Fault
from agentlab.gateway.live import Live

TURNS = (
    "Session marker: {nonce}. Read package.json, then write one todo.",
    "Session marker: {nonce}. Reply exactly: follow-up complete.",
)
PERMISSION = {"*": "allow", "external_directory": "deny", "doom_loop": "deny", "question": "deny"}


@contextlib.asynccontextmanager
async def server(opencode: Path, folder: Path, live: Live) -> AsyncIterator[httpx.AsyncClient]:
    """Start `opencode serve` in its own home and give a client of it."""
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "package.json").write_text('{"name": "probe", "version": "1.0.0"}\n')
    config = {
        "share": "disabled",
        "autoupdate": False,
        "snapshot": False,
        "provider": {
            "lab": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Lab",
                "options": {"baseURL": live.base_url("chat"), "apiKey": live.token},
                "models": {
                    "scripted": {
                        "name": "Scripted",
                        "limit": {"context": 200000, "output": 8192},
                        "tool_call": True,
                        "reasoning": True,
                    }
                },
            }
        },
        "enabled_providers": ["lab"],
        "model": "lab/scripted",
        "small_model": "lab/scripted",
        "permission": PERMISSION,
        "agent": {
            name: {"mode": "primary", "description": name, "prompt": f"{name} helps. " + "Be exact. " * 400}
            for name in ("Alpha", "Bravo")
        },
    }
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "home"),
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DB": str(folder / "opencode.db"),
        "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
        **{f"OPENCODE_DISABLE_{n}": "1" for n in ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "SHARE")},
    }
    process = await asyncio.create_subprocess_exec(
        opencode,
        "serve",
        "--hostname",
        "127.0.0.1",
        "--port",
        "0",
        cwd=workspace,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        url = ""
        async with asyncio.timeout(60):
            while not url:
                line = (await process.stdout.readline()).decode()
                assert line, "opencode ended while starting"
                url = line.rpartition("listening on ")[2].strip() if "listening on " in line else ""
        async with httpx.AsyncClient(base_url=url, timeout=120) as client:
            yield client
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def session(client: httpx.AsyncClient, *, agent: str = "build") -> dict[str, Any]:
    """Run the probe's two turns and return what OpenCode says of them."""
    nonce = secrets.token_hex(8)
    made = (await client.post("/session", json={"title": "probe"})).json()["id"]
    replies: list[dict[str, Any]] = []
    for turn in TURNS:
        body = {
            "model": {"providerID": "lab", "modelID": "scripted"},
            "agent": agent,
            "parts": [{"type": "text", "text": turn.replace("{nonce}", nonce)}],
        }
        reply = await client.post(f"/session/{made}/message", json=body)
        assert reply.status_code == 200
        replies.append(reply.json())
    history = (await client.get(f"/session/{made}/message")).json()
    await client.delete(f"/session/{made}")
    return {"id": made, "replies": replies, "history": history}


def tools_of(result: dict[str, Any]) -> list[tuple[str, str]]:
    parts = [part for message in result["history"] for part in message["parts"]]
    return [(part["tool"], part["state"]["status"]) for part in parts if part["type"] == "tool"]


def text_of(reply: dict[str, Any]) -> str:
    return "".join(part["text"] for part in reply["parts"] if part["type"] == "text")


def served(n_bytes: int) -> int:
    """OpenAI's rule: from 1,024 tokens of 4 bytes, in steps of 128."""
    tokens = n_bytes // 4
    return 0 if tokens < 1024 else tokens // 128 * 128


async def requests_of(live: Live, session_id: str) -> list[dict[str, Any]]:
    await live.sync()
    return [request for request in live.requests if request.get("session") == session_id]


async def test_two_turns_complete_and_the_cache_serves_what_was_sent_before(
    tmp_path: Path, opencode_executable: Path
) -> None:
    async with (
        Gateway(ScriptedModel.load("cache-probe")) as live,
        server(opencode_executable, tmp_path, live) as client,
    ):
        first = await session(client, agent="Alpha")
        again = await session(client, agent="Alpha")
        other = await session(client, agent="Bravo")
        alpha, alpha_again, bravo = [await requests_of(live, s["id"]) for s in (first, again, other)]

    for result in (first, again, other):
        assert tools_of(result) == [("read", "completed"), ("todowrite", "completed")]
        assert text_of(result["replies"][1]) == "follow-up complete."
    assert [len(requests) for requests in (alpha, alpha_again, bravo)] == [4, 4, 4]
    assert [request["finish"] for request in alpha] == ["tool_calls", "tool_calls", "stop", "stop"]

    # Inside a session the prompt only grows, and all of what was sent before is served, in the rule's steps.
    assert alpha[0]["cache_read_tokens"] == 0
    for before, after in itertools.pairwise(alpha):
        assert after["append_only"] and after["prefix_bytes"] == before["canonical_bytes"]
        assert after["cache_read_tokens"] == served(before["canonical_bytes"]) > 5000
    # Another session of the same agent shares tools and system text up to its own nonce.
    assert alpha_again[0]["cache_read_tokens"] >= served(sum(s[2] for s in alpha[0]["segments"][:2]))

    # "Alpha" and "Bravo" differ in the first byte of the system text: what is left is the tools' prefix.
    (_, tools_hash, tools_bytes), (_, system_hash, _) = alpha[0]["segments"][:2]
    assert bravo[0]["segments"][0] == ["tools", tools_hash, tools_bytes]
    assert bravo[0]["segments"][1][1] != system_hash
    shared = len(b"[") + tools_bytes + len(b',[{"role":"system","content":"')
    assert bravo[0]["cache_read_tokens"] == served(shared) < alpha_again[0]["cache_read_tokens"]

    # OpenCode counts the same tokens from the usage that it was sent.
    steps = [p["tokens"] for m in other["history"] for p in m["parts"] if p["type"] == "step-finish"]
    assert [step["cache"]["read"] for step in steps] == [r["cache_read_tokens"] for r in bravo]
    assert [step["input"] for step in steps] == [r["input_uncached_tokens"] for r in bravo]
    assert [step["output"] + step["reasoning"] for step in steps] == [r["output_tokens"] for r in bravo]


async def test_retries_of_opencode_are_seen_and_get_their_own_step_again(
    tmp_path: Path, opencode_executable: Path
) -> None:
    steps = [
        Step(
            tools=[("read", {"filePath": "package.json"})], fault=Fault("status", code=429, retry_after_s=0.2)
        ),
        Step(text="Read it, and more.", fault=Fault("reset", after=2)),
        Step(text="follow-up complete.", fault=Fault("error", after=1)),
    ]
    async with (
        Gateway(ScriptedModel(steps)) as live,
        server(opencode_executable, tmp_path, live) as client,
    ):
        result = await session(client)
        requests = await requests_of(live, result["id"])
    assert tools_of(result) == [("read", "completed")]
    assert text_of(result["replies"][1]) == "follow-up complete."
    faults = [request.get("fault") for request in requests]
    assert faults == ["status", None, "reset", None, "error", None]
    assert [request.get("retry_of") for request in requests] == [None, 1, None, 3, None, 5]
    assert [request.get("reason") for request in requests] == ["no_usage", None] * 3
