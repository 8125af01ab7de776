"""Studies of the real command-line agents on scripted models: each is recorded once for all its tests."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from agentlab import AgentCLI, Fault, Gateway, Recordings, Scenario, ScriptedModel, Step, Timeouts, record
from agentlab.agents.catalogue import AGENTS
from agentlab.errors import AgentlabError

ALL = tuple(AGENTS)
RESUMING = tuple(name for name, agent in AGENTS.items() if agent.resumes)
#: Some agents take their prompt, or their whole wire, from the model's name.
MODELS = {"claude_code": "lab/claude-sonnet-4-5", "gemini_cli": "lab/gemini-2.5-pro"}
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
TASK = "Read notes.txt, change the colour from red to blue, look at the result, then answer."
TASK_STEPS = (
    Step(reasoning="First I read the notes.", actions=[{"do": "read", "path": "notes.txt"}]),
    Step(actions=[{"do": "edit", "path": "notes.txt", "old": "colour = red", "new": "colour = blue"}]),
    Step(actions=[{"do": "run", "command": "cat notes.txt; pwd"}]),
    Step(actions=[{"do": "answer", "text": "Done: the colour is blue."}]),
)
TIMEOUTS = Timeouts(prompt=90, stall=45)


def workspace(folder: Path) -> Path:
    """Make the folder that the task is about."""
    folder.mkdir(exist_ok=True)
    (folder / "notes.txt").write_text("# notes\nname = demo\ncolour = red\nsize = 4\n")
    return folder


def scripted(steps: Sequence[Step] = TASK_STEPS) -> ScriptedModel:
    """Script a model; side requests (titles) take no step."""
    return ScriptedModel(list(steps), side="colour")


def broken(fault: Fault) -> ScriptedModel:
    """Script the task with a fault in its second reply."""
    second = Step(text="Now I edit the file as asked.", actions=TASK_STEPS[1].actions, fault=fault)
    return scripted([TASK_STEPS[0], second, *TASK_STEPS[2:]])


def agent(name: str, folder: Path, **settings: Any) -> AgentCLI:  # noqa: ANN401
    """Make an arm."""
    return AgentCLI(name, model=MODELS.get(name, "lab/scripted"), workspace=workspace(folder), **settings)


def recorded(
    scenario: Scenario,
    arms: Mapping[str, AgentCLI],
    to: Path,
    *,
    keep: Literal["numbers", "content"] = "numbers",
    gateway: Gateway | None = None,
) -> Recordings:
    """Record one run of each arm, two at a time: every second arm goes into a study of its own."""
    names = list(arms)
    halves = [half for half in (names[::2], names[1::2]) if half]

    async def one(number: int, half: list[str]) -> Recordings:
        return await record(
            scenario,
            {name: arms[name] for name in half},
            runs=1,
            order="sequential",
            to=to / f"part-{number}",
            keep=keep,
            gateway=gateway,
            host="inline",
            quiet=None,
            progress="none",
        )

    async def both() -> list[Recordings]:
        return await asyncio.gather(*(one(number, half) for number, half in enumerate(halves)))

    first, *rest = asyncio.run(both())
    for one_more in rest:
        first = first + one_more
    return first


def stopped(scenario: Scenario, arm: AgentCLI, to: Path, gateway: Gateway) -> tuple[AgentlabError, Path]:
    """Record a run that ends its study, and return why and the run's folder."""
    try:
        recorded(scenario, {arm.agent: arm}, to, gateway=gateway)
    except AgentlabError as error:
        return error, next((to / "part-0" / "runs").iterdir())
    raise AssertionError("the study was not ended")


def events(folder: Path, name: str = "events.jsonl") -> list[dict[str, Any]]:
    """Read a run's lines."""
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def last(folder: Path, kind: str) -> dict[str, Any]:
    """Return the last event of a kind."""
    return [event for event in events(folder) if event["kind"] == kind][-1]
