"""Options of `record exec`: scenarios and rules into arms, and the table at the end."""

from __future__ import annotations

import pytest

import agentlab as al
from agentlab.cli import main
from agentlab.cli.exec_table import exec_table
from agentlab.testing.recordings import SyntheticStudy


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """What would be recorded; nothing is."""
    asked = {}

    def record(scenario, arms, **more):
        asked.update(scenario=scenario, arms=arms, **more)
        raise al.ConfigError("not here")

    monkeypatch.setattr("agentlab.engine.record", record)
    return asked


def test_both_rules_and_all_scenarios_are_the_default(recorded):
    assert main(["record", "exec"]) == 2
    assert {name: arm.rules for name, arm in recorded["arms"].items()} == {
        "ours": "ours",
        "original": "original",
    }
    assert len(recorded["arms"]["ours"].scenarios()) > 20
    assert (recorded["scenario"].turns, recorded["runs"]) == ((), 10)


def test_what_is_named_is_played(recorded):
    main(
        [
            "record",
            "exec",
            "long-line",
            "interrupt",
            "--rules",
            "ours",
            "ours",
            "--together",
            "2",
            "--runs",
            "3",
        ]
    )
    assert recorded["arms"] == {"ours": al.Exec(["long-line", "interrupt"], together=2)}
    main(["record", "exec", "--pipes", "--rules", "original"])
    assert {one.tty for one in recorded["arms"]["original"].scenarios().values()} == {False}
    main(["record", "exec", "--tty"])
    assert {one.tty for one in recorded["arms"]["ours"].scenarios().values()} == {True}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["interupt"], "Did you mean 'interrupt'?"),
        (["--rules", "theirs"], "invalid choice: 'theirs'"),
        (["--tty", "--pipes"], "not allowed with argument"),
        (["--together", "0"], "whole number from 1"),
        (["--together", "17"], "from 1 to 16"),
        (["--file", "no/such.json"], "no/such.json"),
    ],
)
def test_a_slip_is_named_before_anything_runs(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["record", "exec", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_the_scenarios_are_listed(capsys):
    assert main(["record", "exec", "--list", "--pipes"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert "interrupt-pipe" in lines
    assert "interrupt" not in lines
    assert all(lines.values())


def test_the_table_holds_levels_and_nothing_for_what_is_not_known(tmp_path):
    study = SyntheticStudy(tmp_path / "study", arms=("ours", "original"))
    for arm, late in (("ours", 3), ("original", 103)):
        with study.run(arm) as run:
            run.emit(
                "exec.call", at_ms=100 + late, exec="e1", scenario="x", call=1, op="start", state="exited",
                begin_ns=run.ns(1), n_bytes=0, ended_ns=run.ns(100),
            )  # fmt: skip
            run.emit(
                "exec.close", at_ms=300, exec="e1", scenario="x", call=2, begin_ns=run.ns(299),
                lost_bytes=late, survivors=0, typed_bytes=0,
            )  # fmt: skip
    lines = [line.split() for line in exec_table(al.load(study.path), ["x", "y"]).splitlines()]
    assert lines[0] == ["scenario", "report", "ms", "lost", "bytes", "unread", "input", "survivors"]
    assert lines[1] == ["ours", "original"] * 4
    assert lines[2] == ["x", "3.0", "103.0", "3", "103", "-", "-", "0", "0"]
    assert lines[3] == ["y", *["-"] * 8]
