import pytest

from agentlab.errors import ConfigError
from agentlab.instruments.memory import MemorySampler
from agentlab.instruments.memory.cost import Cost
from agentlab.instruments.memory.pace import Pace


def test_cheap_sweeps_come_as_often_as_wanted():
    pace = Pace(slow_s=0.5, fast_s=0.05, duty=0.05)
    pace.done("slow", began=0.0, cpu_s=0.001)
    lanes = []
    for _ in range(21):
        lane, due = pace.next()
        lanes.append((lane, round(due, 6)))
        pace.done(lane, began=due, cpu_s=0.0001)
    assert [due for lane, due in lanes if lane == "slow"] == [0.5, 1.0]
    assert [due for lane, due in lanes][:11] == [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55]


def test_dear_sweeps_wait_until_they_are_paid_for():
    """Ten sessions of opencode: 0.2 s of CPU in a sweep; a fifth of the share is the fast lane's."""
    pace = Pace(slow_s=0.5, fast_s=0.05, duty=0.05)
    pace.done("slow", began=0.0, cpu_s=0.2)
    assert pace.due("slow") == pytest.approx(5.0)


def test_an_empty_look_is_repeated_soon_in_both_lanes():
    pace = Pace(slow_s=5, fast_s=0.05, duty=0.05)
    pace.idle(began=1.0)
    assert pace.next() == ("slow", 1.05)


def test_cost_says_what_came_about():
    cost = Cost()
    cost.began, cost.ended = 10.0, 20.0
    for began, spent in ((10.0, 0.1), (12.0, 0.3), (14.0, 0.2)):
        cost.add("slow", spent, began=began, counted=True)
    cost.add("fast", 0.4, began=15.0, counted=False)
    assert cost.told() == {
        "n_slow": 3,
        "n_fast": 0,
        "wall_s": 10.0,
        "cpu_s": 1.0,
        "duty": 0.1,
        "slow_period_s": 2.0,
        "slow_p50_ms": 200.0,
        "slow_max_ms": 300.0,
    }


@pytest.mark.parametrize("wrong", [{"duty": 0}, {"duty": 2}, {"fast_s": 0}, {"slow_s": 0.01}])
def test_periods_and_duty_are_checked(wrong):
    with pytest.raises(ConfigError, match="0 < fast_s <= slow_s"):
        MemorySampler(print, list, **wrong)
