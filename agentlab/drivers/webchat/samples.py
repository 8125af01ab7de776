"""The browser's own counters of the page, each second, and the seconds in which it did not answer."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Any

from ...errors import BrowserGone, DriverError, DriverTimeout
from ...wire.cdp import Page
from ..base import Run

_PERIOD_S = 1.0
_ANSWER_S = 2.0
#: Seconds between two times that what was watched is taken out of the page: a crash loses no more.
_TAKE_S = 5.0
_KEYS = {
    "JSHeapUsedSize": "heap_bytes",
    "Nodes": "nodes",
    "JSEventListeners": "listeners",
    "Documents": "documents",
    "Frames": "frames",
    "TaskDuration": "task_s",
    "ScriptDuration": "script_s",
    "LayoutDuration": "layout_s",
    "RecalcStyleDuration": "style_s",
    "RecalcStyleCount": "recalc_count",
    "LayoutCount": "layout_count",
    "ThreadTime": "thread_s",
    "ProcessTime": "process_s",
    "DevToolsCommandDuration": "command_s",
}


async def read_metrics(page: Page, *, timeout_s: float = _ANSWER_S) -> dict[str, Any]:
    """Read the browser's counters.

    Parameters
    ----------
    page : Page
        With ``Performance`` enabled.
    timeout_s : float
        Longest wait, s.

    Returns
    -------
    dict
        By the browser's names; times in s.
    """
    answer = await page.call("Performance.getMetrics", timeout_s=timeout_s)
    return {metric["name"]: metric["value"] for metric in answer["metrics"]}


def named(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return counters under the names of ``docs/events.md``; what the browser does not tell is left out."""
    return {ours: metrics[theirs] for theirs, ours in _KEYS.items() if theirs in metrics}


async def collect(page: Page, run: Run, *, timeout_s: float) -> None:
    """Force a garbage collection and tell the counters of what is left; outside of the window.

    Parameters
    ----------
    page : Page
        The page.
    run : Run
        Where they go.
    timeout_s : float
        Longest wait for each of the two, s.
    """
    await page.call("HeapProfiler.collectGarbage", timeout_s=timeout_s)
    metrics = await read_metrics(page, timeout_s=timeout_s)
    run.emit("page.gc", t=round(metrics["Timestamp"] * 1e9), **named(metrics))


class Sampler:
    """Sample a page while it is recorded.

    Parameters
    ----------
    page : Page
        The page.
    run : Run
        Where samples go.
    take : callable
        Takes what was watched out of the page.

    Attributes
    ----------
    n_calls : int
        Samples that were asked for.
    """

    def __init__(self, page: Page, run: Run, take: Callable[[], Awaitable[None]]) -> None:
        self.n_calls = 0
        self._page = page
        self._run = run
        self._take = take
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Take the first sample, and go on each second."""
        await self.sample("begin", timeout_s=10.0)
        self._task = asyncio.create_task(self._go_on())

    async def end(self) -> None:
        """Stop, and take the last sample."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            if not self._task.cancelled() and (error := self._task.exception()) is not None:
                raise error
        await self.sample("end", timeout_s=5.0)

    async def sample(self, at: str, *, timeout_s: float = _ANSWER_S) -> None:
        """Take one sample; a page that does not answer leaves a gap.

        Parameters
        ----------
        at : {"begin", "run", "end"}
            Where in the window.
        timeout_s : float
            Longest wait, s.
        """
        began = time.monotonic()
        self.n_calls += 1
        try:
            metrics = await read_metrics(self._page, timeout_s=timeout_s)
        except (DriverTimeout, BrowserGone) as error:
            reason = "busy" if isinstance(error, DriverTimeout) else "gone"
            self._run.emit("page.gap", reason=reason, waited_ms=round((time.monotonic() - began) * 1e3, 1))
        else:
            self._run.emit("page.sample", t=round(metrics["Timestamp"] * 1e9), at=at, **named(metrics))

    async def _go_on(self) -> None:
        loop = asyncio.get_running_loop()
        due, take_at = loop.time() + _PERIOD_S, loop.time() + _TAKE_S
        while self._page.connection.gone is None:
            await asyncio.sleep(max(0.0, due - loop.time()))
            due = max(due + _PERIOD_S, loop.time())
            await self.sample("run")
            if loop.time() >= take_at:
                take_at = loop.time() + _TAKE_S
                with contextlib.suppress(DriverError):  # it is asked again at the end, which says why
                    await self._take()
