"""Rows of the table ``issues``: one per coded doubt."""

from __future__ import annotations

from typing import Any

from .reading import Reading


def build_issues(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run; its issues are those of ``run.json`` and of its reader.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    return [
        {
            **read.run.key(),
            "seq": number,
            "code": issue.code,
            "phase": issue.phase,
            "detail": issue.detail,
            "discard": issue.discard,
            "t_ns": issue.t_ns,
            "source": issue.source,
        }
        for number, issue in enumerate(read.run.issues, 1)
    ]
