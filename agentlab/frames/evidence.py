"""The evidence of one run as plain data: what ``run.json`` and its event files say."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from ..errors import RecordingError
from ..jsonfile import read_json
from .values import as_count, as_float, as_int, as_text

#: One line of an event file: ``t`` (CLOCK_MONOTONIC ns), ``kind`` and the fields
#: of ``docs/events.md``.
Event: TypeAlias = dict[str, Any]

EVENTS = "events.jsonl"
GATEWAY = "gateway.jsonl"
MEMORY = "memory.jsonl"
#: The files of evidence that a run may have; only the first is in every run.
EVIDENCE = (EVENTS, GATEWAY, MEMORY)

#: What a browser leaves beside them; not written line by line, so it is not judged by its lines.
TRACE, PROFILE = "trace.json.gz", "cpu.cpuprofile.gz"

#: Where no lock tells: a run under way writes each second, so a file that is silent for longer has no writer.
ALIVE_S = 10.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Issue:
    """A coded doubt about a run.

    Parameters
    ----------
    code : str
        See :data:`agentlab.issues.CODES`.
    detail : str, optional
        Short and redacted.
    discard : bool
        Whether it makes the run ineligible.
    phase : str, optional
        Where it happened.
    t_ns : int, optional
        CLOCK_MONOTONIC ns.
    source : str
        ``"run"`` (raised while recording) or ``"reader"``.
    """

    code: str
    detail: str | None = None
    discard: bool = False
    phase: str | None = None
    t_ns: int | None = None
    source: str = "run"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunInfo:
    """Say what a run is: everything of ``run.json`` that the tables use.

    Parameters
    ----------
    study, arm, run_id : str
        Where it stands; ``study`` is the name of the recording's folder or file.
    run_index : int or None
        0-based inside its arm.
    block : int, optional
        0-based block of interleaved arms.
    sequence : int, optional
        0-based place in the study.
    status : str
        ``complete``, ``failed``, ``cancelled``, ``aborted`` or ``running``.
    issues : tuple of Issue
        Of the run, then of its reader.
    anchor : tuple of int, optional
        (CLOCK_MONOTONIC ns, Unix ns), read back to back.
    warmup_rule : str
        ``"none"`` or ``"original"``.
    planned_turns : int, optional
        Turns of the scenario.
    raw : mapping
        The rest: ``identity``, ``versions``, ``observer``, ``quiet``, swept values, stamps.
    path : Path, optional
        The run's folder.
    """

    study: str
    arm: str
    run_id: str
    run_index: int | None
    block: int | None = None
    sequence: int | None = None
    status: str = "complete"
    issues: tuple[Issue, ...] = ()
    anchor: tuple[int, int] | None = None
    warmup_rule: str = "none"
    planned_turns: int | None = None
    raw: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any], repr=False)
    path: Path | None = dataclasses.field(default=None, repr=False)

    @property
    def eligible(self) -> bool:
        """True when the scenario was carried out and no issue discards the run."""
        return self.status == "complete" and not any(issue.discard for issue in self.issues)

    @property
    def discard_codes(self) -> tuple[str, ...]:
        """Why the run is not eligible: codes of the discarding issues, else its status; empty when it is."""
        codes = tuple(dict.fromkeys(issue.code for issue in self.issues if issue.discard))
        return codes or (() if self.status == "complete" else (self.status,))

    def part(self, name: str) -> Mapping[str, Any]:
        """Return a nested object of ``run.json``, empty when it is absent.

        Parameters
        ----------
        name : str
            E.g. ``"identity"``.

        Returns
        -------
        mapping
        """
        value = self.raw.get(name)
        return value if isinstance(value, dict) else {}

    def key(self) -> dict[str, Any]:
        """Return the six columns that every table begins with.

        Returns
        -------
        dict
        """
        return {
            "study": self.study,
            "arm": self.arm,
            "run_id": self.run_id,
            "run_index": self.run_index,
            "block": self.block,
            "eligible": self.eligible,
        }

    def monotonic_ns(self, unix_ms: object) -> int | None:
        """Convert a server's wall-clock stamp through the run's anchor.

        Parameters
        ----------
        unix_ms : number or None
            Wall-clock ms.

        Returns
        -------
        int or None
            CLOCK_MONOTONIC ns; None when the stamp or the anchor is unknown.
        """
        number = as_float(unix_ms)
        if number is None or self.anchor is None:
            return None
        whole = as_int(unix_ms)
        unix_ns = whole * 1_000_000 if whole is not None else as_int(number * 1e6 // 1)
        return None if unix_ns is None else as_int(unix_ns - self.anchor[1] + self.anchor[0])

    def unix_ms(self, t_ns: int | None) -> float | None:
        """Convert a stamp of ours into wall-clock ms.

        Parameters
        ----------
        t_ns : int or None
            CLOCK_MONOTONIC ns.

        Returns
        -------
        float or None
        """
        if t_ns is None or self.anchor is None:
            return None
        return (t_ns - self.anchor[0] + self.anchor[1]) / 1e6


def read_run(folder: Path, *, study: str, planned_turns: int | None = None) -> RunInfo:
    """Read what a run is, and judge its files.

    Parameters
    ----------
    folder : Path
        The run's folder.
    study : str
        Name of the study.
    planned_turns : int, optional
        Turns of the scenario.

    Returns
    -------
    RunInfo
        A run without an end that nobody writes any more has the discarding issue ``unfinished``;
        damaged lines are issues too.

    Raises
    ------
    RecordingError
        ``run.json`` is missing or cannot be read.
    """
    raw = read_json(folder / "run.json")
    missing = [name for name in ("run_id", "arm", "run_index", "status") if name not in raw]
    if missing:
        raise RecordingError(f"{folder / 'run.json'} lacks {', '.join(missing)}: it is no run of agentlab")
    under_way = raw["status"] == "running" and _alive(folder)
    doubts = _judge(folder, alive=under_way)
    if raw.get("memory") is not None and not (folder / MEMORY).exists():
        # the other tables do not rest on it, and metrics of memory find nothing
        doubts.append(Issue(code="recording_missing", detail=MEMORY, source="reader"))
    if raw["status"] == "running" and not under_way:
        doubts.append(Issue(code="unfinished", detail="no end was written", discard=True, source="reader"))
    return run_of(raw, folder, study=study, planned_turns=planned_turns, doubts=doubts)


def run_of(
    raw: Mapping[str, Any], folder: Path, *, study: str, planned_turns: int | None, doubts: Sequence[Issue]
) -> RunInfo:
    """Make a run of what is known of it.

    Parameters
    ----------
    raw : mapping
        ``run.json``.
    folder : Path
        The run's folder.
    study : str
        Name of the study.
    planned_turns : int or None
        Turns of the scenario.
    doubts : sequence of Issue
        What its reader found.

    Returns
    -------
    RunInfo
    """
    return RunInfo(
        study=study,
        arm=str(raw["arm"]),
        run_id=str(raw["run_id"]),
        run_index=as_int(raw["run_index"]),
        block=as_int(raw.get("block")),
        sequence=as_int(raw.get("sequence")),
        status=str(raw["status"]),
        issues=(*_issues(raw), *doubts),
        anchor=_anchor(raw.get("anchor")),
        warmup_rule=str(raw.get("warmup_rule") or "none"),
        planned_turns=as_count(raw.get("n_turns_asked", planned_turns)),
        raw=raw,
        path=folder,
    )


def read_events(path: Path) -> list[Event]:
    """Read an event file; lines that cannot be read are left out (:func:`read_run` counts them).

    Parameters
    ----------
    path : Path
        E.g. ``events.jsonl``; a missing file gives no events.

    Returns
    -------
    list of Event

    Raises
    ------
    RecordingError
        The file cannot be read, or its run's folder is gone: no events would look like nothing measured.
    """
    import msgspec

    data = _bytes(path)
    if data is None and not path.parent.is_dir():
        raise RecordingError(f"{path.parent} is gone since it was loaded; load its study again")
    if not data:
        return []
    try:
        events = msgspec.json.Decoder(dict[str, Any]).decode_lines(data)
        if all(map(_is_event, events)):
            return events
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    return [event for line in data.split(b"\n") if (event := _line(line)) is not None]


def _line(line: bytes) -> Event | None:
    import msgspec

    try:
        event = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return event if _is_event(event) else None


def _is_event(event: Event) -> bool:
    t = event.get("t")
    return type(t) is int and -(2**63) <= t < 2**63 and type(event.get("kind")) is str


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from None


def _judge(folder: Path, *, alive: bool) -> list[Issue]:
    """Count the lines that cannot be read, without building them.

    A hole inside the file discards the run, because the numbers beside it cannot be trusted; a cut last line
    does not: it is what a crash costs, and a run that ended well has none.
    """
    import msgspec

    issues: list[Issue] = []
    stamp = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
    checker = msgspec.json.Decoder(msgspec.defstruct("Line", [("t", stamp), ("kind", str)]))
    for name in EVIDENCE:
        data = _bytes(folder / name)
        if data is None:
            if name == EVENTS and not alive:
                issues.append(Issue(code="recording_missing", detail=name, discard=True, source="reader"))
            continue
        try:
            checker.decode_lines(data)
            continue
        except (msgspec.MsgspecError, UnicodeDecodeError):
            pass
        *lines, last = data.split(b"\n")
        holes = sum(1 for line in lines if line.strip() and _line(line) is None)
        if holes:
            detail = f"{name}: {holes} of {len(lines)} lines"
            issues.append(Issue(code="recording_damaged", detail=detail, discard=True, source="reader"))
        if last.strip() and _line(last) is None and not alive:
            issues.append(Issue(code="recording_cut", detail=name, source="reader"))
    return issues


def _alive(folder: Path) -> bool:
    """Say whether somebody is writing the run: the recorder holds a lock on its study while it works."""
    lock = folder.parent.parent / ".lock"
    with contextlib.suppress(OSError):
        inode = lock.stat().st_ino
        held = Path("/proc/locks").read_text(encoding="ascii", errors="replace").split()
        return any(field.endswith(f":{inode}") for field in held)
    stamps = [p.stat().st_mtime for n in ("run.json", *EVIDENCE) if (p := folder / n).exists()]
    return bool(stamps) and time.time() - max(stamps) < ALIVE_S


def _anchor(value: object) -> tuple[int, int] | None:
    if not isinstance(value, dict):
        return None
    pair = as_int(value.get("monotonic_ns")), as_int(value.get("unix_ns"))
    return None if pair[0] is None or pair[1] is None else (pair[0], pair[1])


def _issues(raw: Mapping[str, Any]) -> list[Issue]:
    found = raw.get("issues")
    return [
        Issue(
            code=str(one.get("code") or "driver_error"),
            detail=as_text(one.get("detail")),
            discard=one.get("discard") is True,
            phase=as_text(one.get("phase")),
            t_ns=as_int(one.get("t")),
        )
        for one in (found if isinstance(found, list) else [])
        if isinstance(one, dict)
    ]
