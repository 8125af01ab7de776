"""What exec sessions refuse, and how they say so."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...errors import ConfigError, DriverError
from .session import Session

_YIELD_S = (0.1, 30.0)


def checked(command: str) -> str:
    """Return a command that can be started.

    Parameters
    ----------
    command : str
        What was asked for.

    Returns
    -------
    str

    Raises
    ------
    ConfigError
        It is no text, or one that no program can be given.
    """
    try:
        encoded = os.fsencode(command)
    except (TypeError, UnicodeEncodeError):
        encoded = b"\0"
    if b"\0" in encoded or not isinstance(command, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"the command is {command!r:.80}: give a text without zero bytes")
    return command


def check_seconds(yield_s: float, timeout_s: float | None = None) -> None:
    """Refuse times that are out of range.

    Parameters
    ----------
    yield_s : float
        Seconds of a wait, 0.1 to 30.
    timeout_s : float or None
        Seconds of a command, more than 0.

    Raises
    ------
    ConfigError
        One of them is.
    """
    least, most = _YIELD_S
    if not least <= yield_s <= most:
        raise ConfigError(f"yield_s={yield_s!r}: {least} to {most:.0f} seconds")
    if timeout_s is not None and not timeout_s > 0:
        raise ConfigError(f"timeout_s={timeout_s!r}: more than 0 seconds, or None")


def check_numbers(*, limit: int, preview_bytes: int, cols: int, rows: int, max_bytes: int | None) -> None:
    """Refuse settings that are out of range.

    Parameters
    ----------
    limit, preview_bytes, cols, rows, max_bytes
        As for :class:`ExecSessions`.

    Raises
    ------
    ConfigError
        One of them is.
    """
    ranges = {
        "limit": (limit, 1, None),
        "preview_bytes": (preview_bytes, 0, None),
        "cols": (cols, 1, 65_535),
        "rows": (rows, 1, 65_535),
        "max_bytes": (max_bytes or 0, 0, None),
    }
    for name, (value, least, most) in ranges.items():
        if value < least or (most is not None and value > most):
            upper = "" if most is None else f", at most {most}"
            raise ConfigError(f"ExecSessions({name}={value!r}): at least {least}{upper}")


def unknown(number: object, last: int) -> DriverError:
    """Return the error for a session that never was.

    Parameters
    ----------
    number : object
        What was asked for.
    last : int
        The last number that was given out.

    Returns
    -------
    DriverError
    """
    known = f"numbers 1 to {last} were given out" if last else "none was started yet"
    return DriverError(f"session {number!r} is unknown: {known}", driver="exec", code="unknown_session")


def too_many(alive: Sequence[Session]) -> DriverError:
    """Return the error for one session more than may be alive.

    Parameters
    ----------
    alive : sequence of Session
        Those that are.

    Returns
    -------
    DriverError
    """
    lines = [f"  {s.number}: {s.command[:80]!r} ({s.state}, {s.wall_ms / 1e3:.1f} s)" for s in alive]
    return DriverError(
        f"{len(alive)} sessions are alive, and no more may be. Poll those that have ended, close others:\n"
        + "\n".join(lines),
        driver="exec",
        code="session_limit",
    )


def closed() -> DriverError:
    """Return the error for a call before the begin, or after the end, of all sessions.

    Returns
    -------
    DriverError
    """
    return DriverError(
        "these exec sessions are not open: use them inside `async with`", driver="exec", code="closed"
    )
