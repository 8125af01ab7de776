"""Where this Python runs: a live notebook, a headless notebook, a terminal or a script."""

from __future__ import annotations

import sys
from typing import Any, Literal


def front_end() -> Literal["live", "headless", "terminal"]:
    """Say whether somebody sees widgets and can click.

    Returns
    -------
    {"live", "headless", "terminal"}
        ``live``: a notebook with a front end. ``headless``: a notebook run by papermill, nbclient or
        nbconvert. ``terminal``: no kernel.

    Notes
    -----
    A front end that can answer ``input()`` says so in each request (``allow_stdin``); executors do not.
    """
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return "terminal"
    try:
        asked = kernel.get_parent("shell")["content"]["allow_stdin"]
    except (KeyError, AttributeError, TypeError):
        asked = False
    return "live" if asked else "headless"
