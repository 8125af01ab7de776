"""Foreign files as recordings: found by what they hold, not by their names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ImportFormatError, RecordingError

if TYPE_CHECKING:
    from .chrome_trace import PageFile
    from .schema2 import CacheReport
    from .session_summary import SessionSummary
    from .terminal_json import TerminalReport

#: What :func:`read` knows, for messages.
KNOWN = (
    "the original cache script's report (JSON with schemaVersion 2)",
    "the original terminal script's JSON (date_utc, machine, summary, runs)",
    "the original web-chat script's session-summary.json (recordedAt, metrics, reachedIdle)",
    "a trace of Chrome or DevTools (traceEvents), plain or gzip",
    "a CPU profile (.cpuprofile of Chrome, DevTools, Node), plain or gzip",
)


def read(path: Path) -> CacheReport | TerminalReport | SessionSummary | PageFile:
    """Read a foreign file.

    Parameters
    ----------
    path : Path
        File.

    Returns
    -------
    CacheReport, TerminalReport, SessionSummary or PageFile
        A source of runs and tables for :class:`agentlab.Recordings`.

    Raises
    ------
    RecordingError
        The file cannot be read.
    ImportFormatError
        No importer knows it, or it breaks its format; the message names the field.
    """
    from . import chrome_trace, schema2, session_summary, terminal_json

    if (kind := chrome_trace.kind_of(path)) is not None:
        return chrome_trace.PageFile(path, kind)
    data = _json(path)
    if isinstance(data, dict) and schema2.knows(data):
        return schema2.CacheReport(path, data)
    if isinstance(data, dict) and terminal_json.knows(data):
        return terminal_json.TerminalReport(path, data)
    if isinstance(data, dict) and session_summary.knows(data):
        return session_summary.SessionSummary(path, data)
    if isinstance(data, dict) and "traceEvents" in data:  # behind much else
        return chrome_trace.PageFile(path, "trace")
    raise ImportFormatError(
        f"{path}: unknown format. Known are study folders of agentlab and " + "; ".join(KNOWN)
    )


def _json(path: Path) -> Any:  # noqa: ANN401
    import msgspec

    try:
        return msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
