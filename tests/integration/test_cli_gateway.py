"""`agentlab gateway` in a terminal: an agent finds it, ^C sums up; what is wrong costs nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import httpx

COMMAND = [sys.executable, "-m", "agentlab", "gateway"]


def _asked(*arguments):
    """Ask a gateway once, interrupt it, and return the answer and its last words."""
    command = [*COMMAND, *map(str, arguments)]
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
        os.killpg(process.pid, signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(15) == 0
    return reply, rest


def test_it_meters_until_it_is_interrupted(tmp_path):
    limits = ("--price", "100,1000", "--budget-usd", "1")
    reply, rest = _asked("cache-probe", *limits, "--to", tmp_path / "out", "--keep", "content")
    assert reply.status_code == 200
    assert rest.startswith("1 request: ") and "of 1.00 USD charged" in rest
    assert (tmp_path / "out" / "ledger.jsonl").is_file()
    again, _ = _asked(tmp_path / "out")
    assert again.content == reply.content, "played from the tape"


def test_a_dead_provider_is_summed_up():
    reply, rest = _asked("http://127.0.0.1:9/v1", "--price", "100,1000")
    assert reply.status_code == 400
    assert rest.startswith("1 request: ") and "1 refused (upstream_unreachable)" in rest


def test_wrong_usage_starts_nothing(tmp_path):
    for arguments, said in {
        (): "the following arguments are required: UPSTREAM",
        ("nope",): "there is 'cache-probe'",
        ("https://h.example/v1", "--gateway-key-env", "NO_SUCH"): "this environment variable is not set",
        ("cache-probe", "--gateway-key-env", "HOME"): "a scripted model or a tape needs no key",
        ("https://h.example/v1", "--budget-usd", "1"): "give --price",
        ("cache-probe", "--keep", "content"): "--keep content goes with --to FOLDER",
        (".",): "there is no tape",
    }.items():
        done = subprocess.run(
            [*COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 2 and done.stdout == ""
        assert said in done.stderr and done.stderr.startswith("usage: agentlab gateway"), done.stderr
    assert list(tmp_path.iterdir()) == []
