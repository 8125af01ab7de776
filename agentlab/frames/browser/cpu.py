"""Rows of the tables ``cpu`` and ``callsites``: which code it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..reading import Reading
from ..values import as_count, as_float, as_text

if TYPE_CHECKING:
    from .evidence import PageEvidence


def build_cpu(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run: the functions of each profile, those with most time of their own first.

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
            "profile": name,
            "seq": seq,
            "function": function.function or "(anonymous)",
            "url": function.url or None,
            "line": function.line,
            "column": function.column,
            "label": function.label,
            "kind": function.kind,
            "self_ms": function.self_ms,
            "total_ms": function.total_ms,
            "n_samples": function.n_samples,
            "share": function.share,
        }
        for name, profile in read.page.profiles
        for seq, function in enumerate(profile.functions(), 1)
    ]


def build_callsites(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run: call sites and counters of the probe, then the app's own counters.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    key = read.run.key()
    parts = {"site": _sites(read.page), "counter": _counters(read.page), "app": _app(read.page)}
    return [
        {**key, "kind": kind, "seq": seq, **row}
        for kind, rows in parts.items()
        for seq, row in enumerate(rows, 1)
    ]


def counters_of(page: PageEvidence) -> dict[str, int]:
    """Return the probe's counters.

    Parameters
    ----------
    page : PageEvidence
        The page.

    Returns
    -------
    dict
        Count by name; empty without a probe.
    """
    found = page.last("probe").get("counters")
    told = found if isinstance(found, dict) else {}
    return {str(name): n for name, value in told.items() if (n := as_count(value)) is not None}


def _sites(page: PageEvidence) -> list[dict[str, Any]]:
    found = page.last("probe").get("sites")
    rows: list[dict[str, Any]] = []
    for one in found if isinstance(found, list) else []:
        values: list[Any] = [*one, *[None] * 4][:4] if isinstance(one, list) else [None] * 4
        name = as_text(values[0])
        if name is not None:
            times = {"total_ms": as_float(values[2]), "max_ms": as_float(values[3])}
            rows.append({"name": name, "calls": as_count(values[1]), **times})
    return sorted(rows, key=lambda row: -(row["total_ms"] or 0.0))


def _counters(page: PageEvidence) -> list[dict[str, Any]]:
    return [{"name": name, "calls": n} for name, n in counters_of(page).items()]


def _app(page: PageEvidence) -> list[dict[str, Any]]:
    found = [event.get("entries") for event in page.all("app_counters")]
    rows = [
        {
            "name": as_text(one.get("metric")) or "(unnamed)",
            "calls": as_count(one.get("count")),
            "total_ms": as_float(one.get("total")),
            "max_ms": as_float(one.get("max")),
        }
        for entries in found
        if isinstance(entries, list)
        for one in entries
        if isinstance(one, dict)
    ]
    return sorted(rows, key=lambda row: -(row["total_ms"] or 0.0))
