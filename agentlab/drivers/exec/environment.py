"""The environment of a command: built from nothing, so that no key of the owner's reaches it."""

from __future__ import annotations

import os
from collections.abc import Mapping

#: What is taken over from the owner; besides these all that begin with ``LC_``.
PASSED = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER")


def filtered(own: Mapping[str, str], added: Mapping[str, str], *, tty: bool) -> dict[str, str]:
    """Build the environment of a command.

    Parameters
    ----------
    own : mapping
        The owner's environment; of it only :data:`PASSED` and the locale cross.
    added : mapping
        Variables that are added, or put in their place.
    tty : bool
        Whether the command is on a terminal: ``TERM`` is ``xterm-256color``, else ``dumb``.

    Returns
    -------
    dict

    Examples
    --------
    >>> filtered({"PATH": "/bin", "SOME_API_KEY": "sk-1", "LC_ALL": "C"}, {"CI": "1"}, tty=False)
    {'PATH': '/bin', 'LC_ALL': 'C', 'TERM': 'dumb', 'CI': '1'}
    """
    passed = {name: value for name, value in own.items() if name in PASSED or name.startswith("LC_")}
    return {"PATH": os.defpath, **passed, "TERM": "xterm-256color" if tty else "dumb", **added}
