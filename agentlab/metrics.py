"""The named metrics, e.g. ``from agentlab.metrics import TTFT``; defined in :mod:`agentlab.stats.metrics`."""

from typing import TYPE_CHECKING

from .stats.metrics import *  # noqa: F403
from .stats.metrics import __all__ as __all__

if not TYPE_CHECKING:  # type checkers name what is not there themselves

    def __getattr__(name: str) -> object:
        from .errors import did_you_mean

        near = "" if name.startswith("_") else did_you_mean(name, __all__)
        raise AttributeError(f"there is no metric {name!r}{near}")
