"""What the owner of a study sees of the place where it is measured."""

from __future__ import annotations

import threading
from typing import Any, Protocol


class Host(Protocol):
    """A place where a study is carried out.

    Attributes
    ----------
    done : threading.Event
        Set when nothing of it runs any more; ``outcome`` and ``failure`` stand before.
    outcome : dict or None
        How the study ended (see :func:`agentlab.host.worker.carry_out`); None when nobody could say.
    failure : str or None
        Why the place itself failed, e.g. the process was killed; None otherwise.
    """

    done: threading.Event
    outcome: dict[str, Any] | None
    failure: str | None

    def start(self) -> None:
        """Start; returns at once."""
        ...

    def ask(self, reason: str) -> None:
        """Ask to stop (``"cancelled"`` or ``"interrupted"``).

        From any thread, at any time, more than once is harmless; never blocks.
        """
        ...

    def kill(self) -> None:
        """End it without clean-up of its own; the watchdogs end the rest."""
        ...
