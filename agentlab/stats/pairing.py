"""Which runs of two arms are compared, and whether block by block."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from .bootstrap import Ints
from .runs import Runs
from .units import Mask, Measured

#: Blocks are drawn for all arms from one stream; independent arms have the streams 0, 1, 2, ...
_BLOCK_STREAM = 1_000_000
#: "auto" does not pair on fewer complete blocks: no interval could be given.
_MIN_BLOCKS = 3


@dataclasses.dataclass(frozen=True)
class Pairing:
    """The units of two arms.

    Parameters
    ----------
    paired : bool
        Whether the units are blocks that both arms share.
    units : tuple of ndarray of int, shape (runs,)
        Unit of each run for the first and the second arm; -1 leaves a run out.
    streams : tuple of int
        Streams of draws; equal when paired.
    n_blocks, n_blocks_dropped : int
        Blocks used, and blocks left out of a paired comparison.
    """

    paired: bool
    units: tuple[Ints, Ints]
    streams: tuple[int, int]
    n_blocks: int
    n_blocks_dropped: int

    @property
    def used(self) -> Mask:
        """Runs that take part."""
        return (self.units[0] >= 0) | (self.units[1] >= 0)


def pair(runs: Runs, measured: Measured, arms: tuple[str, str], paired: bool | Literal["auto"]) -> Pairing:
    """Choose the runs of a comparison.

    Parameters
    ----------
    runs : Runs
        The study.
    measured : Measured
        The metric: a run without a value cannot be used.
    arms : tuple of str
        First and second arm.
    paired : bool or "auto"
        ``"auto"`` pairs when all runs of both arms belong to blocks and at least 3 blocks are complete.
    """
    first, second = ((runs.arm == arm) for arm in arms)
    usable = measured.usable & measured.has_data
    kept, seen = complete_blocks(runs, first, second, usable)
    if paired == "auto":
        paired = len(kept) >= _MIN_BLOCKS and bool((runs.block[first | second] >= 0).all())
    if paired:
        inside = usable & np.isin(runs.block, kept)
        block = np.searchsorted(kept, runs.block)
        units = (np.where(inside & first, block, -1), np.where(inside & second, block, -1))
        return Pairing(True, units, (_BLOCK_STREAM, _BLOCK_STREAM), len(kept), len(seen) - len(kept))
    units = (measured.units(usable & first), measured.units(usable & second))
    streams = (runs.arms.index(arms[0]), runs.arms.index(arms[1]))
    return Pairing(False, units, streams, count_blocks(runs, usable & (first | second)), 0)


def complete_blocks(runs: Runs, first: Mask, second: Mask, usable: Mask) -> tuple[Ints, Ints]:
    """Return the blocks in which both arms have runs and every one can be used, and all blocks seen.

    A run that was cut short and done again under a new id spoils nothing.
    """
    counts = (runs.block >= 0) & ~runs.superseded
    spoiled = runs.block[(first | second) & counts & ~usable]
    shared = np.intersect1d(runs.block[first & counts], runs.block[second & counts])
    seen = np.unique(runs.block[(first | second) & counts])
    return np.setdiff1d(shared, spoiled), seen


def count_blocks(runs: Runs, used: Mask) -> int:
    """Count the blocks of some runs."""
    return len(np.unique(runs.block[used & (runs.block >= 0)]))
