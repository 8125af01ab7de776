"""The task "read, edit, run, answer" on the seven real agents, and two turns on those that resume."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest

from agentlab import Gateway, Recordings, Scenario, ScriptedModel, Step
from agentlab.agents.catalogue import AGENTS
from agentlab.frames.audit import audit

from .agent_studies import (
    ALL,
    IS_ROOT,
    MODELS,
    RESUMING,
    TASK,
    TIMEOUTS,
    agent,
    events,
    last,
    recorded,
    scripted,
)

SECRET = "Zweitaktgemisch"
SYSTEM = "Speak as Rumpelstilzchen would."
HAZARD = f"--help @nobody -y is how this prompt begins, and {SECRET} is in it."


@pytest.fixture(scope="module")
def task(real_agents, tmp_path_factory) -> Recordings:
    folder = tmp_path_factory.mktemp("task")
    network = "loopback" if IS_ROOT else "open"
    arms = {
        name: agent(
            name,
            folder / "workspace",
            network=network,
            system=SYSTEM if AGENTS[name].takes_system else None,
        )
        for name in ALL
    }
    gateway = Gateway(scripted(), max_requests=20)
    scenario = Scenario("task", turns=[TASK], timeouts=TIMEOUTS)
    return recorded(scenario, arms, folder, keep="content", gateway=gateway)


@pytest.fixture(scope="module")
def dialogue(real_agents, tmp_path_factory) -> Recordings:
    """Two turns; the model answers the second only when the first prompt came whole."""
    folder = tmp_path_factory.mktemp("dialogue")
    model = ScriptedModel(
        [
            Step(text="A title", when={"has_tools": False}),
            Step(text="The first answer.", when={"last_user_contains": HAZARD[:40]}),
            Step(text="The second answer.", when={"last_user_contains": "And now the second"}),
        ],
        match="rule",
    )
    arms = {name: agent(name, folder / "workspace") for name in RESUMING}
    scenario = Scenario("dialogue", turns=[HAZARD, "And now the second."], timeouts=TIMEOUTS)
    return recorded(scenario, arms, folder, gateway=Gateway(model, max_requests=10))


def _run(recs: Recordings, arm: str) -> tuple[Path, Recordings]:
    part = recs.where(arm=arm)
    return Path(part[0].path), part


@pytest.mark.parametrize("name", ALL)
def test_the_task_is_done(task, name):
    folder, recs = _run(task, name)
    row = recs.runs.iloc[0]
    assert (row["result"], row["status"]) == ("answered", "complete"), last(folder, "output")
    assert row["eligible"]
    tools = recs.tools
    assert len(tools) >= 3
    assert set(tools["status"]) == {"completed"}
    told = [event for event in events(folder) if event["kind"] == "tool" and "content" in event]
    outputs = json.dumps([event["content"].get("output") for event in told])
    assert "colour = blue" in outputs
    reply = last(folder, "turn.reply")
    assert reply["content"]["text"].strip() == "Done: the colour is blue."


@pytest.mark.parametrize("name", ALL)
def test_each_request_is_metered_and_ends(task, name):
    _, recs = _run(task, name)
    requests = recs.requests
    main = requests[requests["chain"] == "main"]
    assert len(main) == 4
    assert set(requests["status"]) == {"ok"}
    assert requests["terminal_seen"].all()
    assert (main["input_total_tokens"] > 500).all()
    assert main["append_only"].iloc[1:].all()
    assert main["model"].unique().tolist() == [MODELS.get(name, "lab/scripted").partition("/")[2]]


@pytest.mark.parametrize("name", ALL)
def test_what_it_costs_is_recorded(task, name):
    folder, recs = _run(task, name)
    row = recs.runs.iloc[0]
    assert 0.05 < row["start_cpu_s"] < row["agent_cpu_s"] < 60
    assert row["first_request_ms"] > 50
    assert row["max_rss_bytes"] > 50 << 20
    assert row["exit_code"] == 0
    end = last(folder, "process.end")
    assert end["n_processes"] >= 1


@pytest.mark.parametrize("name", ALL)
def test_the_build_is_named(task, name):
    folder, _ = _run(task, name)
    identity = json.loads((folder / "run.json").read_text())["identity"]
    build = identity["settings"]["build"]
    assert identity["version"] == AGENTS[name].version
    assert build["entry"].startswith("<cache>/agents/")
    assert len(build["entry_sha256"]) == 64
    if AGENTS[name].runtime is not None:
        assert build["runtime_version"][0].isdigit()
        assert len(build["bundle_sha256"]) == 64


@pytest.mark.parametrize("name", ALL)
def test_what_it_counts_itself_fits_the_gateway(task, name):
    """Summed over the run, in the agent's own convention; a title request is not in its own report."""
    folder, recs = _run(task, name)
    main = recs.requests[recs.requests["chain"] == "main"]
    told = [event for event in events(folder) if event["kind"] == "usage" and "source" not in event]
    if not told:
        told = list({e["message"]: e for e in events(folder) if e["kind"] == "message"}.values())
    read = sum(event.get("cache_read_tokens", 0) for event in told)
    uncached = sum(event["input_uncached_tokens"] for event in told)
    assert read == main["cache_read_tokens"].sum()
    assert uncached + read == main["input_total_tokens"].sum()


