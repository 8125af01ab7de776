"""Options of `record agents`: names and arms into drivers, what they ask, and the table at the end."""

from __future__ import annotations

import argparse
import types

import pytest

import agentlab as al
from agentlab import cli
from agentlab.agents.catalogue import AGENTS
from agentlab.cli.agents_arms import NAMES, agent_arms, shipped_workspace
from agentlab.cli.agents_table import agents_table
from agentlab.cli.commands import make_parser
from agentlab.cli.scenarios import CACHE_PROBE, TASK
from agentlab.errors import ConfigError

SCRIPTED = ["--gateway-script", "task"]


def options_of(*arguments: str) -> argparse.Namespace:
    return make_parser().parse_args(["record", "agents", *arguments])


def arms_of(*arguments: str, scenario: al.Scenario = TASK):
    return agent_arms(options_of(*arguments), scenario)


@pytest.fixture
def recorded(monkeypatch):
    """What `record` was called with; it gives the shipped runs."""
    calls = []
    recordings = al.load(al.example("cache"))

    def record(scenario, arms, **options):
        calls.append({"scenario": scenario, "arms": arms, **options})
        return types.SimpleNamespace(result=lambda: recordings)

    monkeypatch.setattr("agentlab.engine.record", record)
    return calls


def refused(capsys, *arguments: str) -> str:
    """The message of a usage fault: exit 2, usage first, on stderr."""
    with pytest.raises(SystemExit) as caught:
        cli.main(["record", "agents", *arguments])
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("usage: agentlab record agents")
    return err.rpartition("agentlab record agents: error: ")[2]


def test_the_names_are_those_of_the_catalogue():
    assert NAMES[: len(AGENTS)] == tuple(AGENTS)


def test_without_a_name_all_agents_and_both_reference_arms_are_compared():
    arms = arms_of(*SCRIPTED)
    assert list(arms) == [*AGENTS, "reference", "windowed"]
    assert {arm.workspace for arm in arms.values()} == {shipped_workspace()}
    assert arms["windowed"].window_tokens == 1500
    assert arms["reference"].policy == "continuous"
    models = {name: arm.model for name, arm in arms.items()}
    assert models.pop("claude_code") == "lab/claude-sonnet-4-5"
    assert models.pop("gemini_cli") == "lab/gemini-2.5-pro"
    assert set(models.values()) == {"lab/scripted"}


def test_the_shipped_folder_is_what_the_script_is_about():
    edit = al.ScriptedModel.load("task").steps[1].actions[0]
    assert edit["old"] in (shipped_workspace() / edit["path"]).read_text()
    assert (shipped_workspace() / "data.csv").is_file()
    assert edit["path"] in TASK.turns[0]


def test_named_agents_and_arms_of_ones_own_are_the_arms():
    arms = arms_of(
        "claude-code", "opencode_server", *SCRIPTED, "--model", "lab/x",
        "--arm", "bare", "agent=claude-code", 'flags=["--bare"]', "model=lab/y",
        "--arm", "small", "agent=windowed", "dialect=messages",
        "--network", "loopback", "--window-tokens", "800",
    )  # fmt: skip
    assert list(arms) == ["claude_code", "opencode_server", "bare", "small"]
    assert (arms["bare"].agent, arms["bare"].flags, arms["bare"].model) == (
        "claude_code",
        ("--bare",),
        "lab/y",
    )
    assert (arms["claude_code"].model, arms["claude_code"].network) == ("lab/x", "loopback")
    assert isinstance(arms["opencode_server"], al.OpenCode)
    assert (arms["small"].window_tokens, arms["small"].dialect) == (800, "messages")


def test_an_arm_alone_asks_for_no_other():
    assert list(arms_of(*SCRIPTED, "--arm", "pi")) == ["pi"]


