"""What can be checked of a figure without looking at it."""

from collections.abc import Iterator
from itertools import combinations

import pytest
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text


class Look:
    """Reads a figure."""

    @staticmethod
    def texts(figure: Figure) -> list[str]:
        return [t.get_text() for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]

    def said(self, figure: Figure) -> str:
        return " ".join(" ".join(self.texts(figure)).replace("\u00a0", " ").split())

    @staticmethod
    def overlaps(figure: Figure) -> list[tuple[str, str]]:
        """Return the pairs of texts that lie on each other."""
        figure.draw_without_rendering()
        unseen = {id(text) for ax in figure.axes for axis in (ax.xaxis, ax.yaxis) for text in _unseen(axis)}
        boxes = [
            (t.get_text(), t.get_window_extent())
            for t in figure.findobj(Text)
            if t.get_visible() and t.get_text().strip() and id(t) not in unseen
        ]
        return [
            (one, two)
            for (one, a), (two, b) in combinations(boxes, 2)
            if a.x0 + 1 < b.x1 and b.x0 + 1 < a.x1 and a.y0 + 1 < b.y1 and b.y0 + 1 < a.y1
        ]


def _unseen(axis: Axis) -> Iterator[Text]:
    """List the labels of ticks beyond the limits: matplotlib keeps them, but does not draw them."""
    low, high = sorted(axis.get_view_interval())
    for tick in axis.get_major_ticks() + axis.get_minor_ticks():
        if not low <= tick.get_loc() <= high:
            yield from (tick.label1, tick.label2)


@pytest.fixture
def look() -> Look:
    return Look()
