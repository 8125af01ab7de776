"""One recording of a page: from our mark before the first prompt to the files on disk, whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import DriverError, DriverTimeout
from ...wire.cdp import CommandFailed, Page
from ..base import Run
from . import counters
from .evidence import Evidence
from .gates import Gates, shows
from .listening import Listening
from .samples import Sampler, collect
from .typist import Typist
from .visit import Visit

if TYPE_CHECKING:
    from . import WebChat

_WATCH = (Path(__file__).parent / "watch.js").read_text("utf-8")
#: How long a page may take for all that is asked of it after the window: it may be busy with what it has got.
_PATIENCE_S = 20.0
#: And for each single thing, however little of that is left, and while it is recorded, s.
_ASK_S = 2.0
_ALIVE_MS = 1000
#: How long a page may lag behind the app's idle, how often it is looked at, and when it is taken for quiet.
_CATCH_UP_S, _LOOK_S, _QUIET_MS = 10.0, 0.1, 2000.0


class Recording:
    """Record a page that is ready.

    Parameters
    ----------
    driver : WebChat
        Settings.
    page : Page
        The page.
    visit : Visit
        How it was opened.
    run : Run
        Where everything observed goes.
    heard : Listening
        What the chat's own driver says.
    """

    def __init__(self, driver: WebChat, page: Page, visit: Visit, run: Run, heard: Listening) -> None:
        self._driver = driver
        self._page = page
        self._visit = visit
        self._run = run
        self._heard = heard
        self._evidence = Evidence(page, driver.recorder, run, buffer_kb=driver.trace_buffer_kb)
        self._sampler = Sampler(page, run, self._take)
        self._typist = Typist(page, driver.shown.composer)
        self._gates = Gates(run)
        self._world = 0
        self._begin_ns: int | None = None
        self._cpu_s = 0.0
        self._stream_open = False
        self._inputs: list[list[Any]] = []
        self._until = 0.0

    async def begin(self) -> None:
        """Start recorder and observers, set the mark, and take the first sample.

        Raises
        ------
        DriverError
            The page is gone, or does not answer.
        """
        shown = self._driver.shown
        self._world = await self._page.own_world()
        await self._visit.read_origin()  # of the document that is watched
        answer = f"{_WATCH.strip()}({json.dumps(shown.answer)}, {json.dumps(shown.message)}), 0"
        await self._page.evaluate(answer, world=self._world)
        await collect(self._page, self._run, timeout_s=10.0)  # what is kept is compared with what is left now
        await self._evidence.begin()
        if self._driver.recorder.probe:
            await self._page.evaluate("__agentlabProbe.clear()")
        if shown.counters is not None:
            await counters.begin(self._page, shown.counters)
        self._cpu_s = time.process_time()
        await self._sampler.begin()
        page_ms = await self._page.evaluate("agentlab.begin()", world=self._world)
        self._begin_ns = self._ns(page_ms)
        self._run.emit("page.mark", t=self._begin_ns, name="agentlab:begin", page_ms=page_ms)
        if self._driver.typing:
            await self._typist.begin()
        self._stream_open = self._visit.stream_open

    async def catch_up(self) -> None:
        """Wait until the page shows the answer that the app has told, or grows no more."""
        began, reached = time.monotonic(), False
        with contextlib.suppress(DriverError):
            while not reached and (waited := time.monotonic() - began) < _CATCH_UP_S:
                grown = await self._page.evaluate("agentlab.grown()", world=self._world, timeout_s=_ASK_S)
                reached = shows(self._heard.answer, grown["text"])
                if waited * 1e3 > _QUIET_MS and grown["quiet_ms"] > _QUIET_MS:
                    break  # it may be another text; the gates say so
                if not reached:
                    await asyncio.sleep(_LOOK_S)
        waited_ms = round((time.monotonic() - began) * 1e3, 1)
        self._run.emit("page.drain", waited_ms=waited_ms, reached=reached)

    async def end(self, *, hurry: bool = False) -> None:
        """End the window, take over what there is, and judge it; a page that is gone leaves the rest.

        Parameters
        ----------
        hurry : bool
            The run is being cancelled: stop only.

        Raises
        ------
        RecordingError
            A file cannot be written.
        """
        await self._typist.stop()
        if self._begin_ns is None or hurry:
            await self._evidence.end(hurry=hurry)
            return
        self._until = time.monotonic() + _PATIENCE_S
        await self._sampler.end()
        at_end = self._visit.stream_open
        end_ns = await self._mark_end()
        idle: dict[str, Any] = {} if self._heard.idle_ns is None else {"stream_end_ns": self._heard.idle_ns}
        self._run.emit("page.window", begin_ns=self._begin_ns, end_ns=end_ns, **idle)
        own_cpu_s, before = time.process_time() - self._cpu_s, time.process_time()
        told = await self._ask_page()
        gone = self._page.connection.gone  # before the trace is asked for of what is left
        await self._evidence.end()
        move_cpu_s = time.process_time() - before
        alive = None if told is None else await self._look_after()
        self._gates.check("page_crashed", gone is None or gone.code != "page_crashed")
        self._judge(told, alive, at_end=at_end)
        self._run.emit(
            "page.end",
            own_cpu_s=round(own_cpu_s, 4),
            move_cpu_s=round(move_cpu_s, 4),
            n_calls=self._page.connection.n_calls,
        )

    async def _mark_end(self) -> int:
        with contextlib.suppress(DriverError):
            page_ms = await self._page.evaluate("agentlab.end()", world=self._world, timeout_s=self._left_s())
            end_ns = self._ns(page_ms)
            self._run.emit("page.mark", t=end_ns, name="agentlab:end", page_ms=page_ms)
            return end_ns
        return time.monotonic_ns()

    async def _ask_page(self) -> dict[str, Any] | None:
        """Take over what was watched; None: the page does not answer."""
        try:
            await asyncio.sleep(0.05)  # the last change's frame
            await self._take("rest")
            told = await self._page.evaluate("agentlab.told()", world=self._world, timeout_s=self._left_s())
            if self._driver.typing:
                self._run.emit("page.input", n_keys=self._typist.n_keys, interactions=self._inputs)
                await self._typist.take_back()
            if self._driver.recorder.probe:
                await counters.tell_probe(self._page, self._run, timeout_s=self._left_s())
            if (of_app := self._driver.shown.counters) is not None:
                limit = self._left_s()
                await counters.tell_app(self._page, of_app, self._run, self._gates, timeout_s=limit)
            if not await self._visit.is_there():
                self._gates.check("page_wrong_address", False, "it was left while it was recorded")
            return told
        except CommandFailed:  # the world that was watched from is gone
            self._gates.check("page_wrong_address", False, "another document was opened in it")
        except DriverTimeout:
            self._gates.check("page_text_not_growing", False, "the page does not answer any more")
        except DriverError as error:
            if self._page.connection.gone is None:
                self._gates.check("page_text_not_growing", False, str(error))
        return None

    async def _look_after(self) -> dict[str, Any] | None:
        """Look at memory after a collection, and at the page's frames; both lie outside the window."""
        self._until = time.monotonic() + _PATIENCE_S
        with contextlib.suppress(DriverError):
            await collect(self._page, self._run, timeout_s=self._left_s())
            alive = await self._page.evaluate(
                f"agentlab.alive({_ALIVE_MS})", world=self._world, timeout_s=_ASK_S + 5
            )
            self._run.emit("page.liveness", **alive)
            return alive
        self._gates.check("page_frames_dead", False, "the page does not answer any more")
        return None

    def _judge(self, told: dict[str, Any] | None, alive: dict[str, Any] | None, *, at_end: bool) -> None:
        if told is not None:
            ratio = self._gates.answer(self._heard, told)
            keys = ("n_chars", "n_growths", "n_changes", "n_messages", "body_chars")
            more = {} if ratio is None else {"shown_ratio": round(ratio, 4)}
            about: dict[str, Any] = {key: told[key] for key in keys} | {"own_ms": _ms(told["own_ms"])} | more
            self._run.emit("page.text", content={"text": told["text"]}, **about)
            self._gates.stream(at_prompt=self._stream_open, at_end=at_end)
        else:
            self._gates.check("page_not_idle", self._heard.idle_ns is not None)
        if told is not None and alive is not None:
            self._gates.alive(told, alive)
        self._gates.trace(self._driver.recorder, self._evidence.trace, self._evidence.eye)

    async def _take(self, how: str = "take") -> None:
        """Take rows out of the page and write them, with times of our clock."""
        rows = await self._page.evaluate(f"agentlab.{how}()", world=self._world, timeout_s=self._left_s())
        ns = self._ns
        dom = [[ns(at), n, None if paint is None else ns(paint)] for at, n, paint in rows["dom"]]
        frames = [
            [ns(at), _ms(whole), _ms(blocking), ns(render) if render else None, _ms(script)]
            for at, whole, blocking, render, script in rows["frames"]
        ]
        shifts = [[ns(at), round(value, 6), had] for at, value, had in rows["shifts"]]
        self._inputs += [
            [ns(at), kind, number, _ms(whole), _ms(processing)]
            for at, kind, number, whole, processing in rows["inputs"]
        ]
        for kind, taken in (("page.dom", dom), ("page.frames", frames), ("page.shift", shifts)):
            if taken:
                self._run.emit(kind, rows=taken)

    def _left_s(self) -> float:
        return max(_ASK_S, self._until - time.monotonic())

    def _ns(self, page_ms: float) -> int:
        return self._visit.origin_ns + round(page_ms * 1e6)


def _ms(value: float) -> float:
    return round(value, 3)
