"""What the instrument says of itself and of the machine: loop lag and pressure, each second."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Any

from ..wire.pressure import known, read_pressure
from .runlog import RunLog

_TICK_S = 0.02
_SAMPLE_S = 1.0


class Observer:
    """Sample while a study is recorded; the samples go to the run under way.

    Attributes
    ----------
    run : RunLog or None
        Where samples go now.
    """

    def __init__(self) -> None:
        self.run: RunLog | None = None
        self._late_ms: list[float] = []
        self._cpu_s = 0.0

    async def __aenter__(self) -> Observer:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    def begin(self, run: RunLog) -> None:
        """Send samples to a run from now on."""
        self.run = run
        self._late_ms = []
        self._cpu_s = time.process_time()
        run.emit("pressure", **known(read_pressure()))

    def end(self) -> dict[str, Any]:
        """Stop sending samples and return the observer's own cost.

        Returns
        -------
        dict
            Lag of the capture loop in ms (median, 99th percentile, maximum of a 20 ms timer's lateness;
            absent when there was no sample) and CPU seconds of this process.
        """
        run, self.run = self.run, None
        late = sorted(self._late_ms)
        cost: dict[str, Any] = {"cpu_s": round(time.process_time() - self._cpu_s, 4)}
        if run is not None:
            cost["n_events"] = run.n_events
        if late:
            last = len(late) - 1
            cost |= {
                "loop_lag_p50_ms": late[last // 2],
                "loop_lag_p99_ms": late[-(-last * 99 // 100)],
                "loop_lag_max_ms": late[-1],
            }
        return cost

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + _TICK_S
        sample_at = loop.time() + _SAMPLE_S
        recent: list[float] = []
        while True:
            await asyncio.sleep(max(0.0, due - loop.time()))
            now = loop.time()
            recent.append(round((now - due) * 1e3, 3))
            due = now + _TICK_S
            if now < sample_at:
                continue
            sample_at = now + _SAMPLE_S
            if self.run is not None:
                self._late_ms += recent
                self.run.emit("lag", late_ms=max(recent), n=len(recent))
                self.run.emit("pressure", **known(read_pressure()))
            recent.clear()
