"""Rows of the table ``runs``: one per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .browser.recorder import recorder_text
from .conversation import Conversation
from .evidence import Event
from .reading import Reading
from .result import result_columns
from .values import as_bool, as_count, as_float, as_int, as_text, total

_AROUND = ("before", "after")


def build_runs(read: Reading) -> list[dict[str, Any]]:
    """Build the row of one run.

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
    identity, observer, quiet = run.part("identity"), run.part("observer"), run.part("quiet")
    started, ended = as_int(run.raw.get("started_unix_ns")), as_int(run.raw.get("ended_unix_ns"))
    return [
        {
            **run.key(),
            "sequence": run.sequence,
            "status": run.status,
            "reason": ",".join(run.discard_codes) or None,
            "driver": as_text(identity.get("driver")),
            "version": as_text(identity.get("version")),
            "model": as_text(identity.get("model")),
            "recorder": recorder_text(read.page.recorder),
            "versions": as_text(run.raw.get("versions")),
            "warmup_rule": run.warmup_rule,
            "started_unix_ms": None if started is None else started / 1e6,
            "duration_s": None if started is None or ended is None else (ended - started) / 1e9,
            "n_sessions": as_count(run.raw.get("n_sessions")),
            "n_issues": len(run.issues),
            **(_counts(read) if read.events else {}),
            "n_gateway_events": len(read.gateway_events) or None,
            **result_columns(read),
            "lag_p50_ms": as_float(observer.get("loop_lag_p50_ms")),
            "lag_p99_ms": as_float(observer.get("loop_lag_p99_ms")),
            "lag_max_ms": as_float(observer.get("loop_lag_max_ms")),
            "observer_cpu_s": as_float(observer.get("cpu_s")),
            "quiet": as_bool(quiet.get("quiet")),
            "quiet_waited_s": as_float(quiet.get("waited_s")),
            **_sampler(read.run.part("memory")),
            **_around(read.run.part("pressure")),
            **_pressure(read.events),
        }
    ]


def _counts(read: Reading) -> dict[str, int]:
    talk = read.talk
    sessions = talk.sessions.values()
    return {
        "n_turns": len(talk.turns),
        "n_requests": len(read.requests),
        "n_tools": len(talk.calls),
        "n_children": sum(1 for s in sessions if s.role == "child"),
        "n_retries": sum(len(s.retries) for s in sessions),
        "n_events": len(read.events),
        "n_repeats": _repeats(talk, read.events),
    }


def _repeats(talk: Conversation, events: Sequence[Event]) -> int:
    dropped = sum(as_count(e.get("n_repeats")) or 0 for e in events if e["kind"] == "stream.end")
    messages = sum(message.n_repeats for message in talk.messages.values())
    return dropped + messages + sum(talk.call_repeats(call) for call in talk.calls)


def _sampler(cost: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "n_memory_samples": total(as_count(cost.get("n_slow")), as_count(cost.get("n_fast"))),
        "sampler_cpu_s": as_float(cost.get("cpu_s")),
        "sampler_duty": as_float(cost.get("duty")),
    }


def _around(pressure: Mapping[str, Any]) -> dict[str, Any]:
    """Return the machine's state before and after a run whose memory was sampled."""
    before, after = ({**found} if isinstance(found := pressure.get(at), dict) else {} for at in _AROUND)
    return {
        "cpu_some_before_pct": as_float(before.get("cpu_some_avg10")),
        "memory_some_before_pct": as_float(before.get("memory_some_avg10")),
        "memory_some_after_pct": as_float(after.get("memory_some_avg10")),
    }


def _pressure(events: Sequence[Event]) -> dict[str, Any]:
    samples = [e for e in events if e["kind"] == "pressure"]

    def known(name: str) -> list[float]:
        return [v for e in samples if (v := as_float(e.get(name))) is not None]

    available = [v for e in samples if (v := as_int(e.get("memory_available_bytes"))) is not None]
    return {
        "cpu_some_max_pct": max(known("cpu_some_avg10"), default=None),
        "memory_some_max_pct": max(known("memory_some_avg10"), default=None),
        "io_some_max_pct": max(known("io_some_avg10"), default=None),
        "memory_available_min_bytes": min(available, default=None),
        "load1_max": max(known("load1"), default=None),
    }