@pytest.mark.parametrize("name", [name for name in ALL if AGENTS[name].takes_system])
def test_a_system_text_reaches_the_model(task, name):
    folder, _ = _run(task, name)
    bodies = [e["content"] for e in events(folder, "gateway.jsonl") if e["kind"] == "request.begin"]
    assert sum(SYSTEM in json.dumps(body) for body in bodies) >= 4


def test_the_auditor_agrees_with_their_own_counts(task):
    found = task.table("audit")
    told = found[found["source"] != "none"]
    assert set(told["arm"]) == set(ALL)
    others = {
        "opencode": "omits_requests",  # its title
        "gemini_cli": "omits_reasoning",  # in its report; its transcript holds it
    }
    for row in told.itertuples():
        assert row.finding in ("agrees", others.get(row.arm)), (row.arm, row.source, row.detail)


def test_nothing_of_an_agent_lives_on(task):
    """Its folder, which it told itself, stands in no environment of this machine any more."""
    for name in ALL:
        folder, _ = _run(task, name)
        told = [e["content"] for e in events(folder) if e["kind"] == "tool" and "content" in e]
        words = json.dumps(told).replace("\\n", " ").replace('"', " ").replace("\\", " ").split()
        scratch = {word.partition("/arm-")[0] for word in words if "/arm-" in word and "agentlab-" in word}
        assert scratch, name
        for place in scratch:
            assert not Path(place).exists()
            for process in psutil.process_iter():
                try:
                    assert place not in json.dumps(process.environ()), process
                except psutil.Error:
                    continue


@pytest.mark.parametrize("name", ALL)
def test_outward_look_ups_are_seen(task, name):
    folder, recs = _run(task, name)
    row = recs.runs.iloc[0]
    outward = last(folder, "outward")
    if not IS_ROOT:
        assert outward["network"] == "open"
        assert row["n_connections"] is not None
        return
    names = {event["name"] for event in events(folder) if event["kind"] == "lookup"}
    assert row["n_lookups"] >= len(names)
    expected = {"codex": "chatgpt.com", "cline": "data.cline.bot"}
    assert expected.get(name) is None or expected[name] in names


@pytest.mark.parametrize("name", RESUMING)
def test_a_session_goes_on_in_its_second_process(dialogue, name):
    folder, recs = _run(dialogue, name)
    assert recs.runs.iloc[0]["result"] == "answered", last(folder, "result")
    assert len([event for event in events(folder) if event["kind"] == "process.begin"]) == 2
    assert len(recs.sessions) == 1
    requests = recs.requests
    main = requests[requests["chain"] == "main"]
    assert main["turn"].tolist() == [1, 2]
    assert main["prefix_bytes"].iloc[1] > 0.8 * main["canonical_bytes"].iloc[0]
    reply = last(folder, "turn.reply")
    assert reply["text_chars"] == len("Thesecondanswer.")


@pytest.mark.parametrize("name", RESUMING)
def test_numbers_hold_no_text(dialogue, name):
    folder, _ = _run(dialogue, name)
    for file in folder.rglob("*"):
        assert not file.is_file() or SECRET not in file.read_text(errors="replace"), file.name


#: What an agent's own counts leave out, as far as is known of the pinned versions.
_LEAVES_OUT = {("opencode", "message"): "omits_requests", ("gemini_cli", "usage"): "omits_reasoning"}


@pytest.mark.parametrize("study", ["task", "dialogue"])
def test_the_agents_own_counts_read_rightly_are_the_gateways(study, request) -> None:
    """Messages, results and the files they leave: each source agrees with what crossed the wire."""
    found = audit(request.getfixturevalue(study))
    rows = {(row["arm"], row["source"]): row for _, row in found.iterrows()}
    known = {"agrees", *_LEAVES_OUT.values()}
    assert {key: row["finding"] for key, row in rows.items() if row["finding"] not in known} == {}
    assert {arm for arm, source in rows if source == "transcript"} == set(found["arm"]) - {"mini_swe_agent"}
    assert "cumulative" in rows["codex", "transcript"]["flags"]


def test_what_the_agents_leave_out_is_found(task) -> None:
    found = audit(task).set_index(["arm", "source"])["finding"]
    assert {key: found[key] for key in _LEAVES_OUT} == _LEAVES_OUT
