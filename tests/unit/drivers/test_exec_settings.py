"""What Exec takes, and what its scenario file may say."""

from __future__ import annotations

import json

import pytest

from agentlab.drivers.exec.driver import Exec
from agentlab.drivers.exec.scenarios import Call, exec_scenarios
from agentlab.engine.codec import decode, encode
from agentlab.errors import ConfigError


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"names": "interrupt"}, r"give a list of scenarios"),
        ({"names": ["interupt"]}, r"there is no scenario 'interupt'; .*Did you mean 'interrupt'"),
        ({"rules": "theirs"}, r"write 'ours' or 'original'"),
        ({"tty": "yes"}, r"write True or False"),
        ({"together": 17}, r"from 1 to 16"),
        ({"together": True}, r"from 1 to 16"),
        ({"names": ["interrupt"], "tty": False}, r"no scenario is left"),
        ({"file": "no/such.json"}, r"no/such\.json: No such file"),
    ],
)
def test_wrong_settings_are_named(settings, said):
    with pytest.raises(ConfigError, match=said):
        Exec(**settings)


def test_the_shipped_file_holds_what_breaks_exec_sessions():
    scenarios = exec_scenarios()
    assert {one.tty for one in scenarios.values()} == {True, False}
    for one in scenarios.values():
        assert one.about.endswith(".")
        assert one.want["state"] in ("exited", "already_exited")
    assert set(exec_scenarios(tty=False)) | set(exec_scenarios(tty=True)) == set(scenarios)


def test_names_are_played_in_the_files_order():
    assert list(Exec(["no-newline", "interrupt"]).scenarios()) == ["interrupt", "no-newline"]


def test_arms_are_told_apart_by_what_is_played():
    one, other = Exec(["interrupt"]).identify(), Exec(["no-newline"]).identify()
    assert one.settings["scenarios_digest"] != other.settings["scenarios_digest"]
    assert one.settings["rules"] == "ours"


def test_settings_reach_the_measuring_process():
    driver = Exec(["interrupt"], rules="original", together=2)
    assert decode(json.loads(json.dumps(encode(driver)))) == driver


def _file(tmp_path, *scenarios):
    path = tmp_path / "own.json"
    path.write_text(json.dumps({"format": 1, "scenarios": scenarios}))
    return path


def test_a_file_of_ones_own(tmp_path):
    own = {"name": "mine", "command": "true", "calls": [{"op": "start"}]}
    assert list(Exec(file=_file(tmp_path, own)).scenarios()) == ["mine"]
    for wrong, said in (
        ([own, own], "two scenarios of one name"),
        ([{**own, "calls": [{"op": "poll"}]}], "one start, first"),
        ([{**own, "calls": [{"op": "start"}, {"op": "start"}]}], "one start, first"),
        ([{**own, "calls": [{"op": "go"}]}], "op 'go'"),
        ([{**own, "calls": [{"op": "start", "yield_s": 31}]}], "0.1 to 30"),
        ([{**own, "colour": "red"}], "scenario 'mine': .*'colour'"),
        ([{"name": "mine", "command": "true"}], "scenario 'mine': 'calls' is missing"),
        ([{**own, "command": 5}], "scenario 'mine': the command is 5"),
        ([{**own, "tty": "no"}], "tty 'no'"),
        ([{**own, "timeout_s": -1}], "timeout_s=-1"),
        ([{**own, "want": {"exti_code": 0}}], "want 'exti_code'"),
        *(
            ([{**own, "calls": [{"op": "start"}, {"op": "write", name: value}]}], f"scenario 'mine': {name}")
            for name, value in {
                "until": "over",
                "text": 5,
                "times": "3",
                "s": -1,
                "number": 9999,
                "yield_s": "2",
            }.items()
        ),
        (["mine"], "not a file of exec scenarios"),
    ):
        with pytest.raises(ConfigError, match=f"own.json: .*{said}"):
            exec_scenarios(file=_file(tmp_path, *wrong))


def test_what_a_write_types():
    assert Call(op="write", text="ab", times=3, end="\n").typed == "ababab\n"
