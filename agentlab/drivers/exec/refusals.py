"""What exec sessions refuse, and how they say so."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...errors import ConfigError, DriverError, StartupError
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
    if not (_is_number(yield_s) and least <= yield_s <= most):
        raise ConfigError(f"yield_s={yield_s!r}: {least} to {most:.0f} seconds")
    if timeout_s is not None and not (_is_number(timeout_s) and timeout_s > 0):
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
        "max_bytes": (0 if max_bytes is None else max_bytes, 0, None),
    }
    for name, (value, least, most) in ranges.items():
        if type(value) is not int or value < least or (most is not None and value > most):
            upper = "" if most is None else f", at most {most}"
            raise ConfigError(f"ExecSessions({name}={value!r}): a whole number, at least {least}{upper}")


def checked_env(env: Mapping[str, str] | None) -> dict[str, str]:
    """Return variables that a command can be given.

    Parameters
    ----------
    env : mapping or None
        Name to value.

    Returns
    -------
    dict

    Raises
    ------
    ConfigError
        One of them is no text, or one that no program can be given. Values are not told: they may be keys.
    """
    if not isinstance(env, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"ExecSessions(env={type(env).__name__}): give a dict of texts")
    for name, value in (env or {}).items():
        if not _can_be_given(name) or not name or "=" in name:
            raise ConfigError(f"ExecSessions(env=...): {name!r} cannot be the name of a variable")
        if not _can_be_given(value):
            raise ConfigError(
                f"ExecSessions(env=...): the value of {name!r} is a {type(value).__name__} that no program"
                " can be given: write a text without zero bytes"
            )
    return dict(env or {})


def checked_folder(cwd: str | Path | None) -> Path:
    """Return the folder that a command is started in.

    Parameters
    ----------
    cwd : path or None
        What was asked for; None: this process's.

    Returns
    -------
    pathlib.Path
        Absolute.

    Raises
    ------
    ConfigError
        It is no path.
    StartupError
        There is no such folder.
    """
    path: str | Path | None = cwd
    try:
        path = Path(cwd or "").absolute()
        if stat.S_ISDIR(path.stat().st_mode):
            return path
        why = "Not a directory"
    except OSError as error:
        why = str(error.strerror)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"cwd={cwd!r}: {error}") from None
    raise StartupError(
        f"the command cannot be started in {str(path or os.curdir)!r}: {why}", driver="exec", phase="startup"
    )


def make_folder(folder: Path) -> None:
    """Make the folder where output is spooled, if it is not there.

    Parameters
    ----------
    folder : pathlib.Path
        Which.

    Raises
    ------
    ConfigError
        It cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"ExecSessions(folder={str(folder)!r}): {error.strerror}") from None


def checked_keys(chars: str | bytes) -> bytes:
    """Return what is typed as bytes.

    Parameters
    ----------
    chars : str or bytes
        Keys.

    Returns
    -------
    bytes

    Raises
    ------
    ConfigError
        They are neither, or hold half a character.
    """
    try:
        return chars.encode() if isinstance(chars, str) else bytes(memoryview(chars))
    except (TypeError, UnicodeEncodeError) as error:
        raise ConfigError(f"chars={chars!r:.80}: give a text or bytes ({error})") from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _can_be_given(text: object) -> bool:
    try:
        return isinstance(text, str) and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def not_prepared(error: OSError) -> StartupError:
    """Return the error for a command whose output has no place, or which cannot be connected.

    Parameters
    ----------
    error : OSError
        Why.

    Returns
    -------
    StartupError
    """
    advice = ""
    if isinstance(error, FileExistsError):
        advice = "; it is kept: give each ExecSessions(archive=True) a folder of its own"
    where = "" if error.filename is None else f"{error.filename}: "
    return StartupError(
        f"the command cannot be started: {where}{error.strerror}{advice}", driver="exec", phase="startup"
    )


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
        "these exec sessions are not open: use them inside `async with`, or `await sessions.open()` first;"
        " once closed, make new ones",
        driver="exec",
        code="closed",
    )
