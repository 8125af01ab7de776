"""What the gateway noted of a run's requests and makes the run doubtful."""

from __future__ import annotations

from collections import Counter
from typing import Any

#: Reasons of requests that are issues of their run; the run stays eligible.
NOTED = ("script_no_tool", "tape_end", "tape_mismatch")
_FAULTS = (
    ("upstream_away", "requests: the provider could not be reached for a while"),
    ("upstream_lost", "requests: the provider hung up without an answer"),
)


def doubts_of(gateway: Any) -> list[tuple[str, str]]:  # noqa: ANN401
    """Count what was noted in the run that began last.

    Parameters
    ----------
    gateway : Live or None
        In front of the run; a stand-in may tell nothing.

    Returns
    -------
    list of (str, str)
        Code and detail of each issue.
    """
    told = getattr(gateway, "of_run", None)
    if told is None:
        return []
    reasons = Counter(str(row.get("reason")).partition(":")[0] for row in told())
    doubts = [(code, f"{reasons[code]} requests") for code in NOTED if reasons[code]]
    return doubts + [("gateway_fault", f"{reasons[code]} {what}") for code, what in _FAULTS if reasons[code]]


def went_around(gateway: Any) -> bool:  # noqa: ANN401
    """Say whether no request at all of the run that began last came through its gateway.

    Parameters
    ----------
    gateway : Live or None
        In front of the run; a stand-in may tell nothing.

    Returns
    -------
    bool
        An agent that answered all the same asked somebody else: unmetered, and beyond every budget.
    """
    told = getattr(gateway, "of_run", None)
    return told is not None and not told()
