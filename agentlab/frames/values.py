"""Plain values out of evidence: what does not fit becomes unknown, never another number."""

from __future__ import annotations

import json
import math


def as_int(value: object) -> int | None:
    """Return a whole number, or None when it is none.

    Parameters
    ----------
    value : object
        A value of an event.

    Returns
    -------
    int or None

    Examples
    --------
    >>> as_int(3.0), as_int(3.5), as_int(True), as_int("3")
    (3, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float) and not value.is_integer():
        return None
    number = int(value)
    return number if -(2**63) <= number < 2**63 else None


def as_count(value: object) -> int | None:
    """Return a whole number from 0, or None.

    Parameters
    ----------
    value : object
        A value of an event.

    Returns
    -------
    int or None
    """
    number = as_int(value)
    return number if number is not None and number >= 0 else None


def as_float(value: object) -> float | None:
    """Return a finite number, or None.

    Parameters
    ----------
    value : object
        A value of an event.

    Returns
    -------
    float or None
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def as_usd(value: object) -> float | None:
    """Return an amount of money, which evidence spells as a decimal string.

    Parameters
    ----------
    value : object
        A value of an event.

    Returns
    -------
    float or None
        In USD; 0 or more.

    Examples
    --------
    >>> as_usd("0.054399"), as_usd("NaN"), as_usd(None)
    (0.054399, None, None)
    """
    if not isinstance(value, str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def as_bool(value: object) -> bool | None:
    """Return a truth value, or None when it is none.

    Parameters
    ----------
    value : object
        A value of an event.

    Returns
    -------
    bool or None
    """
    return value if isinstance(value, bool) else None


def as_text(value: object) -> str | None:
    """Return text: strings as they are, anything else as JSON text, so that mixed columns stay one type.

    Parameters
    ----------
    value : object
        A value of an event.

    Returns
    -------
    str or None

    Examples
    --------
    >>> as_text("ok"), as_text(402), as_text({}), as_text(None)
    ('ok', '402', '{}', None)
    """
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def ms(later_ns: int | None, earlier_ns: int | None) -> float | None:
    """Return the difference of two stamps.

    Parameters
    ----------
    later_ns, earlier_ns : int or None
        Stamps of one clock, ns.

    Returns
    -------
    float or None
        ms; None when a stamp is unknown.
    """
    if later_ns is None or earlier_ns is None:
        return None
    return (later_ns - earlier_ns) / 1e6


def share(part: int | None, whole: int | None) -> float | None:
    """Return part / whole, 0..1, or None when it is unknown or impossible; never clamped.

    Parameters
    ----------
    part, whole : int or None
        Counts.

    Returns
    -------
    float or None
    """
    if part is None or not whole or not 0 <= part <= whole:
        return None
    return part / whole


def total(*parts: int | None) -> int | None:
    """Return the sum, or None when any part is unknown.

    Parameters
    ----------
    *parts : int or None
        Counts.

    Returns
    -------
    int or None
    """
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
