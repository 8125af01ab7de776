"""Options of `record webchat` and `check`: the original's flags, tables, files, exit codes."""

from __future__ import annotations

import argparse
import json
import types

import pytest

import agentlab as al
from agentlab import cli
from agentlab.cli.budgets import budget_table, verdict_table
from agentlab.cli.commands import make_parser
from agentlab.cli.webchat import PROMPT, budgets_of, webchat_arms
from agentlab.errors import ConfigError
from agentlab.reporting.webpages import page_readings
from agentlab.testing.webchat import SyntheticPage, write_webchat_study

SCRIPTED = ("--gateway-script", "stream")


def options_of(*arguments: str) -> argparse.Namespace:
    return make_parser().parse_args(["record", "webchat", *arguments])


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """A page, and one that is worse."""
    folder = tmp_path_factory.mktemp("page")
    pages = {"good": SyntheticPage(long_rate=0.05), "bad": SyntheticPage(long_rate=0.4)}
    return {
        name: write_webchat_study(folder / name, arms={"webchat": page}, runs=5, seed=seed)
        for seed, (name, page) in enumerate(pages.items())
    }


@pytest.fixture
def recorded(monkeypatch, studies):
    """What `record` was called with; it gives the synthetic runs of the worse page."""
    calls = []

    def record(scenario, arms, **options):
        calls.append({"scenario": scenario, "arms": arms, **options})
        return types.SimpleNamespace(result=lambda: al.load(studies["bad"]))

    monkeypatch.setattr("agentlab.engine.record", record)
    return calls


