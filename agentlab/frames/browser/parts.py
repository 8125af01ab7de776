"""Rows of the table ``page_events``: what the page's main thread did by name, with time of its own."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ..reading import Reading

if TYPE_CHECKING:
    from ..chrometrace import Slices, Trace
    from .evidence import PageEvidence

#: What the original left out of its list: they hold the others, or are the recorder's own.
_NOT_LISTED = ("RunTask", "RunMicrotasks", "Profile", "ProfileChunk")


@dataclasses.dataclass
class _Spent:
    n: int = 0
    total_ns: int = 0
    self_ns: int = 0
    longest_ns: int = 0


def build_page_events(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run, those with most time of their own first.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    page = read.page
    trace = page.trace
    if trace is None:
        return []
    own = _own(page, trace)
    everywhere = _everywhere(trace.slices)
    names = sorted({*own, *everywhere}, key=lambda name: (-own.get(name, _Spent()).self_ns, name))
    known = trace.page is not None and page.window is not None
    return [
        {
            **read.run.key(),
            "name": name,
            **_columns(own.get(name, _Spent()) if known else None),
            **_original(everywhere.get(name)),
        }
        for name in names
    ]


def _own(page: PageEvidence, trace: Trace) -> dict[str, _Spent]:
    """Sum by name over what began in the stream on the page's main thread."""
    from ..chrometrace import self_time

    window = page.window
    if trace.page is None or window is None:
        return {}
    slices = trace.slices.on(trace.page)
    own, _ = self_time(slices)
    inside = (slices.start_ns >= window.begin_ns) & (slices.start_ns < window.stream_end_ns)
    kept = inside & (slices.duration_ns >= 0)
    rows = zip(slices.name[kept].tolist(), slices.duration_ns[kept].tolist(), own[kept].tolist(), strict=True)
    spent: dict[str, _Spent] = {}
    for name, duration, alone in rows:
        one = spent.setdefault(slices.names[name], _Spent())
        one.n += 1
        one.total_ns += duration
        one.self_ns += alone
        one.longest_ns = max(one.longest_ns, duration)
    return spent


def _everywhere(slices: Slices) -> dict[str, _Spent]:
    """Sum by name as the original did: all threads, the whole trace, with what lies inside counted again."""
    import numpy as np

    kept = slices.where(slices.duration_ns > 0)
    n = len(slices.names)
    counts = np.bincount(kept.name, minlength=n)
    longest = np.zeros(n, np.int64)
    np.maximum.at(longest, kept.name, kept.duration_ns)
    totals = np.zeros(n, np.int64)
    np.add.at(totals, kept.name, kept.duration_ns)
    return {
        name: _Spent(int(counts[i]), int(totals[i]), 0, int(longest[i]))
        for i, name in enumerate(slices.names)
        if counts[i] and name not in _NOT_LISTED
    }


def _columns(spent: _Spent | None) -> dict[str, Any]:
    if spent is None:
        return {}
    return {
        "n": spent.n,
        "total_ms": spent.total_ns / 1e6,
        "self_ms": spent.self_ns / 1e6,
        "max_ms": spent.longest_ns / 1e6 if spent.n else None,
    }


def _original(spent: _Spent | None) -> dict[str, Any]:
    if spent is None:
        return {}
    return {
        "original_n": spent.n,
        "original_total_ms": spent.total_ns / 1e6,
        "original_max_ms": spent.longest_ns / 1e6,
    }
