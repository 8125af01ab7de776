"""What ``memory.jsonl`` says: samples in order, the phase of each, and what is known of its processes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from .evidence import Event
from .values import as_bool, as_count, as_float, as_int, as_text, total

#: Order of the numbers of a process in ``memory.sample``, behind its id and start, by lane.
_ORDER = {
    "slow": ("pss", "swap_pss", "anon", "file", "shmem", "rss", "n_threads", "cpu_ms"),
    "fast": ("rss", "n_threads", "cpu_ms"),
}
#: A process: its id, and its start in clock ticks, which tells a reused id.
ProcessKey = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Process:
    """One process in one sample.

    Parameters
    ----------
    pid, start : int
        Who it is.
    pss, swap_pss, anon, file, shmem, rss : int or None
        Bytes; None: not read, or unreadable.
    n_threads : int or None
        Its threads.
    cpu_ms : float or None
        CPU time since its start.
    about : Event
        The last ``memory.process`` of it at that time; empty: none.
    """

    pid: int
    start: int
    pss: int | None
    swap_pss: int | None
    anon: int | None
    file: int | None
    shmem: int | None
    rss: int | None
    n_threads: int | None
    cpu_ms: float | None
    about: Event

    @property
    def key(self) -> ProcessKey:
        """Its id and start."""
        return self.pid, self.start

    @property
    def total(self) -> int | None:
        """PSS + SwapPSS, bytes."""
        return total(self.pss, self.swap_pss)

    def is_(self, name: str) -> bool | None:
        """Say whether it is ``root``, ``in_tree``, ``in_group`` or ``tagged``; None: unknown."""
        return as_bool(self.about.get(name))

    @property
    def ppid(self) -> int | None:
        """Its parent."""
        return as_int(self.about.get("ppid"))


@dataclasses.dataclass(frozen=True)
class Sample:
    """One sample: its event, its phase, whether it is of the plateau, its processes."""

    event: Event
    phase: str | None
    settled: bool
    processes: tuple[Process, ...]

    @property
    def is_slow(self) -> bool:
        """Whether page tables were walked."""
        return self.event.get("lane") == "slow"


def read_samples(events: Sequence[Event]) -> list[Sample]:
    """Read what was sampled.

    Settled are the window that was found to be flat, and what follows until the end is marked; a sample that
    was still being taken then has seen processes leave, and is none of it. Where a
    plateau was asked for and not reached, no sample is settled; where the driver never asked, but waited for
    a time of its own, what follows its mark ``settled`` is.

    Parameters
    ----------
    events : sequence of Event
        Of ``memory.jsonl``.

    Returns
    -------
    list of Sample
        In order of time.
    """
    # what a sample found new is told at the sample's own stamp
    ordered = sorted(events, key=lambda event: (event["t"], event["kind"] == "memory.sample"))
    begin, end = _plateau(ordered)
    phase: str | None = None
    about: dict[ProcessKey, Event] = {}
    samples: list[Sample] = []
    for event in ordered:
        if event["kind"] == "memory.phase":
            phase = as_text(event.get("phase"))
        elif event["kind"] == "memory.process":
            pid, start = as_int(event.get("pid")), as_int(event.get("start"))
            if pid is not None and start is not None:
                about[pid, start] = event
        elif event["kind"] == "memory.sample":
            taken = event["t"] + (as_count(event.get("wall_ns")) or 0)
            settled = begin is not None and begin <= event["t"] and (end is None or taken < end)
            samples.append(
                Sample(event, phase, settled and event.get("lane") == "slow", _processes(event, about))
            )
    return samples


def _plateau(events: Sequence[Event]) -> tuple[int | None, int | None]:
    """Return begin and end (ns) of what is settled."""
    answers = [event for event in events if event["kind"] == "memory.plateau"]
    marks = [(event["t"], event.get("phase")) for event in events if event["kind"] == "memory.phase"]
    begins = [as_int(event.get("since")) for event in answers if event.get("reached") is True]
    if not answers:
        begins = [t for t, phase in marks if phase == "settled"]
    if not begins or (begin := begins[0]) is None:
        return None, None
    return begin, next((t for t, phase in marks if phase == "end" and t >= begin), None)


def _processes(event: Event, about: dict[ProcessKey, Event]) -> tuple[Process, ...]:
    found, names = event.get("processes"), _ORDER.get(str(event.get("lane")), ())
    rows: list[Any] = found if isinstance(found, list) else []
    return tuple(made for row in rows if (made := _process(row, names, about)) is not None)


def _process(row: Any, names: Sequence[str], about: dict[ProcessKey, Event]) -> Process | None:  # noqa: ANN401
    values: list[Any] = list(row) if isinstance(row, list) else []
    pid, start = (as_int(value) for value in (*values, None, None)[:2])
    if pid is None or start is None:
        return None
    told = dict(zip(names, values[2:], strict=False))
    counts = {name: as_count(told.get(name)) for name in _ORDER["slow"][:-1]}
    return Process(
        pid, start, **counts, cpu_ms=as_float(told.get("cpu_ms")), about=about.get((pid, start), {})
    )