def test_a_workspace_goes_before_the_shipped_one_which_is_the_tasks_only(tmp_path):
    assert arms_of("pi", *SCRIPTED, "--workspace", str(tmp_path))["pi"].workspace == tmp_path
    assert arms_of("pi", *SCRIPTED, scenario=CACHE_PROBE)["pi"].workspace is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["codecs"], "there is no agent 'codecs'; there are pi, .*mean 'codex'"),
        (["pi", "--arm", "pi", "dialect=messages"], "pi is given twice"),
        (
            ["--arm", "bare", "agent=codex", "pi"],
            "takes all words behind it; write pi before the first --arm",
        ),
        (["--arm", "agent=pi"], "a name comes first"),
        (["--arm", "mine", "agent=pi", "flagz=1"], "'flagz'.*pi knows model, version, flags"),
        (["--arm", "mine", "agent=pi", "network"], "write KEY=VALUE"),
        (["--arm", "mine", "agent=reference", "flags=[]"], "reference knows model, policy"),
        (["--arm", "mine", "agent=pi", "flags=[1"], "not JSON"),
    ],
)
def test_what_is_no_arm_is_said(arguments, message):
    with pytest.raises(ConfigError, match=message):
        arms_of(*arguments, *SCRIPTED)


def test_without_a_gateway_there_is_no_model(capsys):
    assert refused(capsys, "pi").startswith(
        "these agents have no model without a gateway: add --gateway-script task"
    )
    assert refused(capsys, "pi", "--gateway", "https://example.com/v1").startswith("--model is missing")
    assert "exclude each other" in refused(capsys, "pi", *SCRIPTED, "--gateway", "https://example.com/v1")


def test_the_study_is_recorded_behind_one_gateway(recorded, capsys):
    assert cli.main(["record", "agents", "pi", "reference", *SCRIPTED, "--price", "3,15,0.3",
                     "--budget-usd", "2", "--runs", "4", "--seed", "1", "--to", "s"]) == 0  # fmt: skip
    (call,) = recorded
    assert call["scenario"] == TASK
    assert list(call["arms"]) == ["pi", "reference"]
    assert (call["runs"], call["seed"], str(call["to"])) == (4, 1, "s")
    gateway = call["gateway"]
    assert (gateway.price, gateway.max_requests) == (al.Price(3, 15, "0.3", source="command line"), 100)
    assert format(gateway.budget, "f") == "2"
    assert "start CPU s" in capsys.readouterr().out


def test_all_agents_that_are_not_installed_are_named_at_once(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    assert cli.main(["record", "agents", *SCRIPTED]) == 1
    said = capsys.readouterr().err
    assert f"{len(AGENTS)} agents are not installed. Run: agentlab install pi && " in said
    assert all(f"agentlab install {name}" in said for name in AGENTS)
    assert cli.main(["record", "agents", "pi", "reference", *SCRIPTED]) == 1
    assert " is not installed. Run: agentlab install pi" in capsys.readouterr().err
    assert not (tmp_path / "studies").exists()


def test_prompts_of_ones_own_and_a_cap_are_taken(recorded):
    arguments = ["pi", "--turn", "Say ok.", "--max-requests", "7", *SCRIPTED]
    assert cli.main(["record", "agents", *arguments]) == 0
    assert recorded[0]["scenario"].turns == ("Say ok.",)
    assert recorded[0]["gateway"].max_requests == 7


def test_the_table_says_what_is_known_and_nothing_for_what_is_not():
    recs = al.load(al.example("cache"))
    head, *rows = [line.split("  ") for line in agents_table(recs).splitlines()]
    assert [len({len(line) for line in agents_table(recs).splitlines()}), len(rows)] == [1, 2]
    cells = {row[0].strip(): [cell.strip() for cell in row if cell.strip()] for row in rows}
    columns = [cell.strip() for cell in head if cell.strip()]
    stable = dict(zip(columns, cells["stable"], strict=True))
    sent = recs.requests.query("arm == 'stable' and eligible and counted")
    n = sent["run_id"].nunique()
    assert stable["runs"] == f"{n} of {len(recs.where(arm='stable'))}"
    assert stable["requests"] == f"{len(sent) / n:.1f}"
    assert stable["kB sent"] == f"{sent['body_bytes'].sum() / n / 1000:.1f}"
    main = sent[(sent["chain"] == "main") & ~sent["chain_start"]]
    share = 100 * main["prefix_bytes"].sum() / main["canonical_bytes"].sum()
    assert stable["prefix %"] == f"{share:.1f}"
    assert (stable["start CPU s"], stable["USD"]) == ("-", "-")
