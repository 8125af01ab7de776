"""An ESTIMATES frame as plain rows: no NA, no dtypes, nothing that can raise while something is drawn."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """One estimate; ``None`` is unknown.

    The fields are the columns of ESTIMATES; ``flags`` is a tuple of codes.
    """

    metric: str
    kind: str
    arm: str
    unit: str = ""
    better: str = ""
    reference: str | None = None
    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    level: float | None = None
    interval: str = ""
    paired: bool | None = None
    n_runs: int | None = None
    n_blocks: int | None = None
    n_blocks_dropped: int | None = None
    n_discarded: int | None = None
    n_missing: int | None = None
    n_rows: int | None = None
    n_resamples: int | None = None
    seed: int | None = None
    status: str = "ok"
    flags: tuple[str, ...] = ()
    reason: str = ""

    @property
    def open_lower(self) -> bool:
        """Whether the interval has no known lower end."""
        return _open(self.lower, self.upper)

    @property
    def open_upper(self) -> bool:
        """Whether the interval has no known upper end; flag ``open`` says that ``upper`` is only reached."""
        return _open(self.upper, self.lower) or ("open" in self.flags and self.upper is not None)

    @property
    def has_interval(self) -> bool:
        """Whether at least one end of the interval is known."""
        return any(end is not None and math.isfinite(end) for end in (self.lower, self.upper))


def _open(end: float | None, other: float | None) -> bool:
    if end is None:
        return other is not None and math.isfinite(other)
    return math.isinf(end)


def read_rows(frame: pd.DataFrame) -> list[Row]:
    """Read an ESTIMATES frame.

    Parameters
    ----------
    frame : pandas.DataFrame
        As :func:`agentlab.compare` returns it. Columns that are not there are unknown.

    Returns
    -------
    list of Row
        In the frame's order.
    """
    return [_row(record) for record in frame.to_dict("records")]


_TEXTS = ("metric", "kind", "arm", "unit", "better", "interval", "reason")
_NUMBERS = ("estimate", "lower", "upper", "level")
_COUNTS = (
    "n_runs", "n_blocks", "n_blocks_dropped", "n_discarded", "n_missing", "n_rows", "n_resamples", "seed",
)  # fmt: skip


def _row(record: dict[Any, Any]) -> Row:
    values: dict[str, Any] = {str(k): _plain(v) for k, v in record.items()}
    fields: dict[str, Any] = {k: _text(values.get(k)) for k in _TEXTS}
    fields |= {k: _float(values.get(k)) for k in _NUMBERS}
    fields |= {k: _int(values.get(k)) for k in _COUNTS}
    paired = values.get("paired")
    return Row(
        **fields,
        paired=None if paired is None else bool(paired),
        reference=_text(values.get("reference")) or None,
        status=_text(values.get("status")) or "ok",
        flags=split_flags(values.get("flags")),
    )


def split_flags(value: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Read the flags of a row, whether they are one text or a sequence.

    Parameters
    ----------
    value : str, iterable of str or None
        Codes, separated by anything that is not part of a code.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> split_flags("few_runs, tail")
    ('few_runs', 'tail')
    """
    if value is None:
        return ()
    text = (
        value if isinstance(value, str) else " ".join(map(str, value)) if isinstance(value, Iterable) else ""
    )
    return tuple(dict.fromkeys(re.findall(r"[a-z0-9_]+", text)))


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Turn every kind of NA into None."""
    if value is None or isinstance(value, (str, list, tuple, set)):
        return value
    try:
        return None if value != value else value  # NaN differs from itself
    except TypeError:  # pandas.NA has no truth value
        return None


def _text(value: Any) -> str:  # noqa: ANN401
    return "" if value is None else " ".join(str(value).split())


def _float(value: Any) -> float | None:  # noqa: ANN401
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        return None


def _int(value: Any) -> int | None:  # noqa: ANN401
    number = _float(value)
    return None if number is None or not math.isfinite(number) else int(number)
