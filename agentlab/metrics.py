"""The named metrics, e.g. ``from agentlab.metrics import TTFT``; defined in :mod:`agentlab.stats.metrics`."""

from .stats.metrics import *  # noqa: F403
from .stats.metrics import __all__ as __all__
