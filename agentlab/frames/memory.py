"""Rows of the tables ``memory`` and ``processes``: one per sample, and one per process in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .reading import Reading
from .roles import has_left, roles_of
from .sampling import Process, Sample
from .values import as_bool, as_count, as_text, ms, total


def build_memory(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run, in order of time; a sum with an unknown part is unknown.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    n_sessions = as_count(read.run.raw.get("n_sessions"))
    return [
        {
            **read.run.key(),
            **_sample(read, seq, sample),
            "n_sessions": n_sessions,
            **_totals(sample),
            **_evidence(sample),
        }
        for seq, sample in enumerate(read.samples, 1)
    ]


def build_processes(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run: every process of every sample.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    rows: list[dict[str, Any]] = []
    for seq, (sample, roles) in enumerate(zip(read.samples, roles_of(read.samples), strict=True), 1):
        head = {**read.run.key(), **_sample(read, seq, sample)}
        rows += [
            {**head, **_process(process, sample), "role": roles[process.key]} for process in sample.processes
        ]
    return rows


def _sample(read: Reading, seq: int, sample: Sample) -> dict[str, Any]:
    return {
        "seq": seq,
        "t_ns": sample.event["t"],
        "t_ms": ms(sample.event["t"], read.begin_ns),
        "lane": as_text(sample.event.get("lane")),
        "phase": sample.phase,
        "settled": sample.settled,
    }


def _totals(sample: Sample) -> dict[str, Any]:
    processes = sample.processes
    read = [p.total if sample.is_slow else p.rss for p in processes]
    known = [p.total for p in processes if p.total is not None]
    whole = total(*(p.total for p in processes))
    return {
        "n_processes": len(processes),
        "n_threads": total(*(p.n_threads for p in processes)),
        "pss_bytes": total(*(p.pss for p in processes)),
        "swap_pss_bytes": total(*(p.swap_pss for p in processes)),
        "total_bytes": whole,
        "anon_bytes": total(*(p.anon for p in processes)),
        "file_bytes": total(*(p.file for p in processes)),
        "shmem_bytes": total(*(p.shmem for p in processes)),
        "rss_bytes": total(*(p.rss for p in processes)),
        "readable_bytes": sum(known) if sample.is_slow else None,
        "outside_tree_bytes": _outside(processes),
        "cpu_ms": _cpu_ms(processes),
        "status": _status(read),
        "reason": _reason(whole, sample),
    }


def _cpu_ms(processes: Iterable[Process]) -> float | None:
    spent = [process.cpu_ms for process in processes]
    known = [time for time in spent if time is not None]
    return float(sum(known)) if len(known) == len(spent) else None


def _outside(processes: Iterable[Process]) -> int | None:
    """Sum over the processes that left: 0 when none has, None when one cannot be told or read."""
    listed = list(processes)
    if any(has_left(p) is None or p.total is None for p in listed):
        return None
    return total(*(p.total for p in listed if has_left(p)))


def _status(read: list[int | None]) -> str:
    known = sum(value is not None for value in read)
    if known == len(read):
        return "ok"
    return "partial" if known else "none"


def _reason(total_bytes: int | None, sample: Sample) -> str | None:
    if total_bytes is not None:
        return None
    return "unreadable" if sample.is_slow else "fast_lane"


def _evidence(sample: Sample) -> dict[str, Any]:
    event, cgroup = sample.event, sample.event.get("cgroup")
    group: dict[str, Any] = cgroup if isinstance(cgroup, dict) else {}
    wall, cpu = as_count(event.get("wall_ns")), as_count(event.get("cpu_ns"))
    return {
        "cgroup_anon_bytes": as_count(group.get("anon")),
        "cgroup_watchdog_bytes": as_count(group.get("watchdog_anon")),
        "cgroup_file_bytes": as_count(group.get("file")),
        "cgroup_peak_bytes": as_count(group.get("peak")),
        "cgroup_complete": as_bool(group.get("complete")),
        "n_unreadable": as_count(event.get("n_unreadable")),
        "n_exited": as_count(event.get("n_exited")),
        "n_reused": as_count(event.get("n_reused")),
        "sweep_ms": None if wall is None else wall / 1e6,
        "sweep_cpu_ms": None if cpu is None else cpu / 1e6,
    }


def _process(process: Process, sample: Sample) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "start_ticks": process.start,
        "ppid": process.ppid,
        "name": as_text(process.about.get("name")),
        **{name: process.is_(name) for name in ("root", "in_tree", "in_group", "tagged")},
        "pss_bytes": process.pss,
        "swap_pss_bytes": process.swap_pss,
        "total_bytes": process.total,
        "anon_bytes": process.anon,
        "file_bytes": process.file,
        "shmem_bytes": process.shmem,
        "rss_bytes": process.rss,
        "n_threads": process.n_threads,
        "cpu_ms": process.cpu_ms,
        "reason": _reason(process.total, sample),
    }
