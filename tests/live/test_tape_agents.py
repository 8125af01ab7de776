"""A tape of the real Codex and Claude Code, played to them through the same gateway."""

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from agentlab import Gateway, Price, Recordings, Scenario, ScriptedModel, Tape, record
from agentlab.drivers.agentcli import AgentCLI

#: What a study, a session or a clock of its own makes differ; all else must not.
_OWN = {"study", "session_id"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("tape") / "project"
    work.mkdir()
    (work / "notes.txt").write_text("name = demo\ncolour = red\n")
    (work / "data.csv").write_text("id,v\n1,1\n2,4\n")
    return work


@pytest.fixture(scope="module")
def same_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    """Give each study the same private folders: their paths stand in the agents' prompts."""
    top, count = tmp_path_factory.mktemp("fixed"), [0]

    def mkdtemp(suffix: str | None = None, prefix: str | None = None, dir: str | None = None) -> str:
        folder = top / f"{prefix}{count[0]}{suffix or ''}"
        count[0] += 1
        folder.mkdir(mode=0o700)
        return str(folder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "mkdtemp", mkdtemp)
        yield count


@pytest.fixture(scope="module")
def both(project: Path, same_folders: list[int]) -> tuple[Recordings, Recordings]:
    def study(name: str, upstream: ScriptedModel | Tape) -> Recordings:
        same_folders[0] = 0
        arms = {
            "codex": AgentCLI("codex", workspace=project),
            "claude": AgentCLI("claude_code", workspace=project, model="lab/claude-sonnet-4-5"),
        }
        running = record(
            Scenario("task", turns=["Make the colour blue, count the rows, answer."]),
            arms,
            runs=1,
            to=project.parent / name,
            gateway=Gateway(upstream, price=Price(3, 15, cache_read="0.3")),
            keep="content",
            seed=3,
            quiet=None,
            host="inline",
            progress="none",
        )
        return running.result(timeout=120)

    first = study("recorded", ScriptedModel.load("task"))
    return first, study("played", Tape(project.parent / "recorded"))


def shared(frame: pd.DataFrame) -> pd.DataFrame:
    times = [name for name in frame.columns if name.endswith(("_ms", "_ns"))]
    return frame.drop(columns=[*times, *(_OWN & set(frame.columns))])


def test_the_requests_are_equal_in_every_column_that_is_no_time(both: tuple[Recordings, Recordings]) -> None:
    first, again = both
    assert list(first.runs["result"]) == list(again.runs["result"]) == ["answered"] * 2
    requests = shared(first.requests)
    assert len(requests) == 8
    assert set(requests["dialect"]) == {"responses", "messages"}
    assert {"prompt_hash", "input_total_tokens", "cost_usd", "finish", "prefix_bytes"} <= set(
        requests.columns
    )
    hashes = requests.pop("prompt_hash"), shared(again.requests)["prompt_hash"]
    pd.testing.assert_frame_equal(shared(again.requests).drop(columns="prompt_hash"), requests)
    # Codex gives each command's output a number of chance, so that its prompt is another from then on.
    differ = list(zip(requests["arm"], requests["position"], hashes[0] != hashes[1], strict=True))
    assert {(arm, at) for arm, at, other in differ if other} <= {("codex", 2), ("codex", 3), ("codex", 4)}


def lines(recs: Recordings, arm: str, kind: str) -> list[dict[str, Any]]:
    (file,) = Path(recs.path).glob(f"runs/*-{arm}/gateway.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines() if f'"{kind}"' in line]


def test_replies_were_found_by_prompt_else_by_order(both: tuple[Recordings, Recordings]) -> None:
    reasons = {
        arm: [end.get("reason") for end in lines(both[1], arm, "request.end")] for arm in ("claude", "codex")
    }
    assert reasons["claude"] == [None] * 4
    assert reasons["codex"][0] is None
    assert set(reasons["codex"]) <= {None, "tape_mismatch"}
    doubts = both[1].issues
    assert list(doubts["code"]) == ["tape_mismatch"] * ("tape_mismatch" in reasons["codex"])
    assert both[1].runs["eligible"].all()


def test_codex_differs_by_its_number_of_chance_alone(both: tuple[Recordings, Recordings]) -> None:
    said = [
        [
            re.sub(r"Chunk ID: \w+|Wall time: [\d.]+", "", str(item.get("output") or item.get("content")))
            for begin in lines(recs, "codex", "request.begin")
            for item in begin["content"]["body"]["input"]
        ]
        for recs in both
    ]
    assert said[0] == said[1]


def test_the_agents_did_the_same(both: tuple[Recordings, Recordings]) -> None:
    columns = ["arm", "name", "status"]
    pd.testing.assert_frame_equal(both[0].tools[columns], both[1].tools[columns])
    text = [path.read_text() for path in Path(both[1].path).glob("runs/*/events.jsonl")]
    assert all("the colour is blue" in one for one in text)
