"""CPU profiles: samples sorted, and the time from each sample to the next booked to it."""

from .files import RawNode, build_profile, read_cpuprofile
from .original import Original, original
from .profile import CpuProfile, Function, Node

__all__ = [
    "CpuProfile",
    "Function",
    "Node",
    "Original",
    "RawNode",
    "build_profile",
    "original",
    "read_cpuprofile",
]
