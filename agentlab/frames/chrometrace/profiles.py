"""CPU profiles inside a trace (category v8.cpu_profiler): of the page, and of its workers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import msgspec

from .events import Event

if TYPE_CHECKING:
    from ..cpuprofile import CpuProfile, RawNode


class _Node(msgspec.Struct):
    nodes: list[msgspec.Raw] = []
    samples: list[int] = []
    endTime: int | float | None = None


class _Data(msgspec.Struct):
    startTime: int | float | None = None
    endTime: int | float | None = None
    cpuProfile: _Node = msgspec.field(default_factory=_Node)
    timeDeltas: list[int | float] = []


class _Args(msgspec.Struct):
    data: _Data = msgspec.field(default_factory=_Data)


_decode = msgspec.json.Decoder(_Args).decode


@dataclasses.dataclass
class _Parts:
    pid: int | None
    tid: int | None = None
    start_us: float | None = None
    end_us: float | None = None
    nodes: list[RawNode] = dataclasses.field(default_factory=list)
    samples: list[int] = dataclasses.field(default_factory=list)
    deltas: list[float] = dataclasses.field(default_factory=list)


class ProfileParts:
    """Collect the pieces of profiles while a trace is read: a piece names process and id."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], _Parts] = {}

    def add(self, event: Event, args: msgspec.Raw) -> bool:
        """Take ``Profile`` (its thread is the sampled one) or ``ProfileChunk``.

        Parameters
        ----------
        event : Event
            The event.
        args : Raw
            Its arguments.

        Returns
        -------
        bool
            It could be read.
        """
        from ..cpuprofile import RawNode

        try:
            data = _decode(args).data
            nodes = [msgspec.json.decode(node, type=RawNode) for node in data.cpuProfile.nodes]
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return False
        parts = self._found.setdefault(event.key, _Parts(_whole(event.pid)))
        if event.name == "Profile":
            parts.tid = _whole(event.tid)
            parts.start_us = data.startTime if data.startTime is not None else event.ts
        parts.nodes += nodes
        parts.samples += data.cpuProfile.samples
        parts.deltas += data.timeDeltas
        ended = data.endTime if data.endTime is not None else data.cpuProfile.endTime
        parts.end_us = parts.end_us if ended is None else ended
        return True

    def finish(self) -> list[CpuProfile]:
        """Return the profiles, in the order of their threads; one without its beginning is left out.

        Returns
        -------
        list of CpuProfile
        """
        from ..cpuprofile import build_profile

        found = [
            build_profile(p.nodes, p.samples, p.deltas, p.start_us, p.end_us, pid=p.pid, tid=p.tid)
            for p in self._found.values()
            if p.start_us is not None
        ]
        return sorted(found, key=lambda profile: (profile.pid or 0, profile.tid or 0))


def _whole(value: float | str | None) -> int | None:
    return int(value) if isinstance(value, (int, float)) else None
