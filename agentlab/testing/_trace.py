"""A trace and a CPU profile as Chromium writes them, from made-up stretches of work."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Any

#: Threads of the made-up browser: process and thread id.
BROWSER, PAGE, COMPOSITOR, OTHER_PAGE = (100, 100), (200, 200), (200, 207), (300, 200)
_NAMES = {
    BROWSER: ("CrBrowserMain", "Browser"),
    PAGE: ("CrRendererMain", "Renderer"),
    COMPOSITOR: ("Compositor", "Renderer"),
    OTHER_PAGE: ("CrRendererMain", "Renderer"),  # another page: its thread has the same number
}
_TIMELINE = "disabled-by-default-devtools.timeline"
_SAMPLE_US = 1000


class SyntheticTrace:
    """Write a trace; all times are ms since `begin_ns`.

    Parameters
    ----------
    begin_ns : int
        CLOCK_MONOTONIC.
    """

    def __init__(self, begin_ns: int) -> None:
        self._begin_us = begin_ns // 1000
        self._n = 0
        self.events: list[dict[str, Any]] = []
        for thread, (name, process) in _NAMES.items():
            for kind, value in (("thread_name", name), ("process_name", process)):
                self._add(kind, "M", 0, thread, "__metadata", args={"name": value}, ts=0)
        frame = {"processId": PAGE[0], "isOutermostMainFrame": True, "isInPrimaryMainFrame": True}
        started = {"data": {"frames": [frame]}}
        self._add("TracingStartedInBrowser", "I", 0, BROWSER, _TIMELINE, args=started)

    def slice(
        self,
        name: str,
        at: float,
        duration: float,
        *,
        cpu_ms: float | None = None,
        thread: tuple[int, int] = PAGE,
    ) -> None:
        """Add a stretch of work.

        Parameters
        ----------
        name : str
            Event.
        at, duration : float
            ms.
        cpu_ms : float, optional
            CPU time; by default 0.8 of the duration.
        thread : tuple of int
            Process and thread.
        """
        cpu = 0.8 * duration if cpu_ms is None else cpu_ms
        times = {"dur": round(duration * 1000), "tdur": round(cpu * 1000)}
        category = _TIMELINE if name == "RunTask" else "devtools.timeline"
        self._add(name, "X", at, thread, category, **times)

    def mark(self, name: str, at: float, *, page_ms: float) -> None:
        """Add a ``performance.mark`` of the page."""
        args = {"data": {"startTime": page_ms}}
        self._add(name, "I", at, PAGE, "blink.user_timing", args=args, s="t")

    def frame(self, at: float, duration: float, state: str, number: int) -> None:
        """Add a frame of the page's compositor; `state` as Chromium spells it, without ``STATE_``."""
        reporter = {
            "state": f"STATE_{state}",
            "affects_smoothness": False,
            "has_missing_content": False,
            "frame_sequence": number,
            "frame_source": 4294967296,
            "scroll_state": "SCROLL_NONE",
        }
        category = "cc,benchmark,disabled-by-default-devtools.timeline.frame"
        self._span("PipelineReporter", at, duration, category, {"frame_reporter": reporter})

    def animation_frame(
        self, at: float, duration: float, scripts: Sequence[tuple[float, float, dict[str, Any]]]
    ) -> None:
        """Add an animation frame; `scripts` are begin, duration and what Chromium tells of each."""
        self._n += 1
        key = {"local": hex(self._n)}
        about = {"id": f"frame{self._n}"}
        info = {
            "duration_ms": duration,
            "blocking_duration_ms": max(0.0, duration - 50),
            "num_scripts": len(scripts),
        }
        args = {**about, "animation_frame_timing_info": info}
        add = self._add
        add("AnimationFrame", "b", at, PAGE, "devtools.timeline", id2=key, args=args)
        for begin, length, script in scripts:
            name, told = "AnimationFrame::Script::Execute", {"animation_frame_script_timing_info": script}
            add(name, "b", begin, PAGE, "devtools.timeline", id2=key, args={**about, **told})
            add(name, "e", begin + length, PAGE, "devtools.timeline", id2=key, args={})
        shown = {"begin_frame_id": {"sequence_number": 0, "source_id": 0}, **about}
        end = at + duration
        add("AnimationFrame::Presentation", "n", end + 8, PAGE, "devtools.timeline", id2=key, args=shown)
        add("AnimationFrame", "e", end, PAGE, "devtools.timeline", id2=key, args={})

    def key(self, at: float, *, delay_ms: float, processing_ms: float, number: int) -> None:
        """Add a pressed key as the page's event timing tells it."""
        page = at + 4997.0  # the mark of 3 ms is 5,000 ms of the page's clock
        begin = page + delay_ms
        data = {
            "type": "keydown",
            "interactionId": 100 + 7 * number,
            "duration": delay_ms + processing_ms + 16,
            "timeStamp": page,
            "processingStart": begin,
            "processingEnd": begin + processing_ms,
            "commitFinishTime": begin + processing_ms + 4,
        }
        self._span(
            "EventTiming", at, delay_ms + processing_ms + 16, "devtools.timeline", {"data": data}, key="id"
        )

    def shift(self, at: float, score: float) -> None:
        """Add a layout shift."""
        data = {
            "score": score,
            "weighted_score_delta": score,
            "cumulative_score": score,
            "had_recent_input": False,
            "is_main_frame": True,
        }
        self._add("LayoutShift", "I", at, PAGE, "loading", args={"data": data}, s="t")

    def counters(self, at: float, heap: int, nodes: int, listeners: int, *, documents: int) -> None:
        """Add what the page holds."""
        data = {
            "jsHeapSizeUsed": heap,
            "nodes": nodes,
            "documents": documents,
            "jsEventListeners": listeners,
        }
        self._add("UpdateCounters", "I", at, PAGE, _TIMELINE, args={"data": data}, s="t")

    def gzipped(self) -> bytes:
        """Return the file as it is streamed: one event a line."""
        ordered = sorted(self.events, key=lambda event: event["ts"])
        lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in ordered)
        return gzip.compress(f'{{"traceEvents":[\n{lines}\n]}}\n'.encode(), mtime=0)

    def profile(self, tasks: Sequence[tuple[float, float]], begin: float, end: float) -> bytes:
        """Return a CPU profile of the page's main thread: in tasks two functions and the collector run."""
        nodes = [
            _node(1, "(root)", children=[2, 3, 4, 5]),
            _node(2, "(idle)"),
            _node(3, "(program)"),
            _node(4, "(garbage collector)"),
            _node(5, "flush", "app.js", 40, 6, children=[6]),
            _node(6, "parse", "markdown.js", 210, 14),
        ]
        samples: list[int] = []
        first = at = self._us(begin) + 500
        spans = [(self._us(b), self._us(b + d)) for b, d in tasks]
        while at < self._us(end):
            inside = [(at - b) / (e - b) for b, e in spans if b <= at < e]
            samples.append(_node_at(inside[0]) if inside else 2)
            at += _SAMPLE_US
        deltas = [first - self._us(begin), *[_SAMPLE_US] * (len(samples) - 1)]
        profile = {
            "nodes": nodes,
            "startTime": self._us(begin),
            "endTime": self._us(end),
            "samples": samples,
            "timeDeltas": deltas,
        }
        return gzip.compress(json.dumps(profile, separators=(",", ":")).encode(), mtime=0)

    def _us(self, at: float) -> int:
        return self._begin_us + round(at * 1000)

    def _span(
        self, name: str, at: float, duration: float, category: str, args: dict[str, Any], *, key: str = "id2"
    ) -> None:
        self._n += 1
        told: dict[str, Any] = {key: hex(self._n) if key == "id" else {"local": hex(self._n)}}
        self._add(name, "b", at, PAGE, category, args=args, **told)
        self._add(name, "e", at + duration, PAGE, category, args={}, **told)

    def _add(self, name: str, ph: str, at: float, thread: tuple[int, int], cat: str, **more: Any) -> None:  # noqa: ANN401
        event = {"args": {}, "cat": cat, "name": name, "ph": ph, "pid": thread[0], "tid": thread[1]}
        self.events.append({**event, "ts": self._us(at), **more})


def _node(
    number: int,
    function: str,
    url: str = "",
    line: int = -1,
    column: int = -1,
    *,
    children: Sequence[int] = (),
) -> dict[str, Any]:
    frame = {
        "functionName": function,
        "scriptId": "0",
        "url": url,
        "lineNumber": line,
        "columnNumber": column,
    }
    return {"id": number, "callFrame": frame, "hitCount": 0, "children": list(children)}


def _node_at(share: float) -> int:
    """Say what a task does at a share of its time: script, parsing, collection, then the browser's own."""
    return 5 if share < 0.15 else 6 if share < 0.35 else 4 if share < 0.41 else 3
