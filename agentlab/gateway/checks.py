"""Checks that the settings share; each raises a ConfigError that says what to give."""

from __future__ import annotations

from ..errors import ConfigError


def given(value: object) -> object:
    """Forget a declared type: what a user gives may be anything.

    Parameters
    ----------
    value : object
        A setting.

    Returns
    -------
    object
        The same.
    """
    return value


def number(owner: str, name: str, value: object, *, low: float = 0.0, above: bool = False) -> None:
    """Check a finite number.

    Parameters
    ----------
    owner, name : str
        Whose setting.
    value : object
        What was given.
    low : float
        Smallest value.
    above : bool
        Whether ``low`` itself is refused.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value < float("inf"):
        raise ConfigError(f"{owner}({name}={value!r}): give a number from {low:g}")
    if above and value == low:
        raise ConfigError(f"{owner}({name}={value!r}): give a number above {low:g}")


def integer(owner: str, name: str, value: object, *, low: int, high: int | None = None) -> None:
    """Check an integer.

    Parameters
    ----------
    owner, name : str
        Whose setting.
    value : object
        What was given.
    low, high : int
        Smallest and largest value.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or value < low
        or (high is not None and value > high)
    ):
        span = f"from {low}" if high is None else f"from {low} to {high}"
        raise ConfigError(f"{owner}({name}={value!r}): give an integer {span}")
