"""Synthetic recordings of terminal agents: memory, start-up and processes, without any agent.

What it cannot show: how a real agent grows, when it is ready, or what a sampler misses. Sizes follow an
exponential ramp to a plateau with noise between runs; every sample is whole unless it is asked otherwise.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..scenario import Scenario
from .recordings import SyntheticRun, SyntheticStudy

_MIB = 1024 * 1024
_FIRST_PID = 4000
_WATCHDOG = 3999
_TICKS = 700_000
_BEGIN_MS = 100.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class SyntheticTool:
    """Say how much memory one terminal agent takes, and how fast it starts.

    Parameters
    ----------
    anon_mib : float
        Anonymous memory of one session on its plateau.
    file_mib : float
        File pages, shared by all sessions of a run.
    launcher_mib : float
        Anonymous memory of the process that starts the agent; 0: the agent is started itself.
    daemon_mib : float
        Anonymous memory of one daemon of all sessions, which leaves the tree after 2.5 s; 0: none.
    ramp_s : float
        Time in which 63 % of the plateau is reached.
    paint_ms, input_ms : float
        Median times to the first paint and to the first input.
    spread : float
        Standard deviation of the logarithm of sizes and times between runs.
    never_ready_rate, unreadable_rate, pressed_rate : float
        Share of sessions that never become ready, of runs with a process that cannot be read, and of runs
        under memory pressure.
    settles : bool
        Whether a plateau is reached.
    """

    anon_mib: float = 110.0
    file_mib: float = 80.0
    launcher_mib: float = 0.0
    daemon_mib: float = 0.0
    ramp_s: float = 1.0
    paint_ms: float = 400.0
    input_ms: float = 700.0
    spread: float = 0.04
    never_ready_rate: float = 0.0
    unreadable_rate: float = 0.0
    pressed_rate: float = 0.0
    settles: bool = True


def write_memory_study(
    path: Path | str,
    *,
    arms: Mapping[str, SyntheticTool] | None = None,
    sessions: Sequence[int] = (1, 4, 10),
    runs: int = 5,
    seed: int = 0,
    hold_s: float = 4.0,
) -> Path:
    """Write a whole study of terminal agents whose memory was sampled.

    Parameters
    ----------
    path : Path or str
        Folder to make.
    arms : mapping, optional
        Name -> behaviour; by default one with a launcher and a daemon, and one that is a single process.
    sessions : sequence of int
        Values that are swept; each is a run of its own in every block.
    runs : int
        Per arm and value.
    seed : int
        Same seed, same bytes.
    hold_s : float
        How long the plateau is sampled, s.

    Returns
    -------
    Path
        The folder.

    Examples
    --------
    >>> import tempfile
    >>> import agentlab as al
    >>> recs = al.load(write_memory_study(tempfile.mkdtemp() + "/s", sessions=(1, 2), runs=1))
    >>> recs.arms, sorted(recs.runs["n_sessions"].tolist())
    (('daemonic', 'single'), [1, 1, 2, 2])
    """
    arms = arms or {
        "daemonic": SyntheticTool(anon_mib=26, file_mib=85, launcher_mib=14, daemon_mib=90, ramp_s=0.4),
        "single": SyntheticTool(),
    }
    study = SyntheticStudy(path, scenario=Scenario("memory-probe"), arms=tuple(arms), seed=seed)
    draw = random.Random(seed)
    for block in range(runs):
        cells = [(name, at, n) for name in arms for at, n in enumerate(sessions)]
        draw.shuffle(cells)
        for name, at, n in cells:
            index = block * len(sessions) + at
            with study.run(name, run_index=index, block=block, n_sessions=n) as run:
                _Terminals(run, arms[name], n, draw, hold_s).carry_out()
    return study.path


@dataclasses.dataclass
class _One:
    """One synthetic process: what it is, when it begins, and where its size goes."""

    pid: int
    ppid: int
    sid: int
    name: str
    begin_ms: float
    anon: float
    file: float
    root: bool = False
    leaves_ms: float | None = None
    readable: bool = True

    def about(self, at_ms: float) -> dict[str, Any]:
        left = self.leaves_ms is not None and at_ms >= self.leaves_ms
        return {
            "pid": self.pid,
            "start": _TICKS + round(self.begin_ms / 10),
            "ppid": _WATCHDOG if left else self.ppid,
            "pgid": self.pid if left else self.sid,
            "sid": self.pid if left else self.sid,
            "name": self.name,
            "root": self.root,
            "in_tree": not left,
            "in_group": not left,
            "tagged": True,
        }


class _Terminals:
    """Play the sessions of one run."""

    def __init__(
        self, run: SyntheticRun, tool: SyntheticTool, n: int, draw: random.Random, hold_s: float
    ) -> None:
        self.run, self.tool, self.n, self.draw = run, tool, n, draw
        self.hold_ms = hold_s * 1000
        self.size = math.exp(draw.gauss(0, tool.spread))
        self.pace = math.exp(draw.gauss(0, tool.spread)) * (1 + 0.05 * (n - 1))
        self.told: dict[int, dict[str, Any]] = {}

    def carry_out(self) -> None:
        self.run.emit_memory("memory.begin", at_ms=_BEGIN_MS, slow_s=1.0, fast_s=0.2, duty=0.05, n_cpus=2)
        ready = self._sessions()
        settled_ms = max(4000.0, 6000 * self.tool.ramp_s, *ready) + 3000
        end_ms = settled_ms + self.hold_ms
        slow = self._samples(end_ms)
        self._phases(max(ready), settled_ms, end_ms, slow)
        for k in range(self.n):
            self._exit(f"s{k + 1}", end_ms + 20 + k)
        if self.draw.random() < self.tool.pressed_rate:
            self.run.issue("memory_pressure", "before 0.0 %, after 3.1 %", discard=True)
        self.run.now_ms = end_ms + 200

    def _samples(self, end_ms: float) -> list[float]:
        """Write all samples, and return when the slow ones were taken."""
        processes = self._processes()
        n = math.ceil((end_ms - _BEGIN_MS - 50) / 200)
        times = [_BEGIN_MS + 50 + 200.0 * step for step in range(n)]
        for step, at in enumerate(times):
            self._sample(processes, at, slow=step % 5 == 0)
        slow = times[::5]
        cost = {"n_slow": len(slow), "n_fast": n - len(slow), "cpu_s": 0.2, "duty": 0.02}
        self.run.raw["memory"] = {**cost, "wall_s": (end_ms - _BEGIN_MS) / 1000}
        self.run.emit_memory("memory.end", at_ms=end_ms + 5, **self.run.raw["memory"])
        return slow

    def _phases(self, ready_ms: float, settled_ms: float, end_ms: float, slow: Sequence[float]) -> None:
        flat = [at for at in slow if settled_ms - 3500 < at <= settled_ms]
        asked = {"window_s": 3.0, "tolerance": 0.01, "cap_s": 60.0, "n_samples": len(flat)}
        told = {"reached": True} if self.tool.settles else {"reached": False, "reason": "growing"}
        span = {"since": self.run.ns(flat[0]), "until": self.run.ns(flat[-1])}
        waited_s = (settled_ms - ready_ms) / 1000
        self.run.emit_memory("memory.plateau", at_ms=settled_ms, **told, **asked, **span, waited_s=waited_s)
        marks = [("launch", _BEGIN_MS), ("settle", ready_ms), ("hold", settled_ms + 1), ("end", end_ms)]
        if self.tool.settles:
            marks.append(("settled", settled_ms))
        for phase, at in marks:
            self.run.emit_memory("memory.phase", at_ms=at, phase=phase)

    def _exit(self, session: str, at_ms: float) -> None:
        told = {"seen": {"DA1": 1, "CPR": 2}, "unanswered": {"kitty graphics": 1}}
        self.run.emit("terminal.queries", at_ms=at_ms, session=session, **told)
        self.run.emit("terminal.output", at_ms=at_ms, session=session, n_bytes=5200, n_reads=31)
        self.run.emit("terminal.exit", at_ms=at_ms + 80, session=session, exit_code=0, ended_by="gesture")
        self.run.emit("session.close", at_ms=at_ms + 81, session=session, deleted=False)

    def _sessions(self) -> list[float]:
        """Write the start-up of all sessions, and return when each was ready."""
        ready: list[float] = []
        for k in range(self.n):
            session, at = f"s{k + 1}", _BEGIN_MS + 2 * k
            self.run.emit("session.open", at_ms=at, session=session, role="main", agent="synthetic")
            fields = {"cols": 120, "rows": 40, "home": "warm", "daemon": "shared", "n_arguments": 0}
            self.run.emit("terminal.start", at_ms=at, session=session, pid=_FIRST_PID + 4 * k, **fields)
            paint, wait = self._time(self.tool.paint_ms), self._time(self.tool.input_ms)
            self.run.emit("terminal.raw", at_ms=at + paint / 2, session=session, cpu_s=paint / 2500)
            self.run.emit("terminal.paint", at_ms=at + paint, session=session, cpu_s=paint / 1200)
            self.run.emit("terminal.probe", at_ms=at + max(paint, wait - 30), session=session, attempt=1)
            if self.draw.random() < self.tool.never_ready_rate:
                self.run.issue("never_ready", session, discard=True)
            else:
                at_ready = at + max(paint + 5, wait)
                self.run.emit("terminal.echo", at_ms=at_ready, session=session, attempt=1, cpu_s=wait / 1100)
                ready.append(at_ready)
        return ready or [1000.0]

    def _time(self, median_ms: float) -> float:
        return median_ms * self.pace * math.exp(self.draw.gauss(0, self.tool.spread / 2))

    def _processes(self) -> list[_One]:
        made: list[_One] = []
        tool = self.tool
        shared = tool.file_mib / self.n * math.exp(self.draw.gauss(0, tool.spread / 8))
        for k in range(self.n):
            pid, at, share = _FIRST_PID + 4 * k, _BEGIN_MS + 2 * k, math.exp(self.draw.gauss(0, 0.01))
            if tool.launcher_mib:
                made.append(_One(pid, _WATCHDOG, pid, "node", at, tool.launcher_mib, shared / 4, root=True))
            app_pid, parent = (pid + 1, pid) if tool.launcher_mib else (pid, _WATCHDOG)
            app = _One(app_pid, parent, pid, "agent", at, tool.anon_mib * self.size * share, shared)
            app.root = not tool.launcher_mib
            made.append(app)
        if tool.daemon_mib:
            anon = tool.daemon_mib * self.size
            daemon = _One(_FIRST_PID + 3, made[0].pid, made[0].sid, "agentd", _BEGIN_MS + 2500, anon, 30.0)
            daemon.leaves_ms = _BEGIN_MS + 3000
            made.append(daemon)
        if self.draw.random() < tool.unreadable_rate:
            made[-1].readable = False
        return made

    def _sample(self, processes: Sequence[_One], at_ms: float, *, slow: bool) -> None:
        rows: list[list[Any]] = []
        alive = [process for process in processes if process.begin_ms < at_ms]
        for process in alive:
            about = process.about(at_ms)
            if self.told.get(process.pid) != about:
                self.told[process.pid] = about
                self.run.emit_memory("memory.process", at_ms=at_ms - 0.01, **about)
            rows.append(self._row(process, about["start"], at_ms, slow=slow))
        anon = sum(row[4] or 0 for row in rows) if slow else None
        group = {"anon": anon, "n": len(alive), "complete": True} if slow else None
        self.run.emit_memory(
            "memory.sample",
            at_ms=at_ms,
            lane="slow" if slow else "fast",
            wall_ns=(2_000_000 if slow else 20_000) * max(1, len(alive)),
            cpu_ns=(1_500_000 if slow else 15_000) * max(1, len(alive)),
            processes=rows,
            n_unreadable=sum(not process.readable for process in alive) if slow else 0,
            n_exited=0,
            n_reused=0,
            cgroup=group,
        )

    def _row(self, process: _One, start: int, at_ms: float, *, slow: bool) -> list[Any]:
        age_s = (at_ms - process.begin_ms) / 1000
        grown = 1 - 0.8 * math.exp(-age_s / self.tool.ramp_s)
        if not self.tool.settles:
            grown *= 1 + 0.02 * age_s
        anon = round(process.anon * _MIB * grown * math.exp(self.draw.gauss(0, 0.001))) // 4096 * 4096
        file = round(process.file * _MIB) // 4096 * 4096
        rss = anon + round(process.file * self.n * _MIB) // 4096 * 4096
        if not slow:
            return [process.pid, start, rss, 11, round(300 * grown, 1)]
        if not process.readable:
            return [process.pid, start, *[None] * 6, 11, round(300 * grown, 1)]
        return [process.pid, start, anon + file, 0, anon, file, 0, rss, 11, round(300 * grown, 1)]