def refused(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        cli.main(["record", "webchat", *arguments])
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == "" and "usage: agentlab record webchat" in err
    return err.rpartition("agentlab record webchat: error: ")[2]


def test_the_originals_flags_become_settings(recorded, studies, tmp_path):
    line = (
        f"--page openchamber --url http://localhost:3000 --port 4100 --dir {tmp_path} --session ses_1 "
        "--keep-session --prompt Hello. --model a/b --agent build --settle 12 --timeout 60 --tail 3 "
        f"--label before --chrome /bin/c --profile-dir {tmp_path} --headed --sampling-interval 200 "
        "--preset original --runs 1"
    )
    assert cli.main(["record", "webchat", *line.split()]) == 0
    (call,) = recorded
    (driver,) = call["arms"].values()
    assert list(call["arms"]) == ["before"] and call["runs"] == 1 and call["gateway"] is None
    assert (driver.url, driver.model, driver.agent) == ("http://localhost:4100", "a/b", "build")
    assert (driver.session, driver.keep_session, str(driver.directory)) == ("ses_1", True, str(tmp_path))
    assert (driver.preset, driver.recorder.sampling_us, driver.headless) == ("original", 200, False)
    assert (str(driver.browser), str(driver.profile)) == ("/bin/c", str(tmp_path))
    scenario = call["scenario"]
    assert (list(scenario.turns), scenario.settle_s, scenario.tail_s) == (["Hello."], 12.0, 3.0)
    assert scenario.timeouts.prompt == 60 and scenario.require == ("text",)


def test_without_options_a_scripted_answer_is_enough(recorded):
    assert cli.main(["record", "webchat", *SCRIPTED]) == 0
    (call,) = recorded
    assert call["scenario"].turns == (PROMPT,) and call["scenario"].tail_s == 5.0
    driver = call["arms"]["webchat"]
    assert (driver.model, driver.preset, driver.url) == ("lab/scripted", "light", None)
    assert call["gateway"] is not None and call["memory"] is False and call["runs"] == 3


def test_several_presets_are_arms_and_memory_is_asked_for(recorded):
    assert cli.main(["record", "webchat", *SCRIPTED, "--preset", "light", "cpu", "--memory", "--typing"]) == 0
    (call,) = recorded
    assert {name: arm.preset for name, arm in call["arms"].items()} == {"light": "light", "cpu": "cpu"}
    assert call["memory"] is True and all(arm.typing for arm in call["arms"].values())
    assert list(webchat_arms(options_of(*SCRIPTED, "--preset", "off", "light", "--label", "a"))) == [
        "a-off",
        "a-light",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--model is missing"),
        (["--model", "lab/m"], "is answered by nobody"),
        (["--url", "http://h:1", *SCRIPTED], "exclude each other"),
        ([*SCRIPTED, "--port", "3"], "--port goes with --url"),
        ([*SCRIPTED, "--preset", "light", "cpu", "--sampling-interval", "500"], "one --preset"),
        ([*SCRIPTED, "--viewport", "big"], "WIDTHxHEIGHT"),
        ([*SCRIPTED, "--budget", "TBT=much"], "METRIC=NUMBER"),
        ([*SCRIPTED, "--budget", "TBT=nan"], "METRIC=NUMBER"),
        ([*SCRIPTED, "--budget", "TBTT=5"], "no metric 'TBTT'"),
        ([*SCRIPTED, "--budget-longest", "abc"], "give a number"),
        ([*SCRIPTED, "--sampling-interval", "7"], "--sampling-interval 7"),
        ([*SCRIPTED, "--session", "s"], "session"),
        (["--page", "openchamber", *SCRIPTED], "exclude each other"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_measured(recorded, capsys, arguments, message):
    assert message in refused(capsys, *arguments)
    assert recorded == []


def test_a_url_without_a_port_keeps_its_own_and_one_in_brackets_its_brackets():
    assert (
        webchat_arms(options_of("--url", "http://chat.local", "--model", "a/b"))["webchat"].url
        == "http://chat.local"
    )
    arms = webchat_arms(options_of("--url", "http://[::1]:5", "--port", "7", "--model", "a/b"))
    assert arms["webchat"].url == "http://[::1]:7"


def test_both_readings_stand_beside_each_other(studies):
    rows = page_readings(al.load(studies["good"]))
    assert rows[0] == ["metric", "unit", "webchat: page", "webchat: original"]
    named = {row[0]: row[2:] for row in rows[1:]}
    page = al.load(studies["good"]).table("page")
    assert list(named) == [metric.name for metric in al.metrics.PAGE_REPORT]
    assert float(named["longTaskCount"][0]) == pytest.approx(
        page["n_long_tasks"].astype(float).mean(), rel=0.01
    )
    assert float(named["blockedPercent"][0]) > 0.5  # in percent, as the original's
    assert named["heapGrowthMbPerSecond"][0] == "-"  # the page's own reading is another quantity


def test_a_budget_that_fails_is_exit_code_1(recorded, capsys):
    assert (
        cli.main(["record", "webchat", *SCRIPTED, "--budget-long-tasks", "1", "--budget", "heap-growth=1000"])
        == 1
    )
    out = capsys.readouterr().out
    assert "LONG_TASKS" in out and "FAIL" in out and "HEAP_GROWTH" in out and "pass" in out
    assert (
        cli.main(["record", "webchat", *SCRIPTED, "--budget-long-tasks", "1000", "--budget-longest", "1"])
        == 1
    )
    assert cli.main(["record", "webchat", *SCRIPTED, "--budget-long-tasks", "1000"]) == 0


def test_the_last_budget_of_a_metric_wins():
    options = options_of(
        *SCRIPTED, "--budget", "LONG_TASKS=3", "--budget", "tbt=4", "--budget-long-tasks", "5"
    )
    assert budgets_of(options) == {"LONG_TASKS": 5.0, "TBT": 4.0}


def test_a_baseline_says_worse_and_the_originals_reading_beside(recorded, studies, capsys):
    assert cli.main(["record", "webchat", *SCRIPTED, "--baseline", str(studies["good"])]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("LONG_TASKS")]
    assert len(rows) == 1 and " worse " in rows[0] and rows[0].endswith("WORSE")


def test_the_originals_files_are_written_and_serve_as_a_baseline(recorded, studies, tmp_path, capsys):
    assert cli.main(["record", "webchat", *SCRIPTED, "--output", str(tmp_path / "out")]) == 0
    folders = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert folders == [f"{n:04d}-webchat" for n in range(5)]
    old = tmp_path / "out" / folders[0]
    assert cli.main(["record", "webchat", *SCRIPTED, "--baseline", str(old)]) == 0
    out = capsys.readouterr().out
    assert "longTaskCount (tasks)" in out and "unknown" in out  # one run shows no noise
    assert "is there already" in refused(capsys, *SCRIPTED, "--output", str(old))


def test_json_has_everything(recorded, studies, capsys):
    line = [*SCRIPTED, "--json", "--budget-long-tasks", "1", "--baseline", str(studies["good"])]
    assert cli.main(["record", "webchat", *line]) == 1
    told = json.loads(capsys.readouterr().out)
    assert len(told["summaries"]) == 5 and told["coverage"][0]["n_used"] == 5
    assert told["budgets"][0]["status"] == "fail"
    assert {row["metric"] for row in told["verdicts"]} >= {"LONG_TASKS", "longTaskCount"}


def test_check_on_its_own(studies, capsys):
    good, bad = (str(studies[name]) for name in ("good", "bad"))
    assert cli.main(["check", good, "--budget", "LONG_TASKS=10"]) == 0
    assert cli.main(["check", bad, "--budget", "LONG_TASKS=10"]) == 1
    assert cli.main(["check", bad, "--baseline", good, "--metric", "tbt"]) == 0
    out = capsys.readouterr().out
    assert "FAIL" in out and "TBT (ms)" in out and "worse" in out
    for line in (["check", good], ["check", good, "--budget", "TBT=1", "--metric", "TBT"]):
        with pytest.raises(SystemExit):
            cli.main(line)


def test_of_a_baseline_with_several_arms_one_is_chosen(capsys):
    cache = str(al.example("cache"))
    against = ["check", cache, "--metric", "ttft", "--baseline", cache]
    assert cli.main(against) == 2
    err = capsys.readouterr().err
    assert "has volatile, stable; choose one with --baseline-arm" in err
    assert cli.main([*against, "--baseline-arm", "stable"]) == 0
    assert "volatile" in capsys.readouterr().out
    assert cli.main([*against, "--baseline-arm", "stabil"]) == 2
    assert "--baseline-arm 'stabil': " in capsys.readouterr().err
    assert cli.main(["check", cache, "--budget", "TTFT=1", "--baseline-arm", "stable"]) == 2
    assert "goes with --baseline STUDY" in capsys.readouterr().err


def test_what_has_no_number_is_no_pass(studies, capsys):
    assert cli.main(["check", str(studies["good"]), "--budget", "INP=200"]) == 1
    assert "unknown: " in capsys.readouterr().out


def test_tables_of_nothing_have_a_head():
    from agentlab.testing.estimates import estimates_frame

    frame = estimates_frame(arms=["a"])
    assert verdict_table(al.verdicts(frame)).startswith("metric")
    assert budget_table(al.check(frame, {"TTFT": 500})).count("\n") == 1
    with pytest.raises(ConfigError):
        al.check(frame, {})


def test_the_originals_fourteen_rows_have_one_name(studies, capsys):
    assert cli.main(["compare", str(studies["good"]), "--metric", "page-report"]) == 0
    out = capsys.readouterr().out
    assert "long tasks of all threads" in out and "largest heap" in out
