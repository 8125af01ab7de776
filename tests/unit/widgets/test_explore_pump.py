from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from agentlab.widgets.explore.pump import APART_S, PAUSE_S, REST_S, Pump


class FakeLoop:
    """A loop whose time passes when told to; it cannot show what threads do to a real one."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, int, Timer]] = []
        self.soon: list[Callable[[], object]] = []

    def call_soon_threadsafe(self, callback: Callable[..., object]) -> None:
        self.soon.append(callback)

    def call_later(self, delay: float, callback: Callable[..., object]) -> Timer:
        timer = Timer(callback)
        heapq.heappush(self.timers, (self.now + delay, len(self.timers) + id(timer), timer))
        return timer

    def time(self) -> float:
        return self.now

    def run(self, seconds: float = 0.0) -> None:
        """Let time pass and call what is due."""
        end = self.now + seconds
        while True:
            while self.soon:
                self.soon.pop(0)()
            if not self.timers or self.timers[0][0] > end:
                break
            self.now, _, timer = heapq.heappop(self.timers)
            if not timer.cancelled:
                timer.callback()
        self.now = end


class Timer:
    def __init__(self, callback: Callable[..., object]) -> None:
        self.callback, self.cancelled = callback, False

    def cancel(self) -> None:
        self.cancelled = True


class Drawn:
    """Counts what a pump draws."""

    def __init__(self, loop: FakeLoop) -> None:
        self.loop, self.value = loop, 0
        self.numbers: list[tuple[float, int]] = []
        self.figures: list[float] = []
        self.failures: list[Any] = []
        self.error: Exception | None = None
        self.rest: list[float] = []
        self.pump = Pump(
            loop,
            numbers=self.draw,
            figures=self.draw_figures,
            rest=lambda: self.rest.append(loop.now),
            failed=self.failures.append,
        )

    def set(self, value: int) -> None:
        self.pump.put(lambda: setattr(self, "value", value))

    def draw(self) -> None:
        if self.error is not None:
            raise self.error
        self.numbers.append((self.loop.now, self.value))

    def draw_figures(self) -> None:
        self.figures.append(self.loop.now)


@pytest.fixture
def loop() -> FakeLoop:
    return FakeLoop()


@pytest.fixture
def drawn(loop: FakeLoop) -> Drawn:
    return Drawn(loop)


def test_asking_does_nothing_until_the_loop_runs(loop: FakeLoop, drawn: Drawn) -> None:
    asked = threading.Thread(target=drawn.set, args=(1,))
    asked.start()
    asked.join()
    assert (drawn.value, drawn.numbers) == (0, [])
    loop.run()
    assert drawn.numbers == [(0.0, 1)]


def test_a_burst_is_drawn_at_most_ten_times_a_second_and_ends_with_the_last(
    loop: FakeLoop, drawn: Drawn
) -> None:
    for value in range(1, 201):
        drawn.set(value)
        loop.run(0.005)
    loop.run(1.0)
    times = [at for at, _ in drawn.numbers]
    assert len(times) <= 12
    assert all(later - earlier >= APART_S - 1e-9 for earlier, later in itertools.pairwise(times))
    assert drawn.numbers[-1][1] == 200


def test_changes_that_come_together_are_drawn_once_and_in_order(loop: FakeLoop, drawn: Drawn) -> None:
    for value in (1, 2, 3):
        drawn.set(value)
    loop.run()
    assert drawn.numbers == [(0.0, 3)]


def test_figures_wait_for_a_pause(loop: FakeLoop, drawn: Drawn) -> None:
    for value in range(5):
        drawn.set(value)
        loop.run(APART_S)
    assert drawn.figures == []
    loop.run(PAUSE_S)
    assert len(drawn.figures) == 1
    loop.run(9.0)
    assert len(drawn.figures) == 1


def test_the_rest_waits_for_a_longer_pause(loop: FakeLoop, drawn: Drawn) -> None:
    for value in range(3):
        drawn.set(value)
        loop.run(PAUSE_S + REST_S - 0.01)
    assert (len(drawn.figures), drawn.rest) == (3, [])
    loop.run(9.0)
    assert len(drawn.rest) == 1


def test_a_failure_is_told_and_the_next_change_is_drawn(loop: FakeLoop, drawn: Drawn) -> None:
    drawn.error = ValueError("no such thing")
    drawn.set(1)
    loop.run(1.0)
    assert drawn.failures == [drawn.error]
    drawn.error = None
    drawn.set(2)
    loop.run(1.0)
    assert drawn.failures[-1] is None and drawn.numbers[-1][1] == 2


def test_a_change_that_fails_does_not_take_the_others_with_it(loop: FakeLoop, drawn: Drawn) -> None:
    def fail() -> None:
        raise KeyError("gone")

    drawn.pump.put(fail)
    drawn.set(7)
    loop.run()
    assert drawn.numbers == [(0.0, 7)] and isinstance(drawn.failures[0], KeyError)


def test_nothing_is_drawn_after_the_end(loop: FakeLoop, drawn: Drawn) -> None:
    drawn.set(1)
    loop.run()
    drawn.set(2)
    drawn.pump.close()
    drawn.set(3)
    loop.run(2.0)
    assert (drawn.value, len(drawn.numbers), drawn.figures) == (1, 1, [])


def test_a_flood_from_other_threads_does_not_keep_the_loop(loop: FakeLoop, drawn: Drawn) -> None:
    def again() -> None:  # as a thread would that asks faster than the loop changes
        drawn.value += 1
        if drawn.value < 1000:
            drawn.pump.put(again)

    drawn.pump.put(again)
    loop.run(1.0)
    assert 5 <= len(drawn.numbers) <= 11
