"""How a command ends, and where it speaks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..recording import Recordings

#: Exit codes: done; a budget, a check or the measurement failed; wrong usage; measured, but nothing eligible;
#: interrupted.
DONE, FAILED, USAGE, NOTHING_ELIGIBLE, INTERRUPTED = 0, 1, 2, 3, 130


def say(line: str) -> None:
    """Print one line of progress on stderr.

    Parameters
    ----------
    line : str
        What to say.
    """
    print(f"agentlab: {line}", file=sys.stderr, flush=True)


def judge(recordings: Recordings) -> int:
    """Return the exit code of what was measured.

    Parameters
    ----------
    recordings : Recordings
        All that a command looked at.

    Returns
    -------
    int
        0, or 3 when nothing of it is eligible.
    """
    return DONE if any(recording.eligible for recording in recordings) else NOTHING_ELIGIBLE
