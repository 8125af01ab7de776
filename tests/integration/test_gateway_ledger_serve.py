"""A gateway in a terminal: its lines lead an agent to it, and Ctrl-C sums up and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from agentlab import Gateway, ScriptedModel, Step
from agentlab.errors import RecordingError
from agentlab.gateway.serve import serve

CODE = """
import sys
from agentlab.gateway import Gateway, Price, ScriptedModel, Step
from agentlab.gateway.serve import serve
model = ScriptedModel([Step(text="abcd")], match="rule")
serve(Gateway(model, price=Price(100, 1000), budget_usd=1), folder=sys.argv[1],
      say=lambda line: print(line, flush=True))
"""


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(RecordingError, match="the folder cannot be made"):
            serve(Gateway(ScriptedModel([Step(text="x")])), folder=folder)


def test_it_serves_until_it_is_stopped(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "gateway"
    command = [sys.executable, "-c", CODE, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        told: dict[str, str] = {}
        for line in process.stdout:
            if line.startswith("Ctrl-C"):
                break
            name, _, rest = line.partition(" ")
            told[name] = rest.strip()
        children = psutil.Process(process.pid).children(recursive=True)
        asked = {
            "model": "m",
            "max_tokens": 10,
            "messages": [{"role": "user", "content": "hi"}],
            "tools": [{"type": "function", "function": {"name": "read"}}],
        }
        login = {"authorization": f"Bearer {told['token']}"}
        reply = httpx.post(f"{told['chat']}/chat/completions", json=asked, headers=login)
        assert reply.status_code == 200
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        rest = process.stdout.read()
        assert process.wait(10) == 0
    assert "of 1.00 USD charged" in rest and rest.startswith("1 request: ")
    assert {"chat", "token", "ledger", "folder"} <= set(told)
    assert not psutil.wait_procs(children, timeout=5)[1]
    assert (folder / "ledger.jsonl").is_file() and (folder / "gateway.jsonl").is_file()
