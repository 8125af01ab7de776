"""The real OpenCode behind the gateway: both tools complete, and the cache sees the bytes that were sent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentlab import Gateway, PromptCache, ScriptedModel

TURNS = (
    "Session marker: {nonce}. Read package.json, then write one todo.",
    "Session marker: {nonce}. Reply exactly: follow-up complete.",
)
PERMISSION = {"*": "allow", "external_directory": "deny", "doom_loop": "deny", "question": "deny"}


def opencode() -> str:
    """Path of the agent; the lab's own install comes first."""
    found = os.environ.get("AGENTLAB_OPENCODE") or shutil.which("opencode")
    if not found:
        pytest.fail("OpenCode is not installed: put it on PATH or set AGENTLAB_OPENCODE")
    return found


@contextlib.asynccontextmanager
async def server(folder: Path, base_url: str, token: str) -> AsyncIterator[httpx.AsyncClient]:
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
                "options": {"baseURL": base_url, "apiKey": token},
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
        opencode(),
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


async def session(
    client: httpx.AsyncClient, *, systems: tuple[str | None, ...] = (None, None)
) -> dict[str, Any]:
    """Run the probe's two turns and return what OpenCode says of them."""
    nonce = secrets.token_hex(8)
    made = (await client.post("/session", json={"title": "probe"})).json()["id"]
    replies: list[dict[str, Any]] = []
    for turn, system in zip(TURNS, systems, strict=True):
        body: dict[str, Any] = {
            "model": {"providerID": "lab", "modelID": "scripted"},
            "agent": "build",
            "parts": [{"type": "text", "text": turn.replace("{nonce}", nonce)}],
        }
        if system is not None:
            body["system"] = system
        reply = await client.post(f"/session/{made}/message", json=body)
        assert reply.status_code == 200
        replies.append(reply.json())
    history = (await client.get(f"/session/{made}/message")).json()
    await client.delete(f"/session/{made}")
    return {"id": made, "replies": replies, "history": history}


def tools_of(result: dict[str, Any]) -> list[tuple[str, str]]:
    parts = [part for message in result["history"] for part in message["parts"]]
    return [(part["tool"], part["state"]["status"]) for part in parts if part["type"] == "tool"]


async def test_two_turns_run_whole_and_the_second_request_is_cached(tmp_path: Path) -> None:
    model = ScriptedModel.load("cache-probe")
    async with Gateway(model) as live, server(tmp_path, live.base_url("chat"), live.token) as client:
        result = await session(client)
        requests = [r for r in live.requests if r["session"] == result["id"]]
    if os.environ.get("SHOW"):
        for r in requests:
            print({k: v for k, v in r.items() if k not in ("segments", "usage")}, r["segments"][:2])
        print(json.dumps(result["history"], indent=1)[:6000])
    assert tools_of(result) == [("read", "completed"), ("todowrite", "completed")]
