"""Find what a path holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..errors import AgentlabError, ConfigError, ImportFormatError, RecordingError
from ..frames.evidence import EVIDENCE
from ..frames.store import StudyFolder
from ..redact import redact
from .recordings import Recordings

_EXAMPLES = Path(__file__).resolve().parent.parent / "data"


def load(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Recordings:
    """Read recordings back; no network, no kernel.

    Parameters
    ----------
    path : path or sequence of paths
        A study's folder, a folder of studies, one run's folder, or a file that an importer knows (the
        original scripts' reports, a trace of Chrome, a CPU profile). Several are joined.

    Returns
    -------
    Recordings

    Raises
    ------
    RecordingError
        Nothing is there, or it is damaged; of several, all that are damaged are named at once. A damaged run
        inside a study is no error: it is kept with the discarding issue ``recording_damaged``.
    ImportFormatError
        A file in no known format, or one that breaks its format.
    ConfigError
        One study is given twice.

    Examples
    --------
    >>> import agentlab as al
    >>> al.load(al.example("cache")).arms
    ('stable', 'volatile')
    """
    if isinstance(path, (str, os.PathLike)):
        return _load(Path(path).expanduser())
    given: Any = path  # whatever it really is
    paths = [Path(one).expanduser() for one in given] if _are_paths(given) else None
    if paths is None:
        raise ConfigError(f"load({type(path).__name__}): give a study's folder, e.g. load('studies/cache')")
    if not paths:
        raise ConfigError("load([]): give at least one path")
    return _all_of(paths)


def _are_paths(given: Any) -> bool:  # noqa: ANN401
    if not isinstance(given, Iterable) or hasattr(given, "columns"):  # a table gives the names of its columns
        return False
    return all(isinstance(one, (str, os.PathLike)) for one in list(given))


def _all_of(paths: Sequence[Path]) -> Recordings:
    """Join them; those that cannot be read are named together, and none is left out in silence."""
    found: list[Recordings] = []
    errors: list[AgentlabError] = []
    for path in paths:
        try:
            found.append(_load(path))
        except (RecordingError, ImportFormatError) as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        kinds = {type(error) for error in errors}
        kind = ImportFormatError if kinds == {ImportFormatError} else RecordingError
        said = "".join(f"\n  {error}" for error in errors)
        raise kind(f"{len(errors)} of {len(paths)} cannot be loaded; mend them or leave them out:{said}")
    joined = found[0]
    for one in found[1:]:
        joined = joined + one
    return joined


def _load(path: Path) -> Recordings:
    try:
        there = path.exists()
    except OSError as error:  # e.g. a name that is too long
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from None
    if path.name in ("study.json", "run.json", *EVIDENCE) and path.is_file():
        path = path.parent
    if path.is_file():
        from ..importers import read

        return Recordings([read(path)])
    if not there:
        raise RecordingError(f"{path} does not exist{_elsewhere(path)}")
    if (path / "study.json").is_file():
        return Recordings([StudyFolder(path)])
    if (path / "run.json").is_file():
        return _load_run(path)
    if (path / "session-summary.json").is_file():  # the folder that the original web-chat script wrote
        return _load(path / "session-summary.json")
    studies = sorted(p.parent for p in path.glob("*/study.json"))
    if studies:
        return _all_of(studies)
    if (path.parent / "study.json").is_file():
        raise RecordingError(
            f"{path} is a part of a study; load the study itself: load({str(path.parent)!r})"
        )
    raise RecordingError(
        f"{path} holds no study: study.json is missing there and in the folders below. Give the folder that "
        "record(..., to=) wrote"
    )


def _elsewhere(path: Path) -> str:
    """Say where a path that does not exist was looked for, and what was probably meant."""
    if (_EXAMPLES / path.name / "study.json").is_file() and path.parent == Path():
        return f"; the example that is shipped is load(example({path.name!r}))"
    if path.is_absolute():
        return ""
    near = sorted(str(found.parent) for found in Path().glob("studies/*/study.json"))
    have = f"; studies here are {', '.join(near[:5])}" if near else ""
    return f" in {redact(str(Path.cwd()))}{have}"


def _load_run(path: Path) -> Recordings:
    folder = path.resolve().parent.parent
    if not (folder / "study.json").is_file():
        return Recordings([StudyFolder(path)])
    study = StudyFolder(folder)
    return Recordings(
        [study], [(0, run.run_id) for run in study.runs if run.path and run.path.name == path.resolve().name]
    )


def example(name: str) -> Path:
    """Return the path of a recording that is shipped with agentlab.

    Parameters
    ----------
    name : str
        ``"cache"``.

    Returns
    -------
    Path

    Raises
    ------
    ConfigError
        There is no such example.

    Examples
    --------
    >>> example("cache").name
    'cache'
    """
    path = _EXAMPLES / name
    if not (path / "study.json").is_file():
        have = ", ".join(sorted(p.parent.name for p in _EXAMPLES.glob("*/study.json"))) or "none"
        raise ConfigError(f"there is no example {name!r}; there are: {have}")
    return path
