"""`agentlab gateway` in a terminal: an agent finds it, ^C sums up; what is wrong costs nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import httpx

COMMAND = [sys.executable, "-m", "agentlab", "gateway"]


def test_it_meters_until_it_is_interrupted(tmp_path):
    command = [
        *COMMAND,
        "cache-probe",
        "--price",
        "100,1000",
        "--budget-usd",
        "1",
        "--to",
        str(tmp_path / "out"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        told = {}
        for line in process.stdout:
            name, _, rest = line.partition(" ")
            told[name] = rest.strip()
            if name == "Ctrl-C":
                break
        asked = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}]}
        login = {"authorization": f"Bearer {told['token']}"}
        reply = httpx.post(f"{told['chat']}/chat/completions", json=asked, headers=login, trust_env=False)
        assert reply.status_code == 200
        os.killpg(process.pid, signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(15) == 0
    assert rest.startswith("1 request: ") and "of 1.00 USD charged" in rest
    assert (tmp_path / "out" / "ledger.jsonl").is_file()


def test_wrong_usage_starts_nothing(tmp_path):
    for arguments, said in {
        (): "the following arguments are required: UPSTREAM",
        ("nope",): "there is 'cache-probe'",
        ("https://h.example/v1", "--gateway-key-env", "NO_SUCH"): "this environment variable is not set",
        ("cache-probe", "--gateway-key-env", "HOME"): "a scripted model or a tape needs no key",
        ("https://h.example/v1", "--budget-usd", "1"): "give --price",
    }.items():
        done = subprocess.run(
            [*COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 2 and done.stdout == ""
        assert said in done.stderr and done.stderr.startswith("usage: agentlab gateway"), done.stderr
    assert list(tmp_path.iterdir()) == []
