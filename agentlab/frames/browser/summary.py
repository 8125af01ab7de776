"""The row of the table ``page``: one run's page in numbers, each beside the original's reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..chunks import build_chunks
from ..reading import Reading
from ..values import as_bool, as_count, as_float, as_text, total
from .frames import WANTED, animation_rows, build_frames, told_frames
from .input import interactions_of, shifts_of
from .original import nearest_rank, original_columns
from .recorder import recorder_text
from .samples import Samples
from .stretch import stretch_columns

if TYPE_CHECKING:
    from .evidence import PageEvidence


def build_page(read: Reading) -> list[dict[str, Any]]:
    """Build the row of one run; none when it had no page.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    page = read.page
    if not page.seen:
        return []
    samples = Samples(page)
    return [
        {
            **read.run.key(),
            **_setup(page),
            **_window(page),
            **stretch_columns(page),
            **_frames(read),
            **_animation(page),
            **_shifts(page),
            **_input(page),
            **_held(page, samples),
            **_work(page, samples),
            **_text(read),
            **_tokens(read),
            **_profile(page),
            **_looking(page, samples),
            **original_columns(page, samples),
        }
    ]


def _setup(page: PageEvidence) -> dict[str, Any]:
    told = page.last("open")
    return {
        "recorder": recorder_text(page.recorder),
        "preset": as_text(told.get("preset")),
        "sampling_us": as_count(told.get("sampling_us")),
        "browser": as_text(told.get("browser")),
        "headless": as_bool(told.get("headless")),
        "width": as_count(told.get("width")),
        "height": as_count(told.get("height")),
        "service_worker": as_text(told.get("service_worker")),
        "loaded_ms": as_float(told.get("loaded_ms")),
        "visibility": as_text(page.last("liveness").get("visibility")),
        "gates_failed": _failed(page),
    }


def _failed(page: PageEvidence) -> str | None:
    failed = [as_text(e.get("name")) for e in page.all("gate") if as_bool(e.get("passed")) is False]
    return ",".join(sorted({name for name in failed if name})) or None


def _window(page: PageEvidence) -> dict[str, Any]:
    window = page.window
    if window is None:
        return {}
    return {
        "window_source": window.source,
        "begin_ns": window.begin_ns,
        "stream_end_ns": window.stream_end_ns,
        "end_ns": window.end_ns,
        "stream_s": window.stream_s,
        "recorded_s": window.recorded_s,
    }


def _frames(read: Reading) -> dict[str, Any]:
    """Count frames of the stream in which the page wanted to show something."""
    page = read.page
    reason = page.frames_reason or page.trace_reason or ("no_window" if page.window is None else None)
    rows = [] if reason else build_frames(read)
    if not reason and not rows:
        reason = "no_frames"
    if reason or page.window is None:
        return {"frames_reason": reason}
    states = [row["state"] for row in rows if row["phase"] == "stream"]
    counts = {state: states.count(state) for state in WANTED}
    wanted, dropped = sum(counts.values()), counts["dropped"]
    return {
        "n_frames": wanted,
        **{f"n_{state}": n for state, n in counts.items()},
        "dropped_share": dropped / wanted if wanted else None,
        "frames_per_second": (wanted - dropped) / page.window.stream_s,
    }


def _animation(page: PageEvidence) -> dict[str, Any]:
    if page.window is None or page.frames_reason:
        return {}
    if page.trace_reason and not page.all("frames"):
        return {}
    rows = told_frames(page) if page.trace_reason else animation_rows(page)
    long = [row for row in rows if _in_stream(row) and row["is_long"]]
    blocked = [row["blocking_ms"] for row in long]
    known = [length for length in blocked if length is not None]
    return {
        "n_long_frames": len(long),
        "frame_blocking_ms": float(sum(known)) if len(known) == len(blocked) else None,
    }


def _shifts(page: PageEvidence) -> dict[str, Any]:
    shifts = shifts_of(page)
    if shifts is None or page.window is None:
        return {}
    inside = [s for s in shifts if s["phase"] == "stream" and not s["had_recent_input"]]
    return {
        "n_layout_shifts": len(inside),
        "layout_shift_score": float(sum(s["score"] or 0.0 for s in inside)),
    }


