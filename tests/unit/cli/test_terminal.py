"""Options of `record terminal`: the original's flags into arms, and the table and file at the end."""

from __future__ import annotations

import argparse
import json
import types

import pytest

import agentlab as al
from agentlab import cli
from agentlab.cli.commands import make_parser
from agentlab.cli.terminal import terminal_arms
from agentlab.cli.terminal_watch import rewritten
from agentlab.cli.text_table import text_table
from agentlab.errors import ConfigError, StartupError
from agentlab.reporting.terminals import rows_by_sessions, said_of_sessions
from agentlab.testing.memory import SyntheticTool, write_memory_study

TOOLS = {
    "codex": SyntheticTool(anon_mib=26, file_mib=85, daemon_mib=90, pressed_rate=0.25, spread=0.02),
    "pi": SyntheticTool(anon_mib=68, file_mib=48),
}


def options_of(*arguments: str) -> argparse.Namespace:
    return make_parser().parse_args(["record", "terminal", *arguments])


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """All tools but aider are installed."""

    def identify(driver):
        if driver.agent == "aider":
            raise StartupError("aider is not installed: agentlab install aider", driver="terminal")

    monkeypatch.setattr("agentlab.drivers.terminal.Terminal.identify", identify)


@pytest.fixture
def study(tmp_path):
    return write_memory_study(tmp_path / "s", arms=TOOLS, runs=4, sessions=(1, 4), seed=3)


@pytest.fixture
def recorded(monkeypatch, study):
    """What `record` was called with; it gives synthetic runs."""
    calls = []

    def record(scenario, arms, **options):
        calls.append({"scenario": scenario, "arms": arms, **options})
        return types.SimpleNamespace(result=lambda: al.load(study))

    monkeypatch.setattr("agentlab.engine.record", record)
    return calls


def refused(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        cli.main(["record", "terminal", *arguments])
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == "" and "usage: agentlab record terminal" in err
    return err.rpartition("agentlab record terminal: error: ")[2]


def test_the_originals_flags_become_settings(recorded, tmp_path):
    line = (
        "--tools codex pi --sessions 1 4 10 --reps 2 --timeout 20 --settle 3 --hold 5 --max-psi 2.5 "
        "--quiet-wait 900 --max-attempts 4"
    )
    assert cli.main(["record", "terminal", *line.split(), "--to", str(tmp_path / "out")]) == 0
    (call,) = recorded
    assert list(call["arms"]) == ["codex", "pi"]
    arm = call["arms"]["pi"]
    assert (arm.sessions, arm.settle, arm.hold_s, arm.home, arm.daemon) == (
        (1, 4, 10), 3.0, 5.0, "cold", "shared",
    )  # fmt: skip
    assert call["scenario"].timeouts.start == 20 and call["scenario"].turns == ()
    assert call["runs"] == 2
    quiet = call["quiet"]
    assert (quiet.memory_some_avg10, quiet.wait_s, quiet.attempts) == (2.5, 900, 4)


def test_without_options_there_are_intervals_and_a_plateau(recorded):
    options = options_of()
    arms = terminal_arms(options)
    assert list(arms) == ["codex", "opencode", "pi", "claude_code"]
    assert arms["codex"].settle == "plateau" and arms["codex"].sessions == (1, 4)
    assert options.runs == 3 and options.max_attempts == 3 and options.order == "interleaved"


def test_an_unknown_or_missing_tool_is_said_and_the_others_are_measured(capsys):
    arms = terminal_arms(options_of("codxe", "claude-code", "aider", "droid", "pi", "pi"))
    assert list(arms) == ["claude_code", "pi"]
    said = capsys.readouterr().err
    assert "codxe is left out" in said and "agentlab install aider" in said and "droid is left out" in said


def test_when_no_tool_is_left_the_usage_says_so(capsys):
    assert "none of these tools" in refused(capsys, "codxe", "aider")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pi", "--sessions", "0"], "whole number from 1"),
        (["pi", "--sessions", "2", "2"], "sessions"),
        (["pi", "--settle", "soon"], "plateau"),
        (["pi", "--hold", "-1"], "--hold -1.0"),
        (["pi", "--timeout", "0"], "--start 0.0"),
        (["pi", "--start", "nan"], "--start nan"),
        (["pi", "--max-psi", "-1"], "--max-psi -1.0"),
        (["pi", "--home", "hot"], "invalid choice"),
    ],
)
def test_wrong_values_are_usage_faults_by_name(capsys, arguments, said):
    assert said in refused(capsys, *arguments)


