"""The tables of sampled memory: what all processes of a run held together, and each of them."""

from __future__ import annotations

from .columns import KEY
from .columns import MEMORY_FILE as _M
from .schema import Column, Table

_S, _P = f"{_M} memory.sample", f"{_M} memory.process"

#: What both tables say of the sample that a row belongs to.
_SAMPLE = (
    Column("seq", "Int64", "1-based number of the sample inside its run."),
    Column("t_ns", "Int64", "CLOCK_MONOTONIC.", source=_S),
    Column("t_ms", "Float64", "Since the run's begin.", source=_S),
    Column("lane", "string", "slow (page tables are walked: PSS) or fast (counters: RSS).", source=_S),
    Column(
        "phase",
        "string",
        "launch, settle, settled, hold, end: the last one begun.",
        source=f"{_M} memory.phase",
    ),
    Column(
        "settled",
        "boolean",
        "A slow sample of the plateau: the window that was found flat, and what follows until the end mark. "
        "False in all where none was reached; after a wait of fixed length: what follows it.",
        source=f"{_M} memory.plateau, memory.phase",
    ),
)

MEMORY = Table(
    name="memory",
    grain="sample of all processes of a run",
    key=("seq",),
    columns=(
        *KEY,
        *_SAMPLE,
        Column("n_sessions", "Int64", "Sessions of the run (a swept value).", source="run.json"),
        Column("n_processes", "Int64", "Processes that the sample found.", source=_S),
        Column("n_threads", "Int64", "Their threads; NA when any is unknown.", source=_S),
        Column("pss_bytes", "Int64", "Proportional set size: sum; NA when any is unknown.", source=_S),
        Column("swap_pss_bytes", "Int64", "Proportional share of swap: sum, likewise.", source=_S),
        Column("total_bytes", "Int64", "PSS + SwapPSS; NA when any is unknown.", source=_S),
        Column("anon_bytes", "Int64", "Anonymous part of PSS: sum, likewise.", source=_S),
        Column("file_bytes", "Int64", "File part of PSS: sum, likewise.", source=_S),
        Column("shmem_bytes", "Int64", "Shared memory part of PSS: sum, likewise.", source=_S),
        Column("rss_bytes", "Int64", "Resident size: sum, shared pages counted again in each.", source=_S),
        Column(
            "readable_bytes",
            "Int64",
            "PSS + SwapPSS of the processes that could be read: at least so much is there.",
            source=_S,
        ),
        Column(
            "outside_tree_bytes",
            "Int64",
            "Part of total_bytes that is of daemons; NA when any process is unknown.",
            source=f"{_S}, {_P}",
        ),
        Column(
            "cgroup_anon_bytes", "Int64", "Anonymous memory of the run's cgroup, watchdogs too.", source=_S
        ),
        Column("cgroup_watchdog_bytes", "Int64", "Part of it that the watchdogs took; slow lane.", source=_S),
        Column("cgroup_file_bytes", "Int64", "Page cache charged to it: by first touch.", source=_S),
        Column("cgroup_peak_bytes", "Int64", "Most that it was charged so far.", source=_S),
        Column(
            "cgroup_complete",
            "boolean",
            "False: some process began before it was in the cgroup, whose counters then miss a part.",
            source=_S,
        ),
        Column("cpu_ms", "Float64", "CPU time of the processes that are alive, since each began.", source=_S),
        Column("n_unreadable", "Int64", "Processes whose memory could not be read.", source=_S),
        Column("n_exited", "Int64", "Processes that ended while they were read.", source=_S),
        Column("n_reused", "Int64", "Ids that another process had by then.", source=_S),
        Column(
            "status",
            "string",
            "ok: all that the lane reads is known; partial: of some processes; none: of no process.",
        ),
        Column("reason", "string", "Why total_bytes is NA: fast_lane, unreadable."),
        Column("sweep_ms", "Float64", "How long the sample took.", source=_S),
        Column("sweep_cpu_ms", "Float64", "CPU time that it cost.", source=_S),
    ),
)

PROCESSES = Table(
    name="processes",
    grain="process in a sample",
    key=("seq", "pid", "start_ticks"),
    columns=(
        *KEY,
        *_SAMPLE,
        Column("pid", "Int64", "Process id.", source=_S),
        Column("start_ticks", "Int64", "Its start, clock ticks since boot: tells a reused id.", source=_S),
        Column("ppid", "Int64", "Its parent at that time.", source=_P),
        Column("name", "string", "Its name (comm), never its arguments.", source=_P),
        Column(
            "role",
            "string",
            "daemon: not started by the driver, and outside the tree, or outside the sessions and process "
            "groups, of what it started. launcher: started by the driver, or by a launcher, and a child that "
            "is no daemon holds more memory (largest sizes of the run are compared). app: any other.",
            source=_P,
        ),
        Column("root", "boolean", "Started by the driver.", source=_P),
        Column("in_tree", "boolean", "A descendant of such a process by its parents.", source=_P),
        Column("in_group", "boolean", "In the session or process group of such a process.", source=_P),
        Column("tagged", "boolean", "Carries the run's own mark in its environment.", source=_P),
        Column("pss_bytes", "Int64", "Proportional set size; NA: fast lane, or unreadable.", source=_S),
        Column("swap_pss_bytes", "Int64", "Proportional share of swap, likewise.", source=_S),
        Column("total_bytes", "Int64", "PSS + SwapPSS, likewise.", source=_S),
        Column("anon_bytes", "Int64", "Anonymous part of PSS, likewise.", source=_S),
        Column("file_bytes", "Int64", "File part of PSS, likewise.", source=_S),
        Column("shmem_bytes", "Int64", "Shared memory part of PSS, likewise.", source=_S),
        Column("rss_bytes", "Int64", "Resident size; NA: unreadable.", source=_S),
        Column("n_threads", "Int64", "Threads.", source=_S),
        Column("cpu_ms", "Float64", "CPU time since it began.", source=_S),
        Column("reason", "string", "Why total_bytes is NA: fast_lane, unreadable."),
    ),
)
