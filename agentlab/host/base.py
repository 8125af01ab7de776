"""What the owner of a study sees of the place where it is measured."""

from __future__ import annotations

import threading
from typing import Protocol


class Host(Protocol):
    """A place where a study is carried out.

    Attributes
    ----------
    done : threading.Event
        Set when nothing of it runs any more.
    failure : str or None
        Why the place itself failed, e.g. the process was killed; None otherwise.
    """

    done: threading.Event
    failure: str | None

    def start(self) -> None:
        """Start; returns at once."""
        ...

    def ask(self, reason: str) -> None:
        """Ask to stop (``"cancelled"`` or ``"interrupted"``); from any thread, more than once is harmless."""
        ...

    def kill(self) -> None:
        """End it without clean-up of its own; the watchdogs end the rest."""
        ...
