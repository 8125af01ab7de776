"""Numbers, coverage, states and flags in words; used by figures and by cards, and loads nothing heavy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from .rows import Row

#: status -> what it says beside a number
STATUSES: dict[str, str] = {
    "no_data": "no data",
    "degenerate": "all runs equal: no interval",
    "too_few_runs": "too few for an interval",
    "unsupported": "interval not supported",
    "mixed_setup": "set-ups differ",
    "invalid": "values that cannot be right",
}

#: interval -> its name in a caption
INTERVALS: dict[str, str] = {
    "log t, percentile": "log t united with percentile",
    "t, percentile": "t united with percentile",
    "wilson": "Wilson",
    "mover": "MOVER",
    "score": "score inversion",
    "beta, log t": "Woodruff with beta limits united with log t",
    "log t, studentized": "log t united with bootstrap-t",
    "log mover": "MOVER on the log scale",
    "exact": "exact bound",
    "bca": "BCa",
    "welch t": "Welch t",
    "welch t, bootstrap se": "Welch t with bootstrap SE",
    "paired t, bootstrap se": "paired t with bootstrap SE",
}

#: status -> flags that say the same
_SAID = {
    "degenerate": ("constant",),
    "too_few_runs": ("one run", "two runs", "few runs", "one block", "two blocks"),
}

#: flag -> (beside a number, in the caption)
FLAGS: dict[str, tuple[str, str]] = {
    "few_runs": ("few runs", "3 or 4 runs only; the interval is wide and may still miss the truth too often"),
    "few_blocks": (
        "few blocks",
        "3 or 4 blocks only; the interval is wide and may still miss the truth too often",
    ),
    "curved": ("no line", "memory does not grow by the same amount with each session"),
    "swapped": ("in swap", "a part of the anonymous memory was in swap: the total holds it"),
    "one_run": ("one run", "one run shows no variation between runs"),
    "two_runs": ("two runs", "two runs are too few for an interval"),
    "dominated": ("a few runs dominate", "a few long runs carry most of the observations"),
    "few_events": ("few events", "hits or misses come from fewer than 3 runs"),
    "tail": ("thin tail", "too few observations beyond this quantile; the interval may be too short"),
    "open": ("open end", "the true end lies beyond the largest value seen"),
    "all_zero": ("all 0", "no run had a hit; the end is the exact bound for one observation a run"),
    "all_one": ("all 1", "no run had a miss; the end is the exact bound for one observation a run"),
    "constant": ("constant", "all runs gave the same value"),
    "level_untested": ("level untested", "only 95 % intervals were tested by simulation"),
    "unlike_recorders": ("recorded differently", "the arms' pages were recorded in different ways"),
    "empty_runs": ("runs without a value", "some eligible runs have no known value and are left out"),
    "clamped": ("clamped", "values outside 0 to 1 were set to the bound, as the original report does"),
}

_UNITS = {"usd": "USD", "pct": "%"}


def metric_label(name: str) -> str:
    """Say what a metric is.

    Parameters
    ----------
    name : str
        As in ESTIMATES.

    Returns
    -------
    str
        The label of a named metric; of any other its name in words.

    Examples
    --------
    >>> metric_label("TTFT"), metric_label("my_metric")
    ('time to first token, median', 'my metric')
    """
    from ..errors import ConfigError
    from ..stats.metrics import named

    try:
        return named(name).label or name
    except ConfigError:
        return name.replace("_", " ")


def is_line(name: str) -> bool:
    """Say whether a metric is of a line through runs.

    Parameters
    ----------
    name : str
        As in ESTIMATES.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_line("MEM_SLOPE"), is_line("TTFT"), is_line("my_metric")
    (True, False, False)
    """
    from ..errors import ConfigError
    from ..stats.metrics import named

    try:
        return named(name).across is not None
    except ConfigError:
        return False


def unit_of(rows: Iterable[Row], kind: str) -> str:
    """Say the unit of an axis on which some estimates stand.

    Parameters
    ----------
    rows : iterable of Row
        Estimates of one metric and kind.
    kind : {"level", "difference", "ratio"}
        A ratio of two arms has no unit.

    Returns
    -------
    str
        e.g. ``"ms"``; ``"share (0 to 1)"`` for a number without unit between 0 and 1; empty when nothing
        is known.
    """
    rows = list(rows)
    if kind == "ratio":
        return "times"
    unit = next((row.unit for row in rows if row.unit), "")
    if unit:
        return _UNITS.get(unit.lower(), unit)
    ends = [abs(e) for row in rows for e in (row.estimate, row.lower, row.upper) if e is not None]
    if ends and max(ends) <= 1:
        return "share (0 to 1)" if kind == "level" else "difference of shares"
    return "no unit" if ends else ""


def value(number: float | None, *, like: float | None = None, sign: bool = False) -> str:
    """Write a number with as many digits as it deserves.

    Parameters
    ----------
    number : float or None
        The number.
    like : float, optional
        Width of its interval: two digits of half of it are shown, six significant digits at most; else three.
    sign : bool
        Whether a positive number gets its sign.

    Returns
    -------
    str
        ``"unknown"`` for None.

    Examples
    --------
    >>> value(1234.567, like=33)
    '1,235'
    >>> value(0.98765), value(None)
    ('0.988', 'unknown')
    """
    if number is None:
        return "unknown"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    scale, digits = (abs(like) / 2, 1) if like and math.isfinite(like) else (abs(number), 2)
    decimals = 0 if scale == 0 else min(8, max(0, digits - math.floor(math.log10(scale))))
    if number and math.isfinite(
        number
    ):  # an interval as wide as the rounding of its ends says nothing of the digits there
        decimals = min(decimals, max(0, 5 - math.floor(math.log10(abs(number)))))
    text = f"{number:{'+' if sign else ''},.{decimals}f}"
    return text.lstrip("+-") if float(text.replace(",", "")) == 0 else text


def interval(row: Row) -> str:
    """Write the interval of a row, e.g. ``[398, 431]``, ``>= 12`` or nothing.

    Parameters
    ----------
    row : Row
        The estimate.

    Returns
    -------
    str
    """
    if not row.has_interval:
        return ""
    sign, like = row.kind == "difference", _width(row)
    lower = "open" if row.open_lower else value(row.lower, like=like, sign=sign)
    if row.open_upper and row.upper is not None and math.isfinite(row.upper):
        return f"[{lower}, ≥ {value(row.upper, like=like, sign=sign)}]"
    upper = "open" if row.open_upper else value(row.upper, like=like, sign=sign)
    return f"[{lower}, {upper}]"


def estimate(row: Row) -> str:
    """Write the estimate of a row with its unit, e.g. ``412 ms``.

    Parameters
    ----------
    row : Row
        The estimate.

    Returns
    -------
    str
    """
    if row.estimate is None:
        return "no data" if row.status == "no_data" else "unknown"
    text = value(row.estimate, like=_width(row), sign=row.kind == "difference")
    if row.kind == "ratio":
        return f"{text} x"
    return f"{text} {_UNITS.get(row.unit.lower(), row.unit)}".rstrip()


def _width(row: Row) -> float | None:
    if row.lower is None or row.upper is None or not math.isfinite(row.upper - row.lower):
        return None
    return row.upper - row.lower or None


def count(n: int, noun: str) -> str:
    """Write a count with its noun.

    Parameters
    ----------
    n : int
        The count.
    noun : str
        Singular.

    Returns
    -------
    str

    Examples
    --------
    >>> count(1, "run"), count(2, "run")
    ('1 run', '2 runs')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def counted(n: int, noun: str, parts: Mapping[str, int]) -> str:
    """Write a count with its noun, and of those that are named the ones that occur.

    Parameters
    ----------
    n : int
        The count.
    noun : str
        Singular.
    parts : mapping of str to int
        Name to count.

    Returns
    -------
    str

    Examples
    --------
    >>> counted(3, "call", {"failed": 1, "open": 0})
    '3 calls, 1 failed'
    """
    return ", ".join([count(n, noun), *(f"{k:,} {name}" for name, k in parts.items() if k)])


