"""The original terminal script's JSON, written anew while a study is recorded."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from pathlib import Path

from ..errors import AgentlabError
from .outcome import say

_EACH_S = 0.5


@contextlib.contextmanager
def rewritten(file: Path | None, study: Path) -> Generator[None]:
    """Write the file after each run while this context is entered, and once more at its end.

    Parameters
    ----------
    file : Path or None
        The file; None: nothing is written.
    study : Path
        Folder of the study, which need not exist yet.

    Yields
    ------
    None
    """
    if file is None:
        yield
        return
    end = threading.Event()
    watcher = threading.Thread(target=_watch, args=(file, study, end), name="json-out", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        end.set()
        watcher.join()
        if _n_finished(study):
            _write(file, study)


def _watch(file: Path, study: Path, end: threading.Event) -> None:
    done = 0
    while not end.wait(_EACH_S):
        if (now := _n_finished(study)) > done:
            done = now
            _write(file, study)


def _n_finished(study: Path) -> int:
    from ..engine.slots import FINISHED
    from ..engine.slots import recorded as runs_of

    return sum(run["status"] in FINISHED for run in runs_of(study))


def _write(file: Path, study: Path) -> None:
    from ..importers.terminal_json_writer import write
    from ..recording import load

    try:
        write(load(study), file)
    except AgentlabError as error:  # the study itself is whole, and can be exported later
        say(f"{file} was not written: {error}")
