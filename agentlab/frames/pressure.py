"""Rows of the table ``pressure``: one per sample of the machine's state."""

from __future__ import annotations

from typing import Any

from .reading import Reading
from .values import as_count, as_float


def build_pressure(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run, in order of time.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    run = read.run
    samples = [event for event in read.events if event["kind"] == "pressure"]
    return [
        {
            **run.key(),
            "seq": seq,
            "t_ns": event["t"],
            "unix_ms": run.unix_ms(event["t"]),
            "cpu_some_pct": as_float(event.get("cpu_some_avg10")),
            "memory_some_pct": as_float(event.get("memory_some_avg10")),
            "memory_full_pct": as_float(event.get("memory_full_avg10")),
            "io_some_pct": as_float(event.get("io_some_avg10")),
            "memory_available_bytes": as_count(event.get("memory_available_bytes")),
            "load1": as_float(event.get("load1")),
        }
        for seq, event in enumerate(samples, 1)
    ]
