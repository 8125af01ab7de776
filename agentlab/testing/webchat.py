"""Synthetic recordings of a chat page in a browser: events, trace and CPU profile, without any browser.

What it cannot show: what a real page does, which threads a real browser has, or what a recorder costs. Text
is shown in batches of one frame, each by one task of the page; long tasks and dropped frames come by chance.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..scenario import Scenario
from ._agent import Agent
from ._trace import BROWSER, COMPOSITOR, SyntheticTrace
from .recordings import SyntheticArm, SyntheticRun, SyntheticStudy

_FRAME_MS = 1000 / 60
_TAIL_MS = 1000.0
_SCRIPTS = (
    ("TimerHandler", "setTimeout", "flush", "app.js", 4120),
    ("EventHandler", "onmessage", "receive", "app.js", 981),
    ("UserCallback", "ResizeObserverCallback", "measure", "list.js", 377),
)
#: What a task of the page consists of: event, share of its time, part of its script.
_PARTS = (("UpdateLayoutTree", 0.2), ("Layout", 0.15), ("PrePaint", 0.05), ("Paint", 0.1), ("Commit", 0.05))


@dataclasses.dataclass(frozen=True, kw_only=True)
class SyntheticPage:
    """Say how one chat page behaves while an answer streams.

    Parameters
    ----------
    task_ms : float
        Median duration of the task that shows a batch of text.
    long_rate : float
        Share of those tasks that are long.
    long_ms : float
        Median duration of a long one.
    cpu_share : float
        CPU time in the duration of tasks.
    dropped_rate, partial_rate, late_rate : float
        Share of frames that are dropped, or shown without the main thread's part, which in late ones follows.
    heap_mib, nodes : float
        Garbage and kept memory that the answer adds: heap in MiB and nodes of the document. Half of each is
        gone after a collection.
    chunks : tuple of int
        Fewest and most chunks of the answer.
    itl_ms : float
        Mean time between chunks.
    spread : float
        Standard deviation of the logarithm of durations, half of it between runs.
    typing : bool
        Whether somebody types while the answer streams.
    sampler : bool
        Whether a CPU profile was taken.
    hidden : bool
        Whether the page was hidden: then it has no frames.
    """

    task_ms: float = 6.0
    long_rate: float = 0.03
    long_ms: float = 80.0
    cpu_share: float = 0.85
    dropped_rate: float = 0.04
    partial_rate: float = 0.1
    late_rate: float = 0.2
    heap_mib: float = 20.0
    nodes: float = 8000.0
    chunks: tuple[int, int] = (140, 180)
    itl_ms: float = 12.0
    spread: float = 0.4
    typing: bool = False
    sampler: bool = True
    hidden: bool = False


def write_webchat_study(
    path: Path | str,
    *,
    arms: Mapping[str, SyntheticPage] | None = None,
    runs: int = 4,
    seed: int = 0,
    gateway: bool = True,
) -> Path:
    """Write a whole study of a chat page.

    Parameters
    ----------
    path : Path or str
        Folder to make.
    arms : mapping, optional
        Name -> behaviour; by default a page, and one with more long tasks.
    runs : int
        Per arm; interleaved in blocks.
    seed : int
        Same seed, same bytes.
    gateway : bool
        Whether a gateway stood before the model.

    Returns
    -------
    Path
        The folder.

    Examples
    --------
    >>> import tempfile
    >>> import agentlab as al
    >>> recs = al.load(write_webchat_study(tempfile.mkdtemp() + "/s", runs=1))
    >>> recs.arms, len(recs)
    (('plain', 'heavy'), 2)
    """
    arms = arms or {"plain": SyntheticPage(), "heavy": SyntheticPage(long_rate=0.12, dropped_rate=0.1)}
    scenario = Scenario("streaming", turns=["Session marker: {nonce}. Explain a call."])
    study = SyntheticStudy(path, scenario=scenario, arms=tuple(arms), seed=seed)
    draw = random.Random(seed)
    for block in range(runs):
        order = list(arms)
        draw.shuffle(order)
        for name in order:
            identity = {
                "driver": "synthetic",
                "version": "0",
                "model": "lab/scripted",
                "settings": {"recorder": _recorder(arms[name])},
            }
            with study.run(name, run_index=block, block=block, identity=identity) as run:
                _Page(run, arms[name], draw).carry_out(gateway=gateway)
    return study.path


def _recorder(page: SyntheticPage) -> dict[str, Any]:
    light = {"preset": "light", "categories": ["loading", "toplevel"]}
    return light | {"preset": "cpu", "sampling_us": 1000, "probe": True} if page.sampler else light


class _Page:
    """Play a page into one run, around what the agent told."""

    def __init__(self, run: SyntheticRun, page: SyntheticPage, draw: random.Random) -> None:
        self.run, self.page, self.draw = run, page, draw
        self.pace = math.exp(draw.gauss(0, page.spread / 2))
        self.size = math.exp(draw.gauss(0, page.spread / 4))
        self.trace = SyntheticTrace(run.ns(0))
        self.rows: list[list[int]] = []
        self.tasks: list[tuple[float, float]] = []

    def carry_out(self, *, gateway: bool) -> None:
        run, page = self.run, self.page
        chat = SyntheticArm(itl_ms=page.itl_ms, chunks=page.chunks, spread=0.1)
        Agent(run, chat, self.draw, gateway=gateway).carry_out((1,))
        stream_end = max(event["t"] for event in run.events if event["kind"] == "idle")
        self.stream_end_ms = (stream_end - run.begin_ns) / 1e6
        self.end_ms = self.stream_end_ms + _TAIL_MS
        self._open()
        self._show()
        self._frames()
        self._samples()
        self._input()
        self._close()
        run.now_ms = self.end_ms + 60
        run.files["trace.json.gz"] = self.trace.gzipped()
        if page.sampler:
            run.files["cpu.cpuprofile.gz"] = self.trace.profile(self.tasks, 0.0, self.end_ms)

    def _time(self, median_ms: float) -> float:
        return median_ms * self.pace * math.exp(self.draw.gauss(0, self.page.spread / 2))

    def _open(self) -> None:
        emit, recorder = self.run.emit, _recorder(self.page)
        size = {"width": 1600, "height": 1000, "headless": True, "browser": "156.0"}
        emit("page.open", at_ms=1, **size, preset=recorder["preset"], sampling_us=recorder.get("sampling_us"))
        emit("page.ready", at_ms=2, what="stream", waited_ms=310.0)
        emit("page.ready", at_ms=2, what="composer", waited_ms=420.0)
        for name, at in (("agentlab:begin", 3.0), ("agentlab:end", self.end_ms)):
            emit("page.mark", at_ms=at, name=name, page_ms=4997.0 + at)
            self.trace.mark(name, at, page_ms=4997.0 + at)

    def _show(self) -> None:
        """Show what arrived in batches of a few frames, each by a task."""
        arrived = [
            ((event["t"] - self.run.begin_ns) / 1e6, event["n_chars"])
            for event in self.run.events
            if event["kind"] == "chunk" and event["chunk"] == "text"
        ]
        at, shown, free = 0.0, 0, 4.0
        for index, (arrive_ms, n_chars) in enumerate(arrived):
            shown += n_chars
            if index + 1 < len(arrived) and arrive_ms - at < 2 * _FRAME_MS:
                continue
            at = arrive_ms
            begin = max(arrive_ms + 2, free)
            is_long = self.draw.random() < self.page.long_rate
            duration = self._time(self.page.long_ms if is_long else self.page.task_ms)
            free = begin + duration + 0.2
            self._task(begin, duration)
            # Markdown's marks are not shown.
            stamp = self.run.ns(begin + 0.4 * duration)
            self.rows.append([stamp, round(shown * 0.96), self.run.ns(begin + duration + _FRAME_MS / 2)])
        self.n_chars = round(shown * 0.96)

    def _task(self, begin: float, duration: float) -> None:
        cpu = duration * self.page.cpu_share
        self.tasks.append((begin, duration))
        self.trace.slice("RunTask", begin, duration, cpu_ms=cpu)
        script, at = 0.4 * duration, begin + 0.01 * duration
        self.trace.slice("FunctionCall", at, script, cpu_ms=script * self.page.cpu_share)
        self.trace.slice("V8.GC_MC_INCREMENTAL", at + 0.1 * script, 0.1 * script)
        at += script
        for name, part in _PARTS:
            self.trace.slice(name, at, part * duration)
            at += part * duration
        invoker, name, function, url, position = self.draw.choice(_SCRIPTS)
        info = {
            "invoker_type": invoker,
            "class_like_name": "Window",
            "property_like_name": name,
            "source_location_url": url,
            "source_location_function_name": function,
            "source_location_char_position": position,
            "style_duration_ms": 0,
            "layout_duration_ms": round(0.1 * duration, 3),
            "pause_duration_ms": 0,
        }
        self.trace.animation_frame(begin, duration, [(begin + 0.01 * duration, script, info)])
        # The same stretch on other threads, which are no part of the page's main thread.
        self.trace.slice("RunTask", begin + 0.5, duration * 0.6, thread=COMPOSITOR)
        self.trace.slice("RunTask", begin, 0.05, thread=BROWSER)

    def _frames(self) -> None:
        if self.page.hidden:
            return
        at, number = 4.0, 1
        while at < self.end_ms:
            busy = any(begin <= at + _FRAME_MS and at < begin + length for begin, length in self.tasks)
            chance = self.draw.random()
            state = "PRESENTED_ALL" if busy else "NO_UPDATE_DESIRED"
            if busy and chance < self.page.dropped_rate:
                state = "DROPPED"
            elif busy and chance < self.page.dropped_rate + self.page.partial_rate:
                state = "PRESENTED_PARTIAL"
            self.trace.frame(at, _FRAME_MS * (2 if state.startswith("PRESENTED") else 1), state, number)
            if state == "PRESENTED_ALL" and chance > 1 - self.page.late_rate:
                self.trace.frame(at, _FRAME_MS, "PRESENTED_PARTIAL", number)  # the compositor went ahead
            at, number = at + _FRAME_MS, number + 1

    def _samples(self) -> None:
        heap, nodes = 36 * 2**20, 900
        span = self.stream_end_ms - 4
        for begin, duration in self.tasks:
            share = min(1.0, (begin + duration) / span)
            counts = self._held(heap, nodes, share)
            self.trace.counters(begin + duration * 0.9, *counts, documents=2 + round(50 * share))
        whole = [(1000.0 * k, "run") for k in range(1, int(self.end_ms // 1000) + 1)]
        for at, where in [(3.5, "begin"), *whole, (self.end_ms + 1, "end")]:
            held = self._held(heap, nodes, min(1.0, max(0.0, at - 4) / span))
            self._sample("page.sample", at, *held, where=where)
        kept = self._held(heap, nodes, 0.5)
        self._sample("page.gc", self.end_ms + 30, *kept)

    def _held(self, heap: int, nodes: int, share: float) -> tuple[int, int, int]:
        share *= self.size
        grown = heap + round(self.page.heap_mib * 2**20 * share)
        return grown, nodes + round(self.page.nodes * share), 170 + round(40 * share)

    def _sample(
        self, kind: str, at: float, heap: int, nodes: int, listeners: int, *, where: str | None = None
    ) -> None:
        done = [duration for begin, duration in self.tasks if begin + duration <= at]
        busy_s = sum(done) / 1000
        self.run.emit(
            kind,
            at_ms=at,
            at=where,
            heap_bytes=heap,
            nodes=nodes,
            listeners=listeners,
            documents=2,
            task_s=round(5 + busy_s, 6),
            script_s=round(2 + 0.4 * busy_s, 6),
            layout_s=round(0.3 + 0.15 * busy_s, 6),
            style_s=round(0.4 + 0.2 * busy_s, 6),
            recalc_count=100 + 2 * len(done),
            layout_count=60 + len(done),
            thread_s=round(4 + busy_s * self.page.cpu_share, 6),
            process_s=round(7 + 2 * busy_s * self.page.cpu_share, 6),
            command_s=0.01,
        )

    def _input(self) -> None:
        if self.page.typing:
            at, number = 60.0, 1
            while at < self.stream_end_ms:
                blocked = max((b + d - at for b, d in self.tasks if b <= at < b + d), default=0.0)
                self.trace.key(at, delay_ms=blocked, processing_ms=2.0, number=number)
                at, number = at + 200.0, number + 1

    def _close(self) -> None:
        run, emit, end = self.run, self.run.emit, self.end_ms
        emit(
            "page.window", at_ms=end, begin_ns=run.ns(4), end_ns=run.ns(end),
            stream_end_ns=run.ns(self.stream_end_ms),
        )  # fmt: skip
        emit("page.dom", at_ms=end + 1, rows=self.rows)
        text = {"n_chars": self.n_chars, "n_growths": len(self.rows), "n_changes": len(self.rows)}
        emit("page.text", at_ms=end + 1, **text, shown_ratio=1.0, n_messages=2, own_ms=1.5)
        counters = {"setTimeoutScheduled": 400, "rafScheduled": len(self.tasks), "mutationRecords": 900}
        sites = [["app.js:41:7", len(self.tasks), round(sum(d for _, d in self.tasks) * 0.4, 3), 30.5]]
        emit("page.probe", at_ms=end + 2, counters=counters, sites=sites, own_ms=2.5, exhausted=False)
        entry = {"metric": "ui.message_list.render", "total": 41.5, "count": len(self.tasks), "max": 3.5}
        emit("page.app_counters", at_ms=end + 2, entries=[entry])
        visibility = "hidden" if self.page.hidden else "visible"
        frames = 0 if self.page.hidden else 60
        emit("page.liveness", at_ms=end + 40, frames=frames, seconds=1.0, visibility=visibility)
        emit("page.gate", at_ms=end + 41, name="page_hidden", passed=not self.page.hidden)
        if self.page.hidden:
            run.issue("page_hidden", discard=True)
        names = ["trace.json.gz", *(["cpu.cpuprofile.gz"] if self.page.sampler else [])]
        for name in names:
            emit("page.file", at_ms=end + 50, name=name, n_bytes=1000, complete=True, data_loss=False)
        self.trace.shift(self.stream_end_ms / 2, 0.004 * self.size)
