"""Make the reports in ``data/schema2``: made-up sessions in the original cache script's format, version 2.

The aggregates are computed here in plain Python from that script's rules, and from nothing of agentlab,
so that a test can hold agentlab's numbers against them. Run: ``python data/make_schema2.py``.
"""

# ruff: noqa: D103, ANN401

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "schema2"
RESAMPLES = 2000
METRICS = ("zeroCacheMissRate", "cacheCoverage", "promptLoopTtftMsP50", "promptLoopLatencyMsP50")
Session = dict[str, Any]


# -- the rules


def nearest_rank(values: Sequence[float], p: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil((p / 100) * len(ordered)) - 1)]


def requests_of(sessions: Sequence[Session]) -> list[dict[str, Any]]:
    return [row for s in sessions for row in s["requests"] if not row["warmup"]]


def loops_of(sessions: Sequence[Session]) -> list[dict[str, Any]]:
    return [row for s in sessions for row in s["promptLoops"] if not row["warmup"]]


def zero_rate(sessions: Sequence[Session]) -> float | None:
    reads = [row["cacheRead"] for row in requests_of(sessions) if row["cacheRead"] is not None]
    return sum(read == 0 for read in reads) / len(reads) if reads else None


def coverage(sessions: Sequence[Session]) -> float | None:
    rows = [
        (row["cacheRead"], row["totalInput"])
        for row in requests_of(sessions)
        if row["cacheRead"] is not None and row["totalInput"] is not None
    ]
    total = sum(t for _, t in rows)
    return min(1, max(0, sum(r for r, _ in rows) / total)) if total else None


def median_of(name: str) -> Callable[[Sequence[Session]], float | None]:
    def statistic(sessions: Sequence[Session]) -> float | None:
        values = [row[name] for row in loops_of(sessions) if row[name] is not None]
        return nearest_rank(values, 50) if values else None

    return statistic


STATISTICS = dict(
    zip(
        METRICS,
        (zero_rate, coverage, median_of("promptLoopTtftMs"), median_of("promptLoopLatencyMs")),
        strict=True,
    )
)


def bootstrap(
    sessions: Sequence[Session], statistic: Callable[[Sequence[Session]], float | None]
) -> dict[str, Any]:
    """Resample whole sessions; those that the warm-up filter left empty stay in the population."""
    estimate = statistic(sessions)
    if not sessions or estimate is None:
        return {"estimate": estimate, "lower": None, "upper": None, "samples": 0}
    state, values = 0x9E3779B9, []
    for _ in range(RESAMPLES):
        drawn = []
        for _ in sessions:
            state = (state * 1664525 + 1013904223) % 2**32
            drawn.append(sessions[int(state / 2**32 * len(sessions))])
        value = statistic(drawn)
        if value is not None:
            values.append(value)
    lower, upper = (nearest_rank(values, p) for p in (2.5, 97.5))
    return {"estimate": estimate, "lower": lower, "upper": upper, "samples": len(values)}


