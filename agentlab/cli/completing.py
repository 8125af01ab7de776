"""What a shell may complete beside commands, options and choices."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

_DEFAULT = Path("studies")
#: Names that stand for several metrics: those of the original scripts.
REPORTS = ("CACHE_REPORT", "PAGE_REPORT")


def completes(action: argparse.Action, complete: Callable[..., Iterable[str]]) -> argparse.Action:
    """Let an argument be completed.

    Parameters
    ----------
    action : argparse.Action
        What ``add_argument`` returned.
    complete : callable
        Called with ``prefix`` and ``parsed_args``.

    Returns
    -------
    argparse.Action
        The same.
    """
    setattr(action, "completer", complete)  # noqa: B010 (argcomplete's protocol; argparse declares no such name)
    return action


def studies(prefix: str, **_: Any) -> list[str]:  # noqa: ANN401
    """Return study folders here, in ``studies/``, and below what is typed; and folders that lead to some.

    Parameters
    ----------
    prefix : str
        What is typed.
    **_
        Not looked at.

    Returns
    -------
    list of str
    """
    typed = Path(prefix) if prefix.endswith("/") else Path(prefix).parent
    looked_in = [typed] if "/" in prefix else [typed, _DEFAULT]
    found: list[str] = []
    for folder in looked_in:
        for path in sorted(p for p in folder.expanduser().glob("*") if p.is_dir()):
            name = str(folder / path.name)
            if name.startswith(prefix) and not path.name.startswith("."):
                found.append(name if (path / "study.json").is_file() else f"{name}/")
    return found


def arms(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:  # noqa: ANN401
    """Return the names of the arms of the studies that are typed already.

    Parameters
    ----------
    prefix : str
        What is typed.
    parsed_args : argparse.Namespace
        What stands before it.
    **_
        Not looked at.

    Returns
    -------
    list of str
    """
    typed: Any = getattr(parsed_args, "studies", None) or getattr(parsed_args, "to", None) or ()
    folders = [typed] if isinstance(typed, (str, Path)) else typed
    names = [name for folder in folders for name in _arms_of(Path(folder))]
    return [name for name in dict.fromkeys(names) if name.startswith(prefix)]


def baseline_arms(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:  # noqa: ANN401
    """Return the names of the arms of the baseline that is typed already.

    Parameters
    ----------
    prefix : str
        What is typed.
    parsed_args : argparse.Namespace
        What stands before it.
    **_
        Not looked at.

    Returns
    -------
    list of str
    """
    typed: Path | None = getattr(parsed_args, "baseline", None)
    return [name for name in _arms_of(typed) if name.startswith(prefix)] if typed else []


def _arms_of(folder: Path) -> list[str]:
    try:
        if folder.is_file():
            return [json.loads(folder.read_bytes())["comparison"]["arm"]]
        return list(json.loads((folder / "study.json").read_bytes())["arms"])
    except (OSError, ValueError, KeyError, TypeError):
        return []  # a shell must not see a traceback between two keys


def metrics(prefix: str, **_: Any) -> list[str]:  # noqa: ANN401
    """Return the names of the metrics, in small letters when they are typed so.

    Parameters
    ----------
    prefix : str
        What is typed.
    **_
        Not looked at.

    Returns
    -------
    list of str
    """
    from ..stats.metrics import names

    known = [*names(), *REPORTS]
    small = [name.lower() for name in known] if prefix and prefix == prefix.lower() else []
    return [name for name in (*known, *small) if name.startswith(prefix)]
