"""Sample a run's processes from a thread, at no more than a share of one core."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from ...errors import ConfigError, RecordingError
from ...wire.cgroup import Cgroup
from ...wire.procfs import Procfs
from ...wire.procid import ProcessId
from .cost import Cost
from .group import RunGroup
from .pace import Lane, Pace
from .plateau import Plateau, Point, plateau
from .sweep import Sweep, Sweeper

Record = dict[str, Any]


class MemorySampler:
    """Write ``memory.jsonl`` while a run is made; reading never fails the run.

    Two lanes: a slow one reads what each process holds (the kernel walks all its pages), a fast one what the
    kernel counts anyway. Both take the time they cost twenty times over before they look again.

    Parameters
    ----------
    write : callable
        Appends one record; called from the thread and by :meth:`mark`, never at once by both.
    roots : callable
        Returns the process ids that the driver owns now: watchdogs, and what they started for it.
    slow_s, fast_s : float, default 0.5 and 0.05
        Wanted periods of the lanes, s.
    duty : float, default 0.05
        Largest CPU time as a share of one core, 0 < duty <= 1.
    cgroup : bool, default True
        Use a control group of the run's own where this process may make one.
    proc : str, default "/proc"
        Where the proc file system is.

    Raises
    ------
    ConfigError
        A period or the duty is out of range.

    Examples
    --------
    >>> async def sample():
    ...     records = []
    ...     async with Children() as children:
    ...         sampler = MemorySampler(records.append, lambda: [children.pid], slow_s=0.05)
    ...         sampler.start()
    ...         await children.spawn(["sleep", "9"], env={})
    ...         settled = await sampler.settled(window_s=0.1, cap_s=5)
    ...         return settled, (await sampler.stop())["n_slow"] > 2
    >>> from agentlab.wire.children import Children
    >>> asyncio.run(sample())
    (True, True)
    """

    def __init__(
        self,
        write: Callable[[Record], None],
        roots: Callable[[], Iterable[int]],
        *,
        slow_s: float = 0.5,
        fast_s: float = 0.05,
        duty: float = 0.05,
        cgroup: bool = True,
        proc: str = "/proc",
    ) -> None:
        if not (0 < duty <= 1 and 0 < fast_s <= slow_s):
            raise ConfigError(
                f"MemorySampler(slow_s={slow_s!r}, fast_s={fast_s!r}, duty={duty!r}): "
                "give 0 < fast_s <= slow_s and 0 < duty <= 1"
            )
        self._write = write
        self._roots = roots
        self._proc = Procfs(proc)
        self._wanted = {"slow_s": slow_s, "fast_s": fast_s, "duty": duty}
        self._pace = Pace(slow_s=slow_s, fast_s=fast_s, duty=duty)
        self._use_cgroup = cgroup
        self._group: RunGroup | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._samples = False  # until the thread's last news
        self._waiting: list[_Waiting] = []
        self._failure: RecordingError | None = None
        self._cost = Cost()

    def start(self) -> None:
        """Begin to sample; called once.

        Raises
        ------
        RecordingError
            The first record cannot be written.
        """
        about: Record = dict(self._wanted)
        if not self._proc.there:
            self._cost.reason = about["reason"] = "no_procfs"
        made = Cgroup.create() if self._use_cgroup and self._proc.there else "off"
        about["cgroup"] = made if isinstance(made, str) else made.version
        if isinstance(made, Cgroup):
            self._group = RunGroup(made, self._proc)
        self._cost.began = time.monotonic()
        try:
            self._put("memory.begin", **about)
        except RecordingError:
            self._leave()
            raise
        if self._proc.there:
            self._sweeper = Sweeper(self._proc, self._roots, self._group, self._stop.is_set)
            self._thread = threading.Thread(target=self._run, name="agentlab-memory", daemon=True)
            self._samples = True
            self._thread.start()

    def mark(self, phase: str) -> None:
        """Say what the run does from now on.

        What the driver owns is in the run's control group when this returns.

        Parameters
        ----------
        phase : {"launch", "settle", "settled", "hold", "end"}
            The phase that begins.

        Raises
        ------
        RecordingError
            It cannot be written.
        """
        if self._group is not None:
            self._group.adopt(self._roots())
        self._put("memory.phase", phase=phase)

    async def settled(self, *, window_s: float = 3.0, tolerance: float = 0.01, cap_s: float = 60.0) -> bool:
        """Wait for a plateau: the same processes, and their memory within the tolerance, over the window.

        Only samples from now on are judged: ask when the sessions are ready, so that a daemon that an agent
        starts some seconds after its launch falls into the window. Where sweeps are dear and rare, the window
        is as long as three of them.

        Parameters
        ----------
        window_s : float, default 3.0
            Length of the plateau, s.
        tolerance : float, default 0.01
            Largest change of PSS + SwapPSS inside it, as a share of it.
        cap_s : float, default 60.0
            Longest wait, s.

        Returns
        -------
        bool
            False: it is still changing, or nothing can be seen. The record ``memory.plateau`` has the rest.

        Raises
        ------
        RecordingError
            The samples cannot be written.
        """
        began = time.monotonic()
        found = Plateau(reached=False, reason="few_samples")

        def judged(points: list[Point]) -> bool:
            nonlocal found
            found = plateau(points, window_s=window_s, tolerance=tolerance)
            return found.reached

        await self._until(judged, cap_s)
        if not self._samples and not found.reached:
            found = Plateau(reached=False, reason="ended")
        waited = round(time.monotonic() - began, 3)
        asked = {"window_s": window_s, "tolerance": tolerance, "cap_s": cap_s, "waited_s": waited}
        self._put("memory.plateau", **asked, **found.told())
        return found.reached

    async def sampled(self, *, cap_s: float = 60.0) -> bool:
        """Wait for a slow sample that begins from now on: what ends before has none.

        Parameters
        ----------
        cap_s : float, default 60.0
            Longest wait, s.

        Returns
        -------
        bool
            False: none was taken in time.

        Raises
        ------
        RecordingError
            The samples cannot be written.
        """
        return await self._until(bool, cap_s)

    async def _until(self, enough: Callable[[list[Point]], bool], cap_s: float) -> bool:
        """Wait until the slow samples from now on are enough; False: they are not, and it is too late."""
        end = time.monotonic() + cap_s
        waiting = _Waiting(asyncio.get_running_loop())
        self._waiting.append(waiting)
        done = False
        try:
            while self._samples:
                waiting.news.clear()
                done = enough(waiting.points)
                left = end - time.monotonic()
                if done or left <= 0:
                    break
                await _wait(waiting.news, left)
        finally:
            self._waiting.remove(waiting)
        if self._failure is not None:
            raise self._failure
        return done

    def seen(self) -> set[ProcessId]:
        """Name the processes of the last look, and what is in the control group now; some may have ended.

        Returns
        -------
        set of ProcessId
            A driver whose watchdog was killed finds by them what carries no marker.
        """
        if self._thread is None:
            return set()
        boot = ProcessId.of(os.getpid()).boot
        inside = () if self._group is None else self._group.pids()
        last = self._sweeper.last
        return {ProcessId.of(pid) for pid in inside} | {ProcessId(pid, start, boot) for pid, start in last}

    def cost(self) -> Record:
        """Return what the sampler has done and what it has cost so far.

        Returns
        -------
        dict
            As the record ``memory.end``.
        """
        return self._cost.told()

    async def stop(self) -> Record:
        """End the thread and remove the control group; a second call does nothing.

        Returns
        -------
        dict
            As :meth:`cost`.

        Raises
        ------
        RecordingError
            Samples could not be written.
        """
        if not self._stop.is_set():
            self._stop.set()
            await self._join()
            if self._failure is None:
                self._put("memory.end", **self._cost.told())
        if self._failure is not None:
            raise self._failure
        return self._cost.told()

    async def _join(self) -> None:
        """Wait for the thread, also while being cancelled: it writes to what is closed after that."""
        cancelled: asyncio.CancelledError | None = None
        # No thread waits for it: while an interpreter ends there are no new ones.
        while self._thread is not None and self._thread.is_alive():
            try:
                await asyncio.sleep(0.002)
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled

    def _put(self, kind: str, *, t: int | None = None, **fields: Any) -> None:  # noqa: ANN401
        with self._lock:
            self._write({"t": time.monotonic_ns() if t is None else t, "kind": kind, **fields})

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                lane, due = self._pace.next()
                if self._stop.wait(max(0.0, due - time.monotonic())):
                    break
                self._look(lane)
        except RecordingError as error:
            self._failure = error
        except Exception as error:  # an instrument that is broken says so and fails no run
            self._cost.reason = f"{type(error).__name__}: {error}"
        self._leave()  # here, so that it happens also when whoever waits for the end is cancelled
        self._samples = False
        for waiting in list(self._waiting):
            waiting.tell(None)

    def _leave(self) -> None:
        self._cost.ended = time.monotonic()
        if self._group is not None and not self._group.close():
            self._cost.cgroup_left = True

    def _look(self, lane: Lane) -> None:
        began, cpu = time.monotonic(), time.thread_time()
        sweep = self._sweeper.look(lane)
        if sweep is not None:
            for process in sweep.processes:
                self._put("memory.process", t=sweep.t, **process)
            self._put("memory.sample", t=sweep.t, **sweep.sample)
            if lane == "slow":
                self._tell(sweep)
        cost = time.thread_time() - cpu
        if sweep is None:
            self._pace.idle(began=began)
        else:
            self._pace.done(lane, began=began, cpu_s=cost)
        self._cost.add(lane, cost, began=began, counted=sweep is not None)

    def _tell(self, sweep: Sweep) -> None:
        point = Point(sweep.t, sweep.total, sweep.ids)
        for waiting in list(self._waiting):
            waiting.tell(point)


class _Waiting:
    """One driver that waits for samples."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.points: list[Point] = []
        self.news = asyncio.Event()
        self._loop = loop
        self._since = time.monotonic_ns()

    def tell(self, point: Point | None) -> None:
        if point is not None and point.t >= self._since:
            self.points.append(point)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.news.set)


async def _wait(news: asyncio.Event, timeout_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await news.wait()
    except TimeoutError:
        pass