def report(arm: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    used = [run["observation"] for run in runs if not run["discarded"]]
    routing = {"agent": "orchestrator", "providerID": "lab", "modelID": "scripted"}
    return {
        "schemaVersion": 2,
        "generatedAt": "2026-01-02T03:04:05.678Z",
        "comparison": {
            "arm": arm,
            "pluginBuild": "build-1",
            "hostOpenCodeVersion": "1.18.33",
            "runOrder": "sequential independent sessions",
            "routingFingerprint": routing,
        },
        "controls": {
            "runs": len(runs),
            "timeoutMs": 120000,
            "retries": 2,
            "retryDelayMs": 500,
            "warmupRule": "exclude request position 1 in each eligible session from aggregates",
        },
        "metrics": {
            "sessionsRequested": len(runs),
            "sessionsEligible": len(used),
            "sessionsDiscarded": len(runs) - len(used),
            "requestObservationsRaw": sum(len(o["requests"]) for o in used),
            "requestObservationsAggregated": len(requests_of(used)),
            "promptLoopObservationsRaw": sum(len(o["promptLoops"]) for o in used),
            "promptLoopObservationsAggregated": len(loops_of(used)),
            "primaryMetricsSessionBootstrap95CI": {
                name: bootstrap(used, statistic) for name, statistic in STATISTICS.items()
            },
        },
        "runs": runs,
    }


# -- made-up sessions


def request(draw: random.Random, position: int, *, known: bool = True, hit: bool = True) -> dict[str, Any]:
    fresh, read = draw.randint(20, 900), draw.randint(40, 70) * 128 if hit and position > 1 else 0
    row: dict[str, Any] = {"position": position, "warmup": position == 1, "input": fresh}
    row |= {"output": draw.randint(2, 90), "cacheRead": read, "cacheWrite": 0, "totalInput": fresh + read}
    if not known:
        row |= dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalInput"))
    return row


def loop(draw: random.Random, turn: int, *, ttft: bool = True) -> dict[str, Any]:
    first = round(draw.lognormvariate(6, 0.5), 3)
    latency = round(first + draw.lognormvariate(5, 0.7), 3)
    return {
        "turn": turn,
        "warmup": turn == 1,
        "promptLoopTtftMs": first if ttft else None,
        "promptLoopLatencyMs": latency,
    }


def events(draw: random.Random, session: str) -> list[dict[str, Any]]:
    at = 1_767_323_045_000 + draw.random() * 1000
    return [
        {"at": at, "type": "session.status", "sessionID": session, "status": "busy"},
        {
            "at": at + 312.25,
            "type": "message.part.delta",
            "sessionID": session,
            "messageID": "msg_1",
            "partID": "prt_1",
            "field": "text",
        },
        {"at": at + 400.5, "type": "session.status", "sessionID": session, "status": "idle"},
    ]


def run(draw: random.Random, index: int, **parts: Any) -> dict[str, Any]:
    session = f"ses_{index:04d}"
    whole = parts.pop("whole", True)
    reasons = parts.pop("reasons", [])
    observation: dict[str, Any] = {"events": events(draw, session)}
    if whole:
        observation = {
            "routing": {
                "sessionAgent": "orchestrator",
                "sessionProviderID": "lab",
                "sessionModelID": "scripted",
                "assistantCount": 4,
            },
            **observation,
            "tools": [{"tool": "read", "status": "completed"}, {"tool": "todowrite", "status": "completed"}],
            "requests": parts.pop("requests", None) or [request(draw, n) for n in range(1, 5)],
            "promptLoops": parts.pop("loops", None) or [loop(draw, 1), loop(draw, 2)],
            "retries": False,
            "compaction": False,
            "historyRetry": False,
            "historyCompaction": False,
            "assistantErrorCodes": [],
            "providerErrorCodes": [],
        }
    row: dict[str, Any] = {
        "runIndex": index,
        "runOrder": index + 1,
        "requestedRouting": {"agent": "orchestrator", "providerID": "lab", "modelID": "scripted"},
        "sessionID": session,
        "observation": observation,
        "discarded": bool(reasons),
    }
    if reasons:
        row["discardReasons"] = reasons
    return row | parts


def typical() -> dict[str, Any]:
    """Eight sessions: two discarded, one with null tokens and one without a first token."""
    draw = random.Random(1)
    runs = [run(draw, 0), run(draw, 1)]
    runs.append(run(draw, 2, reasons=["missing completed Read tool", "session entered retry state"]))
    runs.append(run(draw, 3, requests=[request(draw, 1), request(draw, 2, known=False), request(draw, 3)]))
    runs.append(run(draw, 4, whole=False, reasons=["POST /session/ses_0004/message returned HTTP 500"]))
    runs.append(run(draw, 5, loops=[loop(draw, 1), loop(draw, 2, ttft=False)]))
    runs.append(run(draw, 6, requests=[request(draw, n, hit=n != 3) for n in range(1, 6)]))
    runs.append(run(draw, 7, cleanupError="session deletion failed"))
    return report("plugin-on", runs)


def warmup_only() -> dict[str, Any]:
    """Six eligible sessions; the warm-up filter leaves two of them empty, and they stay in the population."""
    draw = random.Random(2)
    runs = [
        run(draw, n, requests=[request(draw, 1)], loops=[loop(draw, 1)]) if n in (1, 4) else run(draw, n)
        for n in range(6)
    ]
    return report("plugin-off", runs)


def nulls() -> dict[str, Any]:
    """Five sessions of a provider that reports no usage; only the latency is known."""
    draw = random.Random(3)
    runs = [
        run(
            draw,
            n,
            requests=[request(draw, k, known=False) for k in (1, 2, 3)],
            loops=[loop(draw, k, ttft=False) for k in (1, 2)],
        )
        for n in range(5)
    ]
    return report("no-usage", runs)


def all_discarded() -> dict[str, Any]:
    """Three sessions, none usable, with the rarer reasons."""
    draw = random.Random(4)
    reasons = [
        ["provider_error:APIError", "SSE delivered a malformed frame"],
        ["The operation was aborted."],
        ["assistant_error:unknown", "session compaction observed"],
    ]
    return report("broken", [run(draw, n, whole=n != 1, reasons=why) for n, why in enumerate(reasons)])


def no_sessions() -> dict[str, Any]:
    """Nothing was run."""
    return report("empty", [])


def large() -> dict[str, Any]:
    """Twenty-three sessions, lengths and rates uneven."""
    draw = random.Random(5)
    runs = [
        run(
            draw,
            n,
            requests=[request(draw, k, hit=draw.random() < 0.8) for k in range(1, 2 + draw.randint(1, 6))],
            loops=[loop(draw, k, ttft=draw.random() < 0.9) for k in range(1, 2 + draw.randint(1, 2))],
        )
        for n in range(23)
    ]
    return report("uneven", runs)


def as_the_script_wrote_it(data: Any) -> Any:
    """Make whole floats integers: a JavaScript engine writes 1, not 1.0."""
    if isinstance(data, dict):
        return {key: as_the_script_wrote_it(value) for key, value in data.items()}
    if isinstance(data, list):
        return [as_the_script_wrote_it(value) for value in data]
    return int(data) if isinstance(data, float) and data.is_integer() else data


def main() -> None:
    HERE.mkdir(exist_ok=True)
    sums = []
    for make in (typical, warmup_only, nulls, all_discarded, no_sessions, large):
        data = as_the_script_wrote_it(make())
        text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        path = HERE / f"{make.__name__}.json"
        path.write_text(text, encoding="utf-8")
        sums.append(f"{hashlib.sha256(text.encode()).hexdigest()}  {path.name}\n")
    (HERE / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


if __name__ == "__main__":
    main()
