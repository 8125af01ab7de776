"""Tapes: recorded replies, which a gateway can play again through the same code."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from ..errors import ConfigError
from ..jsonfile import read_json
from .checks import given

#: What happened on the agent's connection: how a reply began, went on and ended.
OPS = ("tape.start", "tape.write", "tape.send", "tape.end", "tape.reset")


@dataclasses.dataclass(frozen=True)
class Tape:
    """Replay recorded replies instead of asking a model.

    A study that was recorded with ``keep="content"`` behind a gateway holds a tape for each run: what each
    agent was answered, byte by byte. Played, each run gets the take of one recorded run: the next one of an
    arm of the same name, else the next one of any arm that begins in the same wire; after the last one it
    begins again. A request gets the reply that its prompt got then; when no such prompt is on the take (a
    prompt may hold a folder or a date), the next reply of the same chain, and the reason ``tape_mismatch``;
    when none is left, it is refused with ``tape_end``.

    Parameters
    ----------
    path : str or Path
        A study, a run's folder, or a ``tape.jsonl``.
    timing : {"none", "original"}
        ``"none"``: at once. ``"original"``: each part when it came then, counted from the request.
    digest : str, optional
        Of the tape as it was; found out when absent. Another tape is refused.

    Raises
    ------
    ConfigError
        There is no tape, it cannot be read, or it is another one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Tape(folder)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    agentlab.errors.ConfigError: ...
    """

    path: str | Path
    _: dataclasses.KW_ONLY
    timing: Literal["none", "original"] = "none"
    digest: str | None = None

    def __post_init__(self) -> None:
        if given(self.timing) not in ("none", "original"):
            raise ConfigError(f"Tape(timing={self.timing!r}): write 'none' or 'original'")
        if not isinstance(given(self.path), str | os.PathLike):
            raise ConfigError(
                f"Tape({type(self.path).__name__}): give a study's folder, a run's folder or a tape.jsonl"
            )
        object.__setattr__(self, "path", str(self.path))
        hashed = hashlib.sha256()
        for file in self.files():
            hashed.update(_bytes_of(file))
        found = hashed.hexdigest()
        if self.digest not in (None, found):
            raise ConfigError(f"Tape({self.path!r}): the tape is another one than it was; record anew")
        object.__setattr__(self, "digest", found)
        if not self.takes():
            raise ConfigError(f"Tape({self.path!r}): no reply is on it")

    def files(self) -> list[Path]:
        """Return the files of the tape, in the order of the runs.

        Returns
        -------
        list of Path

        Raises
        ------
        ConfigError
            There is none.
        """
        path = Path(self.path)
        if path.is_file():
            return [path]
        found = [*path.glob("tape*.jsonl"), *path.glob("runs/*/tape*.jsonl")]
        if not found:
            raise ConfigError(f"Tape({self.path!r}): {_why_none(path)}")
        # tape.jsonl, tape-2.jsonl ... tape-10.jsonl, as gateways were started.
        return sorted(found, key=lambda file: (len(file.parts), file.parent, len(file.name), file.name))

    def takes(self) -> list[Take]:
        """Read the tape.

        Returns
        -------
        list of Take
            Those with replies.

        Raises
        ------
        ConfigError
            A file cannot be read.
        """
        takes = [take for file in self.files() for take in _read(file)]
        return [take for take in takes if take.replies]

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON data.

        Returns
        -------
        dict
        """
        return {"path": str(Path(self.path).absolute()), "timing": self.timing, "digest": self.digest}


@dataclasses.dataclass
class Reply:
    """Hold one recorded reply.

    Parameters
    ----------
    dialect : str
        Of the request.
    chain : str or None
        Of the request.
    hash : str
        Of its prompt; see :func:`prompt_hash`.
    begin_ns : int
        End of the request's body.
    ops : list of mapping
        Lines of the kinds :data:`OPS`.
    result : mapping
        What was noted of it.
    """

    dialect: str
    chain: str | None
    hash: str
    begin_ns: int
    ops: list[Mapping[str, Any]] = dataclasses.field(default_factory=list[Mapping[str, Any]])
    result: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])


@dataclasses.dataclass
class Take:
    """Hold what one run was answered, in order."""

    run_id: str | None
    arm: str | None
    replies: list[Reply] = dataclasses.field(default_factory=list[Reply])


def prompt_hash(canonical: bytes) -> str:
    """Hash a prompt.

    Parameters
    ----------
    canonical : bytes
        The canonical ``[tools, system, history]``.

    Returns
    -------
    str
        Hexadecimal.
    """
    return hashlib.sha256(canonical).hexdigest()


def tape_file(gateway_file: str) -> str:
    """Return where the tape of a run's requests lies.

    Parameters
    ----------
    gateway_file : str
        Its ``gateway.jsonl``.

    Returns
    -------
    str
        ``tape.jsonl`` beside it; ``tape-2.jsonl`` beside ``gateway-2.jsonl``.
    """
    path = Path(gateway_file)
    return str(path.with_name("tape" + path.name.removeprefix("gateway")))


def data_of(op: Mapping[str, Any]) -> bytes:
    """Return the bytes of a line.

    Parameters
    ----------
    op : mapping
        With ``text``, or ``base64`` for what is no text.

    Returns
    -------
    bytes
    """
    return base64.b64decode(op["base64"]) if "base64" in op else str(op["text"]).encode()


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ConfigError(f"Tape({str(file)!r}): it cannot be read: {error.strerror}") from error


def _read(file: Path) -> list[Take]:
    takes: dict[str | None, Take] = {}
    replies: dict[int, Reply] = {}
    for line in _bytes_of(file).split(b"\n"):
        try:
            row = json.loads(line)
            kind, number = row["kind"], row["request"]
            begun = (
                (row["dialect"], row.get("chain"), row["hash"], row["t"]) if kind == "tape.begin" else None
            )
        except (ValueError, KeyError, TypeError):
            continue  # the empty rest, or a line that was under way
        if begun is not None:
            replies[number] = Reply(*begun)
            take = takes.setdefault(row.get("run_id"), Take(row.get("run_id"), row.get("arm")))
            take.replies.append(replies[number])
        elif kind in OPS and number in replies:
            replies[number].ops.append(row)
        elif kind == "tape.result" and number in replies:
            replies[number].result = row
    return list(takes.values())


def _why_none(path: Path) -> str:
    """Say why a folder has no tape."""
    if not path.exists():
        return "there is no such file or folder"
    study = path if (path / "study.json").is_file() else path.parent.parent
    if not (study / "study.json").is_file():
        return "there is no tape; give a study, a run's folder or a tape.jsonl"
    told = read_json(study / "study.json")
    if told.get("keep") != "content":
        return (
            "it was recorded with keep='numbers'; a tape holds answers and needs record(..., keep='content')"
        )
    return "it was not recorded behind a gateway, so there is no tape"
