"""ESTIMATES as a DataFrame that shows itself as a card.

A thin subclass, and not a formatter (which would change how every DataFrame is shown) nor a Styler (which is
no DataFrame). Whatever is made of it stays a DataFrame: with all columns that the card needs it is still
``Estimates``, e.g. after ``query`` or sorting; with fewer it is a plain ``pandas.DataFrame``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

#: Without these there is no card.
NEEDED = frozenset({"metric", "kind", "arm", "estimate", "lower", "upper", "status"})


class Estimates(pd.DataFrame):
    """A DataFrame of estimates.

    Examples
    --------
    >>> from agentlab.testing.estimates import estimates_frame
    >>> estimates = Estimates(estimates_frame())
    >>> type(estimates.query("kind == 'level'")).__name__, type(estimates[["arm"]]).__name__
    ('Estimates', 'DataFrame')
    """

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return _estimates_or_frame

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from ..widgets.cards import estimates_card  # only when it is shown

        return estimates_card(self)


def _estimates_or_frame(*args: Any, **kwargs: Any) -> pd.DataFrame:  # noqa: ANN401
    frame = pd.DataFrame(*args, **kwargs)
    return Estimates(frame) if set(frame.columns) >= NEEDED else frame
