"""A trace of Chrome or a CPU profile as a recording of one run: what a page did, and what the file lost."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..frames.browser.evidence import PageEvidence
from ..frames.build import BUILDERS, known
from ..frames.chrometrace import read_trace
from ..frames.chrometrace.source import opened
from ..frames.cpuprofile import read_cpuprofile
from ..frames.evidence import Issue, RunInfo
from ..frames.reading import Reading

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["trace", "profile"]

_HEAD = 1 << 16
_EVENTS = re.compile(rb'"traceEvents"\s*:')
_METADATA = re.compile(rb'\s*\{\s*"metadata"\s*:')
_KEY_BYTES = 100
_FIRST_EVENT = re.compile(rb'\s*\[\s*\{.{0,2000}?"ph"\s*:', re.DOTALL)
_NODES = re.compile(rb'"callFrame"\s*:')
_ENDINGS = re.compile(r"\.(?:json|cpuprofile|gz)$")


def kind_of(path: Path) -> Kind | None:
    """Say what a file holds, by how it begins; behind metadata, which DevTools writes first, by what follows.

    Parameters
    ----------
    path : Path
        Any file, plain or gzip.

    Returns
    -------
    {"trace", "profile"} or None
        None: neither.

    Raises
    ------
    RecordingError
        It cannot be read.
    ImportFormatError
        It is a zip archive; the message says which kind, and what to do.
    """
    with opened(path) as source:
        space = bytearray(_HEAD)
        head = bytes(space[: source.readinto(memoryview(space))])
        if _EVENTS.search(head) or _FIRST_EVENT.match(head):
            return "trace"
        if not head.lstrip().startswith(b"{"):
            return None
        if _METADATA.match(head) is None:
            return "profile" if _NODES.search(head) else None
        while n := source.readinto(memoryview(space)):
            head = head[-_KEY_BYTES:] + bytes(space[:n])
            if _EVENTS.search(head):
                return "trace"
    return None


class PageFile:
    """Runs and tables of one trace or CPU profile.

    There is one run, without a driver, whose window is the whole file; what was lost stands in ``issues`` as
    ``import_note``. What such a file cannot tell (turns, requests, memory) is empty, not zero.

    Parameters
    ----------
    path : Path
        The file.
    kind : {"trace", "profile"}
        What it is.

    Raises
    ------
    RecordingError
        It cannot be read.
    ImportFormatError
        It breaks its format.
    """

    def __init__(self, path: Path, kind: Kind) -> None:
        self.path = path.absolute()
        self.name = path.name
        while (shorter := _ENDINGS.sub("", self.name)) and shorter != self.name:
            self.name = shorter
        info = RunInfo(
            study=self.name,
            arm=kind,
            run_id=f"0000-{kind}",
            run_index=0,
            sequence=0,
            raw={"identity": {"driver": f"chrome {kind}"}},
        )
        if kind == "trace":
            page = PageEvidence(info, [], trace=self.path)
            notes = _trace_notes(page, path)
        else:
            page = PageEvidence(info, [], profile=self.path)
            notes = _profile_notes(page, path)
        issues = tuple(Issue(code="import_note", detail=note, phase="import") for note in notes)
        self._reading = Reading(dataclasses.replace(info, issues=issues), [], [], page=page)
        self.runs = (self._reading.run,)
        self.arms: tuple[str, ...] = (kind,)
        self.scenario: dict[str, Any] | None = None
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self.identity = (kind, digest)
        self.about = {f"{kind}_sha256": digest}

    def at_hand(self, name: str) -> bool:
        """Say that every table is there without long reading."""
        return True

    def table(self, name: str) -> pd.DataFrame:
        """Return one table.

        Parameters
        ----------
        name : str
            Name of the table; those that the file says nothing about are empty.

        Returns
        -------
        pandas.DataFrame
        """
        return known(name).frame(BUILDERS[name](self._reading))


def _trace_notes(page: PageEvidence, path: Path) -> list[str]:
    trace = page.trace or read_trace(path)  # which says why it cannot be read
    notes = trace.report.notes()
    if trace.page is None:
        notes.append("which thread is the page's main thread is not told: tasks are those of all threads")
    elif page.trace_reason == "page_no_tasks":
        notes.append("no tasks: it was recorded without the category disabled-by-default-devtools.timeline")
    return notes


def _profile_notes(page: PageEvidence, path: Path) -> list[str]:
    profile = page.page_profile or read_cpuprofile(path)
    notes: list[str] = []
    if profile.lead_ms:
        notes.append(f"{profile.lead_ms:.1f} ms before the first sample are in no sum")
    if profile.n_unknown:
        notes.append(f"{profile.n_unknown} samples have no time or no node and are left out")
    return notes
