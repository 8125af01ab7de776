"""Record ``data/opencode-faults`` anew: the real OpenCode against a scripted model that breaks in many ways.

Ids, stamps and counts only; no prompt, no answer, nothing of the machine. Run it where agentlab and OpenCode
are installed: ``python data/record_golden.py``. The tables in ``tests/golden/opencode`` are then made anew by
``python tests/golden/make_opencode.py`` and must be read before they are committed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

import agentlab as al
from agentlab.gateway import Fault

HERE = Path(__file__).resolve().parent
TARGET = HERE / "opencode-faults"

SCENARIO = al.Scenario("faults", turns=["Read it. {nonce}", "Say it. {nonce}"], warmup="original")
READ = [("read", {"filePath": "package.json"})]
ARMS = {
    # a title request beside the first step; reasoning; a tool; a second answer without visible text
    "plain": [
        al.Step(reasoning="Let me look at it.", tools=READ, ttft_s=0.1, tokens_per_s=100),
        al.Step(text="It holds a name.", ttft_s=0.1, tokens_per_s=100),
        al.Step(text="\n\n", ttft_s=0.1),
    ],
    # one HTTP 500, then a stream that is cut after two pieces, then the answer
    "retry": [
        al.Step(text="Fine after all.", ttft_s=0.05, tokens_per_s=100, fault=Fault("status", code=500)),
        al.Step(text="It was cut once.", ttft_s=0.05, tokens_per_s=100, fault=Fault("cut", after=2)),
    ],
    # a tool that does not exist, a file that is missing, no usage
    "tools": [
        al.Step(tools=[("nope", {"a": 1})], usage=None),
        al.Step(tools=[("read", {"filePath": "missing.txt"})], usage=None),
        al.Step(text="Neither worked.", usage=None, tokens_per_s=100),
        al.Step(text="No usage at all.", usage=None, tokens_per_s=100),
    ],
}


def model(steps: list[al.Step]) -> al.Gateway:
    """Put the steps behind a gateway; the title request is answered apart."""
    return al.Gateway(al.ScriptedModel(steps, match="order"))


def record(folder: Path) -> None:
    """Record one run of every arm."""
    arms = {
        name: al.OpenCode(
            model="lab/scripted", gateway=model(steps), title=None if name == "plain" else "agentlab"
        )
        for name, steps in ARMS.items()
    }
    al.record(SCENARIO, arms, runs=1, seed=1, to=folder, host="process", progress="text", quiet=None).result()


def publish(folder: Path) -> None:
    """Keep the evidence and drop what tells of the machine."""
    shutil.rmtree(TARGET, ignore_errors=True)
    for name in ("run.json", "events.jsonl", "gateway.jsonl"):
        for path in folder.glob(f"runs/*/{name}"):
            copy = TARGET / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    study = json.loads((folder / "study.json").read_text(encoding="utf-8")) | {"machine": {}, "gateway": None}
    for arm in study["arms"].values():
        arm["settings"].pop("gateway", None)
    (TARGET / "study.json").write_text(json.dumps(study, indent=1) + "\n", encoding="utf-8")
    files = sorted(p for p in TARGET.rglob("*") if p.is_file())
    sums = (f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(TARGET)}\n" for p in files)
    (HERE / "opencode-faults.sha256").write_text("".join(sums), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        record(Path(scratch) / "opencode-faults")
        publish(Path(scratch) / "opencode-faults")