def _input(page: PageEvidence) -> dict[str, Any]:
    """Return INP: the worst interaction of the stream, one in each fifty left out."""
    lengths = sorted(
        (row["duration_ms"] for row in interactions_of(page) if _in_stream(row) and row["duration_ms"]),
        reverse=True,
    )
    if not lengths:
        return {"inp_reason": "no_input"}
    return {"n_interactions": len(lengths), "inp_ms": lengths[len(lengths) // 50]}


def _in_stream(row: dict[str, Any]) -> bool:
    return row["phase"] == "stream"


def _held(page: PageEvidence, samples: Samples) -> dict[str, Any]:
    return {
        **{f"{name}_begin": samples.begin.get(name) for name in ("nodes", "listeners")},
        **{f"{name}_end": samples.end.get(name) for name in ("nodes", "listeners")},
        "heap_begin_bytes": samples.begin.get("heap_bytes"),
        "heap_end_bytes": samples.end.get("heap_bytes"),
        "node_growth": samples.grown("nodes"),
        "node_growth_kept": samples.kept("nodes"),
        "listener_growth": samples.grown("listeners"),
        "listener_growth_kept": samples.kept("listeners"),
        "heap_growth_bytes": samples.grown("heap_bytes"),
        "heap_growth_kept_bytes": samples.kept("heap_bytes"),
        "kept_since": samples.kept_since,
        "heap_max_bytes": max(_heaps(page, samples), default=None),
    }


def _heaps(page: PageEvidence, samples: Samples) -> list[int]:
    """Return all sizes of the heap in the window: of the trace too, which tells of each change."""
    window, trace = page.window, page.trace
    found: list[int] = samples.running("heap_bytes")
    if window is None or trace is None or trace.page is None:
        return found
    return found + [
        counter.heap_bytes
        for counter in trace.counters
        if counter.thread == trace.page
        and counter.heap_bytes is not None
        and window.begin_ns <= counter.t_ns < window.end_ns
    ]


def _work(page: PageEvidence, samples: Samples) -> dict[str, Any]:
    recorded_s = None if page.window is None else page.window.recorded_s
    rates = {}
    for column, name in (("recalcs_per_second", "n_recalcs"), ("layouts_per_second", "n_layouts")):
        grown = samples.grown(name)
        rates[column] = None if grown is None or not recorded_s else grown / recorded_s
    return {
        "main_cpu_ms": samples.grown("thread_cpu_ms"),
        "renderer_cpu_ms": samples.grown("process_cpu_ms"),
        "script_ms": samples.grown("script_ms"),
        "layout_ms": samples.grown("layout_ms"),
        "style_ms": samples.grown("style_ms"),
        **rates,
        "n_gaps": len(page.all("gap")) if page.all("sample") else None,
    }


def _text(read: Reading) -> dict[str, Any]:
    """Return what was seen of the answer, and how far behind its stream the page was."""
    told = read.page.last("text")
    rows = build_chunks(read)
    judged = [row["ordered"] for row in rows if row["shown"] and row["ordered"] is not None]
    lags = {name: sorted(v for r in rows if (v := r.get(name)) is not None) for name in _LAGS}
    return {
        "n_chars": as_count(told.get("n_chars")),
        "n_growths": as_count(told.get("n_growths")),
        "shown_ratio": as_float(told.get("shown_ratio")),
        "n_chunks": len(judged) or None,
        "n_disordered": judged.count(False) if judged else None,
        "ordered_share": judged.count(True) / len(judged) if judged else None,
        **{f"{name.removesuffix('_ms')}_p50_ms": _median(values) for name, values in lags.items()},
        **{f"{name.removesuffix('_ms')}_p95_ms": nearest_rank(values, 0.95) for name, values in lags.items()},
    }


_LAGS = ("dom_lag_ms", "paint_lag_ms")


def _median(ordered: Sequence[float]) -> float | None:
    n = len(ordered)
    return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2 if n else None


def _tokens(read: Reading) -> dict[str, Any]:
    """Return what the answers were long: tokens of the requests that speak to the user."""
    rows = [row for row in read.request_rows if row.get("chain") == "main" and row.get("counted")]
    return {"output_tokens": total(*(row.get("output_tokens") for row in rows)) if rows else None}


def _profile(page: PageEvidence) -> dict[str, Any]:
    profile = page.page_profile
    if profile is None:
        return {}
    return {
        "sample_interval_ms": profile.interval_ms,
        "sample_interval_p95_ms": profile.interval_p95_ms,
        "sampled_busy_ms": profile.busy_ms,
        "sampled_idle_ms": profile.idle_ms,
        "sampled_gc_ms": profile.gc_ms,
        "sampled_program_ms": profile.program_ms,
        **_original_profile(page),
    }


def _original_profile(page: PageEvidence) -> dict[str, Any]:
    from ..cpuprofile import original

    if page.profile_file is None:
        return {}
    read = original(page.profile_file)
    names = ("busy_ms", "idle_ms", "gc_ms", "program_ms")
    return {f"original_cpu_{name}": getattr(read, name) for name in names}


def _looking(page: PageEvidence, samples: Samples) -> dict[str, Any]:
    """Return what looking at the page cost it, and us."""
    end = page.last("end")
    return {
        "command_ms": samples.grown("command_ms"),
        "observer_ms": as_float(page.last("text").get("own_ms")),
        "probe_ms": as_float(page.last("probe").get("own_ms")),
        "own_cpu_s": as_float(end.get("own_cpu_s")),
        "move_cpu_s": as_float(end.get("move_cpu_s")),
    }
