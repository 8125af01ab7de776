"""Studies of a web chat: one run fills all tables on one clock; its browser is gone whatever ends it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from agentlab import Gateway, Scenario, ScriptedModel, Step, Timeouts, WebChat, load, record
from agentlab.wire.watchdog import descendants
from tests.live.chat_lookalike import Lookalike
from tests.waiting import lives, wait_until

pytestmark = pytest.mark.timeout(180)

TEXT = "## Foxes\n\n" + "A fox jumps over the dog. " * 60


@pytest.fixture(autouse=True)
def _needs_chromium(chromium_executable):
    """All of it happens in a real browser."""


def test_one_run_fills_all_tables_on_one_clock(opencode_executable, tmp_path):
    gateway = Gateway(ScriptedModel([Step(text=TEXT, tokens_per_s=150)], match="rule"))
    scenario = Scenario("planes", turns=["Tell me of foxes."], timeouts=Timeouts(start=60), tail_s=0.5)
    running = record(
        scenario, WebChat("lab/scripted"), runs=1, to=tmp_path / "study", gateway=gateway, memory=True,
        host="process", progress="none", quiet=None,
    )  # fmt: skip
    recs = running.result(timeout=150)
    assert recs.issues["code"].tolist() == [] and recs.runs["eligible"].tolist() == [True]
    assert recs.runs["status"].tolist() == ["complete"]

    [file] = recs.path.glob("runs/*/events.jsonl")
    events = [json.loads(line) for line in file.read_text().splitlines()]
    [window] = [e for e in events if e["kind"] == "page.window"]
    inside = lambda column: column.dropna().between(window["begin_ns"] - 1e9, window["end_ns"] + 1e9)  # noqa: E731
    chunks, tasks, frames = recs.chunks, recs.tasks, recs.frames
    for name in ("emit_ns", "gateway_ns", "arrive_ns", "dom_ns", "paint_ns"):
        assert chunks[name].notna().mean() > 0.9 and inside(chunks[name]).all(), name
    ordered = (chunks["emit_ns"] <= chunks["gateway_ns"]) & (chunks["gateway_ns"] <= chunks["arrive_ns"])
    assert ordered.mean() >= 0.95 and chunks.shape[0] > 300
    assert tasks["is_page_main"].any() and len(frames) > 20
    assert (tasks["start_ns"] > window["begin_ns"] - 20e9).all()
    requests = recs.requests
    assert len(requests) == 1 and inside(requests["send_ns"]).all()
    memory = recs.memory
    assert memory["t_ns"].between(window["begin_ns"], window["end_ns"]).any()
    assert (memory["pss_bytes"].dropna() > 2e8).any()  # server and browser are among its processes
    names = set(recs.processes["name"].dropna())
    assert any("chrom" in name for name in names) and any("opencode" in name for name in names)


OWNER = """
import sys
import agentlab as al
scenario = al.Scenario("life", turns=["Tell me of foxes."], timeouts=al.Timeouts(start=30))
driver = al.WebChat("lab/m", page="openchamber", url={url!r}, directory="/a", preset="cpu")
al.record(scenario, driver, runs=1, to={study!r}, host="process", progress="none", quiet=None).result()
"""


@pytest.mark.parametrize("ending", ["interrupt", "owner", "measuring"])
async def test_the_browser_is_gone_whatever_ends_its_study(ending, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with tempfile.TemporaryDirectory(prefix="own-") as folder:  # a short path: sockets are in it
        monkeypatch.setenv("TMPDIR", folder)
        async with Lookalike().running(tmp_path) as app:
            app.pieces, app.pause_s = 4000, 0.05  # an answer that takes minutes
            study = tmp_path / "study"
            code = OWNER.format(url=app.url, study=str(study))
            owner = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
            try:
                await asyncio.to_thread(check_ending, ending, owner, study, Path(folder))
            finally:
                owner.kill()
                owner.wait()


def check_ending(ending: str, owner: subprocess.Popen, study: Path, folder: Path) -> None:
    def streams() -> bool:
        return any('"at":"run"' in file.read_text() for file in study.glob("runs/*/events.jsonl"))

    wait_until(streams, 60, "the answer streams")
    started = [psutil.Process(pid) for pid in descendants(owner.pid)]
    browsers = [p for p in started if any(w.startswith("--user-data-dir=") for w in p.cmdline())]
    assert browsers
    began = time.monotonic()
    if ending == "interrupt":
        owner.send_signal(signal.SIGINT)
    elif ending == "owner":
        owner.kill()
    else:
        measuring = psutil.Process(owner.pid).children()
        os.kill(measuring[0].pid, signal.SIGKILL)
    wait_until(lambda: not any(lives(p) for p in started if p.pid != owner.pid), 5, "all of it is gone")
    assert time.monotonic() - began < 5
    wait_until(lambda: list(folder.iterdir()) == [], 5, "its profile is gone")
    runs = load(study).runs
    assert len(runs) == 1 and not runs["eligible"].any()
