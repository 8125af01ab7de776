"""Who belongs to a run, as the original terminal script looked for it, twice a sample.

Written from its description: all environments are read for the marker, and all ``stat`` files once for the
descendants and once for the process groups, each by ``Path.read_text`` and ``Path.read_bytes``.
"""

from __future__ import annotations

import os
from pathlib import Path


def scan(roots: list[int], tag: bytes) -> set[int]:
    """Return the process ids of a run."""
    return tagged_pids(tag) | descendants(roots) | group_members(roots)


def tagged_pids(tag: bytes) -> set[int]:
    """Return all processes with the marker in their environment."""
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if tag in (entry / "environ").read_bytes().split(b"\0"):
                    found.add(int(entry.name))
            except OSError:
                continue
    return found


def proc_map() -> dict[int, tuple[int, int]]:
    """Return parent and process group of all processes."""
    found: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found[int(entry.name)] = (int(fields[1]), int(fields[2]))
    return found


def descendants(roots: list[int]) -> set[int]:
    """Return the roots and what descends from them."""
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in proc_map().items():
        children.setdefault(parent, []).append(pid)
    found, queue = set(roots), list(roots)
    while queue:
        below = children.get(queue.pop(), [])
        found.update(below)
        queue += below
    return found


def group_members(roots: list[int]) -> set[int]:
    """Return what is in the process groups of the roots."""
    groups = {os.getpgid(root) for root in roots}
    return {pid for pid, (_, group) in proc_map().items() if group in groups}
