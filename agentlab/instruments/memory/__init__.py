"""The memory of everything that belongs to a run, sampled beside it, and whether it has settled."""

from .plateau import Plateau, Point, plateau
from .sampler import MemorySampler

__all__ = ["MemorySampler", "Plateau", "Point", "plateau"]
