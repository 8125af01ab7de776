"""When the machine is quiet enough, and when memory was too short to be believed."""

import pytest

from agentlab.engine.waiting import Quiet
from agentlab.errors import ConfigError
from agentlab.wire.pressure import Pressure


@pytest.mark.parametrize(
    ("before", "after", "pressed"),
    [
        (0.0, 0.0, False),
        (0.0, 1.1, True),
        (1.1, 0.0, True),
        (1.0, 1.0, False),
        (None, 2.0, True),
        (None, 0.0, None),
    ],
)
def test_memory_is_judged_before_and_after(before, after, pressed):
    samples = [Pressure(memory_some_avg10=share) for share in (before, after)]
    assert Quiet().memory_pressed(*samples) is pressed


@pytest.mark.parametrize(
    "wrong", [{"attempts": 0}, {"attempts": 1.5}, {"attempts": True}, {"wait_s": -1}, {"cpu_some_avg10": "5"}]
)
def test_wrong_limits_are_refused(wrong):
    with pytest.raises(ConfigError, match=f"Quiet\\({next(iter(wrong))}="):
        Quiet(**wrong)
