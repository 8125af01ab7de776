"""A view to compare arms: estimates, the runs behind them, and what happened in one run."""

from .explorer import Explorer, explore
from .view import View

__all__ = ["Explorer", "View", "explore"]
