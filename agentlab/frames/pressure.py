"""Rows of the table ``pressure``: one per sample of the machine's state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .evidence import Event, RunInfo
from .values import as_count, as_float


def build_pressure(
    run: RunInfo, events: Sequence[Event], gateway_events: Sequence[Event]
) -> list[dict[str, Any]]:
    """Build the rows of one run.

    Parameters
    ----------
    run : RunInfo
        The run.
    events : sequence of Event
        Its evidence.
    gateway_events : sequence of Event
        Not needed here.

    Returns
    -------
    list of dict
        By column name, in order of time.
    """
    samples = [event for event in events if event["kind"] == "pressure"]
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
