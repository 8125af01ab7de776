"""A tape of the real Codex and Claude Code, played to them through the same gateway."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Literal

import httpx
import pandas as pd
import pytest

from agentlab import Gateway, Price, Recordings, Scenario, ScriptedModel, Tape, record
from agentlab.drivers.agentcli import AgentCLI
from agentlab.drivers.base import Identity
from agentlab.frames.tables_model import REQUESTS

#: What a study, a session or a clock of its own makes differ; all else must not.
_OWN = {"study", "session_id"}
PRICE = Price(3, 15, cache_read="0.3")


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
            gateway=Gateway(upstream, price=PRICE),
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


@dataclasses.dataclass(frozen=True)
class Again:
    """Send the requests that an agent sent in a recorded run, one after the other."""

    recorded: str

    def identify(self) -> Identity:
        return Identity(driver="again", version="1", model="lab/scripted")

    @contextlib.asynccontextmanager
    async def open(self, arm: Any) -> AsyncIterator[Again]:  # noqa: ANN401
        self.__dict__["gateway"] = arm.gateway
        yield self

    @contextlib.asynccontextmanager
    async def session(self, run: Any) -> AsyncIterator[Again]:  # noqa: ANN401
        yield self

    async def prompt(self, text: str) -> None:
        gateway = self.__dict__["gateway"]
        begun = [json.loads(line) for line in Path(self.recorded).read_text().splitlines()]
        async with httpx.AsyncClient(base_url=gateway.base_url("messages"), trust_env=False) as http:
            for line in begun:
                if line["kind"] != "request.begin":
                    continue
                body = json.dumps(line["content"]["body"], separators=(",", ":"), ensure_ascii=False)
                headers = {"authorization": f"Bearer {gateway.token}", "x-session-id": line["session"]}
                await http.post(line["path"], content=body.encode(), headers=headers)


@pytest.mark.parametrize("timing", ["none", "original"])
def test_the_recorded_requests_give_the_same_table_again(
    both: tuple[Recordings, Recordings], tmp_path: Path, timing: Literal["none", "original"]
) -> None:
    """Every column that the gateway fills, the hash of the prompt too, but for times; no agent reports."""
    first = both[0]
    (codex,) = Path(first.path).glob("runs/*-codex/gateway.jsonl")
    (claude,) = Path(first.path).glob("runs/*-claude/gateway.jsonl")
    again = record(
        Scenario("task", turns=["again"]),
        {"codex": Again(str(codex)), "claude": Again(str(claude))},
        runs=1,
        to=tmp_path / "again",
        gateway=Gateway(Tape(first.path, timing=timing), price=PRICE),
        seed=3,
        quiet=None,
        host="inline",
        progress="none",
    ).result(timeout=120)
    told = [c.name for c in REQUESTS.columns if "gateway.jsonl" in (c.source or "gateway.jsonl")]
    seen = [name for name in told if not name.endswith(("_ms", "_ns")) and name != "source"]
    assert {"prompt_hash", "chain", "input_total_tokens", "prefix_bytes", "finish", "http_status"} <= set(
        seen
    )
    order = ["arm", "request"]
    tables = [recs.requests.sort_values(order, ignore_index=True)[[*order, *seen]] for recs in (first, again)]
    pd.testing.assert_frame_equal(tables[1], tables[0])
    assert not set(again.issues["code"]) & {"tape_mismatch", "tape_end"}


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
