"""The files of a gateway's evidence: named afresh for each life, read back request by request."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import RecordingError


def fresh_file(folder: Path) -> Path:
    """Make a file of one's own: several gateways of a study, or of its resumption, count from 1 each.

    Parameters
    ----------
    folder : Path
        Where to.

    Returns
    -------
    Path
        ``gateway.jsonl``, or ``gateway-2.jsonl`` ...; empty, 0600.

    Raises
    ------
    RecordingError
        It cannot be written to.
    """
    for number in itertools.count(1):
        file = folder / ("gateway.jsonl" if number == 1 else f"gateway-{number}.jsonl")
        try:
            file.touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            continue
        except OSError as error:
            raise RecordingError(f"{folder}: the gateway cannot write here: {error.strerror}") from error
        return file
    raise AssertionError


def finished(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Join the begin and end lines of each request.

    Parameters
    ----------
    files : sequence of Path
        Of one gateway's life; those that are not there hold nothing.

    Returns
    -------
    list of dict
        By number; those that have ended.
    """
    rows: dict[int, dict[str, Any]] = {}
    for line in (line for file in files if file.is_file() for line in file.read_bytes().split(b"\n")):
        try:
            event = json.loads(line)
        except ValueError:
            continue  # the empty rest, or a last line under way
        kind, t = event.pop("kind"), event.pop("t")
        if "request" not in event:  # a call of a tool
            continue
        row = rows.setdefault(event["request"], {"n_chunks": 0})
        if kind == "request.chunk":
            row["n_chunks"] += 1
            row.setdefault("t_first", t)
        else:
            row.update(event)
            row["t_begin" if kind == "request.begin" else "t_end"] = t
    return [rows[number] for number in sorted(rows) if "t_end" in rows[number]]