def coverage(row: Row) -> str:
    """Say what stands behind a number: runs or blocks used, discarded, dropped, missing.

    Parameters
    ----------
    row : Row
        The estimate.

    Returns
    -------
    str
        e.g. ``"9 runs, 1 discarded"``.
    """
    parts: list[str] = []
    if row.paired and row.n_blocks is not None:
        parts.append(f"{count(row.n_blocks, 'block')}, paired")
        if row.n_blocks_dropped:
            parts.append(f"{row.n_blocks_dropped:,} dropped")
    elif row.n_runs is not None:
        parts.append(
            count(row.n_runs, "run") + (", unpaired" if row.kind != "level" and row.paired is False else "")
        )
    if row.n_discarded and row.kind == "level":
        parts.append(f"{row.n_discarded:,} discarded")
    if row.n_missing:
        parts.append(f"{count(row.n_missing, 'value')} missing".replace(" ", "\u00a0"))
    return ", ".join(parts)


def doubts(row: Row) -> list[str]:
    """Name what is doubtful about a number, shortly.

    Parameters
    ----------
    row : Row
        The estimate.

    Returns
    -------
    list of str
        Empty for a number without doubt.
    """
    found = [FLAGS[flag][0] if flag in FLAGS else flag.replace("_", " ") for flag in row.flags]
    if row.status == "ok":
        return list(dict.fromkeys(found))
    said = STATUSES.get(row.status, row.status.replace("_", " "))
    if row.status == "unsupported" and row.estimate is None:
        said = "not defined here"
    return list(
        dict.fromkeys([said, *(f for f in found if f not in said and f not in _SAID.get(row.status, ()))])
    )


def explain(rows: Iterable[Row]) -> list[str]:
    """Explain the flags that occur, one sentence each.

    Parameters
    ----------
    rows : iterable of Row
        The estimates.

    Returns
    -------
    list of str
    """
    flags = dict.fromkeys(
        flag for row in rows for flag in row.flags if FLAGS.get(flag, ("",))[0] in doubts(row)
    )
    return [f"{FLAGS[f][0]} = {FLAGS[f][1]}" for f in flags]
