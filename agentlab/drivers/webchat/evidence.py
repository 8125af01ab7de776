"""Trace and CPU profiles of a page, from their start to their files beside the run's events."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from ...errors import DriverError
from ...wire.cdp import Page, TraceEnd, end_profile, end_trace, start_profile, start_trace
from ...wire.traceline import reduce_event_line, reduce_profile
from ..base import Run
from .presets import Recorder
from .traceeye import TraceEye

TRACE = "trace.json.gz"
PROFILE = "cpu.cpuprofile.gz"
#: Longest wait for the trace's end and then for each part of it, and for a profile, s.
_MOVE_S = 120.0
_PROFILE_S = 60.0


class Evidence:
    """Record what the browser can tell of a page.

    Parameters
    ----------
    page : Page
        The page; workers are attached where there is a sampler.
    recorder : Recorder
        What is recorded.
    run : Run
        Its folder, and where it is told what became of the files.
    buffer_kb : int, optional
        Size of the browser's trace buffer, KiB.

    Attributes
    ----------
    eye : TraceEye
        What was seen in the trace.
    trace : TraceEnd or None
        What became of the trace; None: there was none.
    """

    def __init__(self, page: Page, recorder: Recorder, run: Run, *, buffer_kb: int | None = None) -> None:
        kept = run.content_folder is not None
        self.eye = TraceEye(None if kept else reduce_event_line)
        self.trace: TraceEnd | None = None
        self._page = page
        self._recorder = recorder
        self._run = run
        self._buffer_kb = buffer_kb
        self._reduce = None if kept else reduce_profile
        self._tracing = False
        self._sampled: dict[str | None, str] = {}
        self._starting: set[asyncio.Task[None]] = set()

    async def begin(self) -> None:
        """Start what the recorder asks for, on a page that has settled."""
        if self._recorder.sampling_us is not None:
            for session in (None, *self._page.workers):
                await self._sample(session)
            self._page.on("Target.attachedToTarget", self._attached)
        if self._recorder.categories:
            await start_trace(self._page, self._recorder.categories, buffer_kb=self._buffer_kb)
            self._tracing = True

    async def end(self, *, hurry: bool = False) -> None:
        """Stop, and move what there is to the disk, also of a page that has crashed.

        Parameters
        ----------
        hurry : bool
            Leave it: the run is being cancelled, and will be made again.

        Raises
        ------
        RecordingError
            A file cannot be written.
        """
        for task in self._starting:
            task.cancel()
        if hurry:
            return
        for session, name in tuple(self._sampled.items()):
            await self._end_profile(session, name)
        if self._tracing:
            await self._end_trace()

    async def _sample(self, session: str | None) -> None:
        await start_profile(self._page, interval_us=self._recorder.sampling_us or 1000, session=session)
        number = len(self._sampled)
        self._sampled[session] = PROFILE if session is None else f"cpu-worker-{number}.cpuprofile.gz"

    def _attached(self, params: dict[str, Any], _at: int) -> None:
        """Sample a worker that began in mid-recording; one that is gone again is none of ours."""
        if params["targetInfo"]["type"] != "worker":
            return

        async def start() -> None:
            try:
                await self._sample(params["sessionId"])
            except DriverError:
                return

        task = asyncio.create_task(start())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _end_profile(self, session: str | None, name: str) -> None:
        path, began = self._run.folder / name, time.monotonic()
        about: dict[str, Any] = {"complete": False}
        try:
            about["n_samples"] = await end_profile(
                self._page, path, reduce=self._reduce, timeout_s=_PROFILE_S, session=session
            )
            about |= {"complete": True, "n_bytes": path.stat().st_size}
        except DriverError as error:
            about["reason"] = error.code or str(error)
        self._run.emit("page.file", name=name, **about, seconds=round(time.monotonic() - began, 3))

    async def _end_trace(self) -> None:
        # The browser's own process holds the trace: it answers although the page has crashed.
        self._page.connection.revive()
        path = self._run.folder / TRACE
        ended = self.trace = await end_trace(self._page, path, reduce=self.eye, timeout_s=_MOVE_S)
        about: dict[str, Any] = {
            "n_bytes": path.stat().st_size,
            "complete": ended.complete,
            "data_loss": ended.data_loss,
            "n_events": ended.n_events,
            "n_dropped": ended.n_dropped,
            "json_bytes": ended.n_bytes,
            "seconds": ended.seconds,
            "reason": ended.reason,
        }
        told = {key: value for key, value in about.items() if value is not None}
        self._run.emit("page.file", name=TRACE, **told)
