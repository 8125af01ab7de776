"""Rows of the table ``issues``: one per coded doubt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .evidence import Event, RunInfo


def build_issues(
    run: RunInfo, events: Sequence[Event], gateway_events: Sequence[Event]
) -> list[dict[str, Any]]:
    """Build the rows of one run.

    Parameters
    ----------
    run : RunInfo
        The run; its issues are those of ``run.json`` and of its reader.
    events, gateway_events : sequence of Event
        Not needed here.

    Returns
    -------
    list of dict
        By column name.
    """
    return [
        {
            **run.key(),
            "seq": number,
            "code": issue.code,
            "phase": issue.phase,
            "detail": issue.detail,
            "discard": issue.discard,
            "t_ns": issue.t_ns,
            "source": issue.source,
        }
        for number, issue in enumerate(run.issues, 1)
    ]