def test_the_file_may_not_be_something_else(capsys, tmp_path):
    (tmp_path / "notes.json").write_text("{}")
    assert "no file of this format" in refused(capsys, "pi", "--json-out", str(tmp_path / "notes.json"))


@pytest.mark.parametrize("place", ["missing/bench.json", "file/bench.json"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(capsys, tmp_path, recorded, place):
    (tmp_path / "file").write_text("")
    assert "cannot be written" in refused(capsys, "pi", "--json-out", str(tmp_path / place))
    assert recorded == []


def test_the_table_has_a_row_a_tool_and_number_and_what_a_session_costs(study):
    recs = al.load(study)
    lines = text_table(rows_by_sessions(recs)).splitlines()
    assert lines[0].split()[:4] == ["arm", "sessions", "runs", "total"]
    cells = [line.split() for line in lines[1:5]]
    assert [row[:2] for row in cells] == [["codex", "1"], ["codex", "4"], ["pi", "1"], ["pi", "4"]]
    one = al.compare(recs.where(n_sessions=4), "PSS_TOTAL").query("arm == 'pi' and kind == 'level'")
    assert cells[3][5] == f"{one['estimate'].iloc[0]:,.0f}"
    lines = said_of_sessions(recs)
    assert any(line.startswith("pi: each added session") and "MiB [" in line for line in lines)
    assert any("with runs under memory pressure: codex" in line for line in lines)


def test_one_number_of_sessions_is_compared_with_where(study, capsys):
    line = ["compare", str(study), "--metric", "FIRST_INPUT"]
    assert cli.main(line) == 0
    assert "select with --where n_sessions=..." in capsys.readouterr().out
    assert cli.main([*line, "--where", "n_sessions=4", "--where", "arm=pi"]) == 0
    out = capsys.readouterr().out
    expected = al.compare(al.load(study).where(n_sessions=4, arm="pi"), "FIRST_INPUT")["estimate"].iloc[0]
    assert f"{expected:,.0f} ms" in out and "codex" not in out


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("n_sessions=3", "no run has this; there are 1, 4"),
        ("n_sessions", "write COLUMN=VALUE"),
        ("sessions=1", "runs has no column sessions"),
    ],
)
def test_a_condition_that_chooses_nothing_is_a_usage_fault(study, capsys, condition, said):
    assert cli.main(["compare", str(study), "--where", condition]) == 2
    assert said in capsys.readouterr().err


def test_the_file_is_written_while_runs_end_and_after_the_last(study, tmp_path):
    file = tmp_path / "bench.json"
    with rewritten(file, study):
        pass
    assert len(json.loads(file.read_text())["runs"]) == 16
    with rewritten(tmp_path / "none.json", tmp_path / "nothing-was-recorded"):
        pass
    assert not (tmp_path / "none.json").exists()


def test_nothing_eligible_has_its_exit_code(monkeypatch, tmp_path):
    never = write_memory_study(
        tmp_path / "n", arms={"pi": SyntheticTool(never_ready_rate=1.0)}, runs=1, sessions=(1,)
    )
    result = types.SimpleNamespace(result=lambda: al.load(never))
    monkeypatch.setattr("agentlab.engine.record", lambda *_, **__: result)
    assert cli.main(["record", "terminal", "pi", "--to", str(tmp_path / "out")]) == 3


def test_what_cannot_be_measured_raises_no_error_of_its_own():
    with pytest.raises(ConfigError):
        terminal_arms(options_of("nobody"))


def test_names_of_tools_are_completed():
    from agentlab.cli.terminal import _names

    assert _names("co") == ["codex", "copilot", "continue_cli"]
