"""What the terminal driver's settings may be, and which folders of the user they may not name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ...agents.cache import cache_home, runs_home
from ...errors import ConfigError

#: So many sessions at once are no measurement any more, but a slip.
_MOST_SESSIONS = 99
#: Variables whose value is a folder that a tool calls its own, or its daemon's socket.
_BASE_FOLDER = re.compile(r"(HOME|DIR|BASE|ROOT|FOLDER|SOCKET)$")


def checked_sessions(sessions: object) -> tuple[int, ...]:
    """Check how many sessions run at once.

    Parameters
    ----------
    sessions : int or sequence of int
        What a user gave.

    Returns
    -------
    tuple of int

    Raises
    ------
    ConfigError
        A number is below 1, above 99, or there twice.

    Examples
    --------
    >>> checked_sessions(4)
    (4,)
    """
    given: Any = (sessions,) if isinstance(sessions, int) else sessions
    numbers = tuple(cast("Sequence[Any]", given)) if isinstance(given, list | tuple) else ()
    whole = all(isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= _MOST_SESSIONS for n in numbers)
    if not numbers or not whole or len(set(numbers)) < len(numbers):
        raise ConfigError(
            f"Terminal(sessions={sessions!r}): give different numbers from 1 to {_MOST_SESSIONS}, "
            "e.g. (1, 4, 10)"
        )
    return numbers


def checked_words(field: str, words: object) -> tuple[str, ...]:
    """Check a list of arguments.

    Parameters
    ----------
    field : str
        Name of the setting.
    words : object
        What a user gave.

    Returns
    -------
    tuple of str

    Raises
    ------
    ConfigError
        It is a single text, or holds something else than text.
    """
    given = cast("Sequence[Any]", words) if isinstance(words, list | tuple) else ("",)
    if not all(isinstance(word, str) and word and _can_be_passed(word) for word in given):
        raise ConfigError(f"Terminal({field}=...): give a list of words, e.g. ['my-agent', '--verbose']")
    return tuple(given)


def checked_number(field: str, value: object, low: float, high: float, *, whole: bool = False) -> None:
    """Check a number.

    Parameters
    ----------
    field : str
        Name of the setting.
    value : object
        What a user gave.
    low, high : float
        Smallest and largest that make sense, in the setting's unit.
    whole : bool
        Whether it has to be an integer.

    Raises
    ------
    ConfigError
        It is none, or outside.
    """
    fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not fits or not low <= cast("float", value) <= high:
        what = "a whole number" if whole else "a number"
        raise ConfigError(f"Terminal({field}={value!r}): give {what} from {low:g} to {high:g}")


def checked_environment(environment: object, folders: Mapping[str, str]) -> dict[str, str]:
    """Check the variables that a user adds.

    Parameters
    ----------
    environment : object
        What a user gave.
    folders : mapping
        Variables of the tool, and the folder below the user's home that each replaces.

    Returns
    -------
    dict of str to str

    Raises
    ------
    ConfigError
        It is no mapping of texts, or names a folder that is the user's own.
    """
    if not isinstance(environment, Mapping):
        raise ConfigError("Terminal(env=...): give a mapping, e.g. {'NO_COLOR': '1'}")
    given = cast("Mapping[Any, Any]", environment)
    for name, value in given.items():
        texts = isinstance(name, str) and isinstance(value, str) and bool(name)
        if not texts or "=" in name or not _can_be_passed(name + value):
            raise ConfigError(f"Terminal(env={{{name!r:.40}: ...}}): names and values are texts")
        if name in folders or _BASE_FOLDER.search(name):
            _check_folder(name, value, folders.get(name))
    return dict(given)


def _can_be_passed(text: str) -> bool:
    """Say whether a program can be given a text: it has no zero and no half of a character."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def _check_folder(name: str, value: str, usual: str | None) -> None:
    """Refuse a folder that is equal to, inside or around one that the user lives in."""
    sessions = runs_home() / "run" / "work"  # what a relative one is counted from
    folder = (sessions / Path(value).expanduser()).resolve()
    if folder.is_relative_to(cache_home().resolve()):
        return
    live = _live_folders(name, usual)
    if any(folder.is_relative_to(one) or one.is_relative_to(folder) for one in live):
        raise ConfigError(
            f"Terminal(env={{{name!r}: ...}}): that folder is, holds or lies in one of your own; a run would "
            "change it, or meet your daemon there. Leave it out, as each run gets a new home"
        )


def _live_folders(name: str, usual: str | None) -> list[Path]:
    """List what the user's own programs use: this variable's value, the tool's folder, hidden ones."""
    home = Path.home().resolve()
    live = [home / (usual or ".agentlab-is-never-there")]  # a folder around the home is around this one, too
    if name != "HOME":
        live += [_resolved(os.environ[name])] if os.environ.get(name, "").startswith("/") else []
    live += [_resolved(v) for n, v in os.environ.items() if n.startswith("XDG_") and v.startswith("/")]
    live.append(Path(f"/run/user/{os.getuid()}"))  # of their daemons' sockets, also where it is not named
    hidden = home.glob(".*") if home != home.parent else ()
    return [*live, *(path.resolve() for path in hidden if path.is_dir())]


def _resolved(folder: str) -> Path:
    return Path(folder).expanduser().resolve()
