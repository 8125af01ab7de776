"""What record() refuses before anything is started."""

import pytest

import agentlab as al
from agentlab.testing.drivers import Toy

HELLO = al.Scenario("hello", turns=["hi"])


@pytest.mark.parametrize(
    ("arms", "said"),
    [
        ({}, "give a driver, or {name: driver}"),
        ([Toy()], "name each driver"),
        ({"a": Toy(), " ": Toy()}, "an arm has the name ' '"),
        ({3: Toy()}, "an arm has the name 3"),
    ],
)
def test_what_is_wrong_with_the_arms_is_named(arms, said, tmp_path):
    with pytest.raises(al.ConfigError, match=said):
        al.record(HELLO, arms, runs=1, to=tmp_path / "s")
    assert not (tmp_path / "s").exists()
