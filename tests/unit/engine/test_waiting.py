"""When the machine is quiet enough, and when memory was too short to be believed."""

import pytest

from agentlab.engine import waiting
from agentlab.engine.waiting import Quiet, wait_quiet
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


async def test_what_is_above_its_limit_is_told_while_it_is_waited_for(monkeypatch):
    samples = [
        Pressure(cpu_some_avg10=81.25, memory_some_avg10=0.5),
        Pressure(cpu_some_avg10=81.25, memory_some_avg10=2.5),
        Pressure(cpu_some_avg10=3.0, memory_some_avg10=0.0),
    ]
    told, slept = [], []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(waiting, "read_pressure", lambda: samples.pop(0))
    monkeypatch.setattr(waiting.asyncio, "sleep", sleep)
    assert (await wait_quiet(Quiet(), told.append))["quiet"] is True
    cpu, memory = "CPU pressure 81.2 %, limit 25 %", "memory pressure 2.5 %, limit 1 %"
    assert told == [cpu, f"{cpu}, {memory}"] and len(slept) == 2
