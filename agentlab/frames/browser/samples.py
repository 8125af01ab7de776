"""The browser's own counters of a page: before, during and after the window, and after a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..values import as_text
from .counters import sample_columns

if TYPE_CHECKING:
    from .evidence import PageEvidence


class Samples:
    """Read the samples of one page.

    Parameters
    ----------
    page : PageEvidence
        The page.

    Attributes
    ----------
    begin, end : dict
        Columns of the samples at both ends of the window; empty when one is missing.
    collected : dict
        Columns of the sample after the forced collection.
    kept_since : str or None
        ``"gc"``: there was one before the window too; ``"sample"``: there was not.
    """

    def __init__(self, page: PageEvidence) -> None:
        samples = [(event, sample_columns(event)) for event in page.all("sample")]
        by_place = {place: {} for place in ("begin", "end")}
        self._running: list[tuple[int, dict[str, Any]]] = []
        for event, columns in samples:
            place = as_text(event.get("at"))
            if place in by_place:
                by_place[place] = columns
            else:
                self._running.append((event["t"], columns))
        self.begin, self.end = by_place["begin"], by_place["end"]
        window, collected = page.window, page.all("gc")
        before = [e for e in collected if window is not None and e["t"] < window.begin_ns]
        after = [e for e in collected if window is None or e["t"] >= window.end_ns]
        self.collected = sample_columns(after[-1]) if after else {}
        self._base = sample_columns(before[-1]) if before else self.begin
        since = "gc" if before else "sample" if self.begin else None
        self.kept_since = since if after else None

    def grown(self, name: str) -> Any:  # noqa: ANN401
        """Return what a column grew by in the window; None when an end is unknown."""
        return _difference(self.end.get(name), self.begin.get(name))

    def kept(self, name: str) -> Any:  # noqa: ANN401
        """Return what a column grew by and did not lose in the forced collection."""
        return _difference(self.collected.get(name), self._base.get(name))

    def running(self, name: str) -> list[Any]:
        """Return a column of the samples in the window."""
        return [value for _, value in self.points(name)]

    def points(self, name: str) -> list[tuple[int, Any]]:
        """Return (CLOCK_MONOTONIC ns, value) of the samples in the window."""
        return [(at, value) for at, columns in self._running if (value := columns[name]) is not None]


def _difference(later: Any, earlier: Any) -> Any:  # noqa: ANN401
    return None if later is None or earlier is None else later - earlier
