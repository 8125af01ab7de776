"""One session of an agent on a terminal of its own: started, awaited, and ended as a user would."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...agents.tui.base import SESSION as PLACE
from ...errors import StartupError
from ...wire.children import Child, Children
from ...wire.probe import probe
from ...wire.pty import PtyReader
from ...wire.vterm import Moment, VirtualTerminal, stamp
from .homes import Home
from .owned import SESSION, session_cpu_s

if TYPE_CHECKING:
    from . import Terminal

#: No agent shows it by itself.
PROBE = "zx91q"
_GESTURE = (b"\x03", b"\x03")
_GESTURE_PAUSE_S = 0.3
_GESTURE_S = 3.0  # the slowest of the agents saves its state for two seconds
_REAPED_S = 1.0


class Emit(Protocol):
    """Take one event, as ``Run.emit`` does."""

    def __call__(self, kind: str, *, t: int | None = None, content: Any = None, **fields: Any) -> None:  # noqa: ANN401
        """Take it."""
        ...


class TerminalSession:
    """Run one session, and tell what can be seen of it.

    Parameters
    ----------
    driver : Terminal
        Settings.
    number : int
        1-based; its name is ``"s1"`` and so on.
    children : Children
        Starts and ends its processes.
    reader : PtyReader
        Reads its terminal.
    emit : callable
        Takes events.
    keep : Path or None
        Folder for all that the terminal is sent, as ``pty-s1.bin`` and so on; None: it is not kept.

    Attributes
    ----------
    ready : bool
        Whether it has shown what was typed (or, of a login screen, anything).
    pid : int or None
        Its first process; None: not started yet.
    """

    def __init__(
        self,
        driver: Terminal,
        number: int,
        children: Children,
        reader: PtyReader,
        emit: Emit,
        keep: Path | None,
    ) -> None:
        self.name = f"s{number}"
        record = None if keep is None else keep / f"pty-{self.name}.bin"
        self.ready = False
        self.pid: int | None = None
        self.terminal = VirtualTerminal(reader, cols=driver.cols, rows=driver.rows, record=record)
        self._driver, self._children, self._emit_event = driver, children, emit
        self._reader = reader
        self._loop = asyncio.get_running_loop()
        self._seen: collections.deque[tuple[str, int, dict[str, Any]]] = collections.deque()
        self._typed: list[int] = []
        self._child: Child | None = None
        self._end: asyncio.Task[int | None] | None = None
        self._asked: str | None = None  # what it was asked to end by
        self._ended_by: str | None = None

    async def start(self, home: Home, roots: Callable[[], list[int]]) -> None:
        """Start its first process.

        Parameters
        ----------
        home : Home
            What it needs.
        roots : callable
            Returns the first processes of the run's sessions.

        Raises
        ------
        StartupError
            The command cannot be run.
        """
        driver = self._driver
        self._roots = roots
        version = None if driver.command is not None else home.setup.version or None
        about = {"agent": driver.agent, "version": version}
        self._emit("session.open", role="main", **{k: v for k, v in about.items() if v is not None})
        self._watch("terminal.paint", self.terminal.painted)
        self._watch("terminal.raw", self.terminal.raw)
        named = {name: value.replace(PLACE, self.name) for name, value in home.environment.items()}
        began = time.monotonic_ns()
        self._child = await self._children.spawn(
            home.argv, env=named | {SESSION: self.name}, cwd=home.setup.workspace, tty=self.terminal.path
        )
        self.pid = self._child.pid
        self.terminal.started()
        self._end = asyncio.create_task(self._child.wait())
        self._end.add_done_callback(self._on_end)
        shares = {"daemon": driver.daemon} if driver.about and driver.about.daemon else {}
        self._emit(
            "terminal.start",
            t=began,
            pid=self.pid,
            cols=driver.cols,
            rows=driver.rows,
            home=driver.home,
            n_arguments=len(home.argv),
            **shares,
        )

    async def get_ready(self, limit_s: float) -> None:
        """Wait until it takes input, ends, or the time is up; :attr:`ready` says which.

        Parameters
        ----------
        limit_s : float
            Longest wait, s.
        """
        assert self._end is not None
        waiting = asyncio.create_task(self._first_input(limit_s))
        try:
            await asyncio.wait([waiting, self._end], return_when=asyncio.FIRST_COMPLETED)
            if self.terminal.ended.done():  # its end is known in a moment
                await asyncio.wait([self._end], timeout=_REAPED_S)
            self.ready = waiting.done() and waiting.result() and not self.ended
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            self._flush()

    async def _first_input(self, limit_s: float) -> bool:
        terminal = self.terminal
        if self._driver.login_screen:
            return await terminal.wait(terminal.painted, timeout_s=limit_s) is not None
        shown = terminal.when(lambda screen: screen.shows(PROBE))
        self._watch("terminal.echo", shown)
        try:
            probed = await probe(terminal, PROBE, timeout_s=limit_s, on_typed=self._on_typed)
        finally:
            shown.cancel()
        return probed.echo_ns is not None

    def _on_typed(self, attempt: int, t: int) -> None:
        self._typed.append(t)
        self._flush()
        self._emit("terminal.probe", t=t, attempt=attempt)

    @property
    def ended(self) -> bool:
        """Whether its first process has ended."""
        return self._end is not None and self._end.done()

    async def wait(self) -> None:
        """Wait until its first process has ended."""
        if self._end is not None:
            await asyncio.wait([self._end])

    @property
    def exit_code(self) -> int | None:
        """Of its first process, once it has ended; negative: the signal; None: unknown."""
        return None if self._child is None else self._child.returncode

    def account(self) -> str:
        """Say what became of it, without a word of its output."""
        terminal = self.terminal
        parts = [f"exit code {self.exit_code}"] if self.ended else []
        parts += [] if self.ended or stamp(terminal.raw) else ["its terminal still echoes and edits lines"]
        parts += [] if stamp(terminal.painted) else ["nothing was drawn"]
        return ", ".join([*parts, f'{terminal.n_bytes} bytes of output (keep="content" stores the last)'])

    async def leave(self) -> None:
        """End it as a user would, with the keys of the agent; then by signals."""
        if self._child is None or self.ended:
            return
        about = self._driver.about
        pause_s = about.gesture_pause_s if about else _GESTURE_PAUSE_S
        self._asked = "gesture"
        for key in about.gesture if about else _GESTURE:
            self.terminal.type(key)
            if await self._ended_within(pause_s):
                return
        if not await self._ended_within(_GESTURE_S):
            self.give_up()
            with contextlib.suppress(
                StartupError
            ):  # the watchdog is gone; what is left is found by its marker
                await self._child.terminate(0.5)

    def give_up(self) -> None:
        """Hear that it is ended from here, unless it has ended already."""
        self._asked = "us"

    async def _ended_within(self, seconds: float) -> bool:
        assert self._end is not None
        await asyncio.wait([self._end], timeout=seconds)
        return self.ended

    def _on_end(self, end: asyncio.Task[int | None]) -> None:
        if not end.cancelled():
            code = end.result()
            self._ended_by = self._asked or (f"signal {-code}" if code is not None and code < 0 else "self")

    def close(self) -> None:
        """Say how it ended, and give up its terminal: nothing of it runs any more."""
        self.terminal.close()
        self._flush()
        child = self._child
        if child is None or self._end is None:
            return
        self._end.cancel()
        self._emit("terminal.queries", **self.terminal.queries())
        sizes = {"n_bytes": self.terminal.n_bytes, "n_reads": self.terminal.n_reads}
        self._emit("terminal.output", **sizes, late_ms=self._reader.worst_turn_ns / 1e6)
        told = {"exit_code": child.returncode} if child.returncode is not None else {}
        tail = self.terminal.tail.decode(errors="replace")
        self._emit(
            "terminal.exit",
            t=child.cost.get("t"),
            content={"screen": self.terminal.text(), "tail": tail},
            ended_by=self._ended_by or "us",
            **told,
        )
        self._emit("session.close", deleted=True)

    # -- what is seen

    def _watch(self, kind: str, moment: Moment) -> None:
        """Have CPU time read in the moment itself, in the thread that reads the terminal."""

        def note(moment: Moment) -> None:
            if (t := stamp(moment)) is None:
                return
            spent = self._cpu_s()
            self._seen.append((kind, t, {} if spent is None else {"cpu_s": spent}))
            with contextlib.suppress(RuntimeError):  # the loop was closed since
                self._loop.call_soon_threadsafe(self._flush)

        moment.add_done_callback(note)

    def _cpu_s(self) -> float | None:
        if self.pid is None:
            return None
        return session_cpu_s(self.pid, self._children.pid, self.name, self._roots())

    def _flush(self) -> None:
        """Tell what was seen; on the loop."""
        while self._seen:
            kind, t, fields = self._seen.popleft()
            if kind == "terminal.echo":
                fields["attempt"] = sum(typed <= t for typed in self._typed)
            self._emit(kind, t=t, **fields)

    def _emit(self, kind: str, **fields: Any) -> None:  # noqa: ANN401
        self._emit_event(kind, session=self.name, **fields)
