"""One execution at a time."""

import asyncio

import pytest

from agentlab.drivers.exec import Execution, ExecutionControl
from agentlab.errors import DriverError


async def still_waits(work: object) -> bool:
    task = asyncio.ensure_future(work)  # pyright: ignore[reportArgumentType]
    for _ in range(3):
        await asyncio.sleep(0)
    waits = not task.done()
    task.cancel()
    return waits


async def test_one_is_active_and_a_second_refused():
    control = ExecutionControl()
    first, second = control.admit(), control.admit()
    assert (first.refused, second.refused, control.active) == (None, "active", first)
    with pytest.raises(DriverError, match="another execution is active") as caught, second:
        pass
    assert caught.value.code == "execution_refused"
    first.finish()
    assert control.active is None
    assert control.admit().refused is None


async def test_a_refused_one_has_nothing_to_wait_for_and_is_not_cancelled():
    control = ExecutionControl()
    first, second = control.admit(), control.admit()
    await second.when_idle()
    second.cancel()
    control.cancel()
    assert (first.cancelled, second.cancelled) == (True, False)
    second.finish()
    assert control.active is first


async def test_finishing_twice_does_not_end_the_next():
    control = ExecutionControl()
    first = control.admit()
    first.finish()
    second = control.admit()
    first.finish()
    assert control.active is second
    first.cancel()
    assert (first.cancelled, second.cancelled) == (False, False)


async def test_idle_comes_after_the_clean_up():
    control = ExecutionControl()
    await control.when_idle()
    with control.admit() as execution:
        control.cancel()
        assert execution.cancelled
        assert await still_waits(control.when_idle())
        assert await still_waits(execution.when_idle())
    await control.when_idle()
    await execution.when_idle()


async def test_the_parent_cancels_what_is_below_it():
    parent = ExecutionControl().admit()
    control = ExecutionControl(parent)
    child = control.admit()
    grandchild = ExecutionControl(child).admit()
    parent.cancel()
    assert child.cancelled and grandchild.cancelled
    child.finish()
    late = control.admit()
    assert late.refused == "cancelled"
    with pytest.raises(DriverError, match="its parent was cancelled"), late:
        pass


async def test_a_child_does_not_cancel_its_parent():
    parent = ExecutionControl().admit()
    child = ExecutionControl(parent).admit()
    child.cancel()
    assert not parent.cancelled


async def test_a_guarded_wait_ends_with_the_cancellation():
    execution = ExecutionControl().admit()
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    waiting = asyncio.create_task(execution.guard(work()))
    await asyncio.sleep(0)
    execution.cancel()
    assert await waiting is False
    await asyncio.sleep(0)
    assert ended == ["cancelled"]


async def test_a_guarded_wait_passes_ends_and_errors_on():
    async def fail() -> None:
        raise ValueError("no")

    execution: Execution = ExecutionControl().admit()
    assert await execution.guard(asyncio.sleep(0)) is True
    with pytest.raises(ValueError, match="no"):
        await execution.guard(fail())
