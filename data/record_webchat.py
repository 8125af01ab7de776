"""Record ``data/webchat`` anew: OpenCode's page in a real Chromium while a scripted model answers.

One run without and one with CPU samples, call sites and typing. Stamps, counts, names of code and digests
only; no prompt, no answer, no address, nothing of the machine. Run it where agentlab, OpenCode and Chromium
are installed: ``python data/record_webchat.py``. The tables in ``tests/golden/webchat`` are then made anew by
``python tests/golden/make_webchat.py`` and must be read before they are committed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

import agentlab as al

HERE = Path(__file__).resolve().parent
TARGET = HERE / "webchat"
FILES = (
    "run.json",
    "events.jsonl",
    "gateway.jsonl",
    "trace.json.gz",
    "cpu.cpuprofile.gz",
    "cpu-worker-*.cpuprofile.gz",
)
ANSWER = (
    "# How a call is made\n\nThe **caller** pushes `three` values:\n\n"
    "```python\ndef add(a, b):\n    return a + b\n```\n\n| kind | cost |\n|---|---|\n| stack | 3 |\n\n"
    + "Then the frame of the callee begins, and the program counter moves. "
    * 6
)


def record(folder: Path) -> None:
    """Record one run of each set-up, both behind the gateway."""
    arms = {
        "light": al.WebChat("lab/scripted"),
        "sampled": al.WebChat("lab/scripted", preset="cpu", typing=True),
    }
    gateway = al.Gateway(al.ScriptedModel([al.Step(text=ANSWER, ttft_s=0.2, tokens_per_s=100)], match="rule"))
    scenario = al.Scenario("streaming", turns=["Explain a call. {nonce}"], tail_s=0.5)
    made = {"runs": 1, "seed": 1, "host": "process", "progress": "text", "quiet": None}
    al.record(scenario, arms, gateway=gateway, to=folder, **made).result()


def publish(folder: Path) -> None:
    """Keep the evidence and drop what tells of the machine."""
    shutil.rmtree(TARGET, ignore_errors=True)
    for name in FILES:
        for path in folder.glob(f"runs/*/{name}"):
            copy = TARGET / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    study = json.loads((folder / "study.json").read_text(encoding="utf-8")) | {"machine": {}}
    (TARGET / "study.json").write_text(json.dumps(study, indent=1) + "\n", encoding="utf-8")
    files = sorted(p for p in TARGET.rglob("*") if p.is_file())
    sums = (f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(TARGET)}\n" for p in files)
    (HERE / "webchat.sha256").write_text("".join(sums), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        record(Path(scratch) / "webchat")
        publish(Path(scratch) / "webchat")
