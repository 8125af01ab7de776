"""CPU and added latency of the metered gateway, evidence and ledger on, against LiteLLM, mitmproxy and httpx.

The same cheap provider stands behind all of them, the same cheap client before them. Requests are 31.6 to
34 kB; an answer is whole, or a stream of 100 chunks, back to back or 10 ms apart (paced). CPU is that of a
gateway's own processes, user and system. All are measured in turn, in short windows; a window in which other
processes took more than a tenth of the machine counts for latency only when there was no better one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from . import Row, median, print_conditions, print_rows, verdict
from ._gateway_client import Times, talk
from ._gateway_peers import PEERS, Peer, Running, ours, peer, provider_itself
from ._gateway_upstream import serving

OURS, DIRECT = "agentlab", "no gateway"
GOAL_CPU = {"litellm": 25.0, "mitmproxy": 3.0, "starlette-httpx": 3.0}
GOAL_ADDED_MS = 0.5
GOAL_FIRST_MS = 1.5
GOAL_FIRST_P99_MS = 13.0
QUIET = 0.10


@dataclasses.dataclass(frozen=True)
class Shape:
    """What is asked for in one window.

    Parameters
    ----------
    answer : {"whole", "stream", "paced"}
        Kind of answer.
    clients, requests : int
        Clients at a time, and requests of each in one window.
    """

    answer: str
    clients: int
    requests: int

    @property
    def name(self) -> str:
        """Name of the rows."""
        return f"{self.answer} x{self.clients}"


SHAPES = (
    Shape("whole", 1, 100),
    Shape("whole", 16, 12),
    Shape("stream", 1, 20),
    Shape("stream", 16, 3),
    Shape("paced", 1, 3),
    Shape("paced", 16, 2),
)
_QUICK = tuple(Shape(shape.answer, shape.clients, 1 if shape.clients > 1 else 3) for shape in SHAPES)


@dataclasses.dataclass(frozen=True)
class Window:
    """What one window found: CPU of the gateway a request, the share others took of the machine, times."""

    cpu_s: float
    others: float
    times: tuple[Times, ...]


Found = dict[tuple[str, Shape], list[Window]]


async def measure(
    *, peers: Sequence[Peer] = PEERS, shapes: Sequence[Shape] = SHAPES, repeats: int = 5
) -> Found:
    """Measure all of them in turn, `repeats` times, after one round that warms them up."""
    found: Found = {}
    with serving() as (port, provider):
        async with contextlib.AsyncExitStack() as stack:
            running = {
                DIRECT: await stack.enter_async_context(provider_itself(port)),
                OURS: await stack.enter_async_context(ours(port)),
            }
            for one in peers:
                running[one.name] = await stack.enter_async_context(peer(one, port))
            for number in range(-1, repeats):
                for shape in shapes:
                    for name, gateway in running.items():
                        window = await _window(gateway, shape, (provider, os.getpid()))
                        if number >= 0:
                            found.setdefault((name, shape), []).append(window)
    return found


async def _window(gateway: Running, shape: Shape, also: Iterable[int]) -> Window:
    pids = _tree(gateway.pids)
    everyone = [*pids, *also]
    begin, machine, cpu, all_cpu = time.perf_counter(), _busy_s(), _cpu_s(pids), _cpu_s(everyone)
    times = await talk(
        gateway.url,
        gateway.token,
        clients=shape.clients,
        requests=shape.requests,
        stream=shape.answer != "whole",
        paced=shape.answer == "paced",
    )
    used, all_used = _cpu_s(pids) - cpu, _cpu_s(everyone) - all_cpu
    span = (time.perf_counter() - begin) * (os.cpu_count() or 1)
    return Window(used / len(times), max(0.0, _busy_s() - machine - all_used) / span, tuple(times))


def rows(found: Found) -> list[Row]:
    """Summarise: CPU ms a request (median of the windows) and its ratio to ours, times in ms.

    ``first`` is the first byte of the answer's body; ``added`` what it is above the same without a gateway.
    ``quiet`` counts the windows whose times are used, of all windows; without any all are used.
    """
    table: list[Row] = []
    for (name, shape), windows in found.items():
        direct, own = found[DIRECT, shape], found[OURS, shape]
        cpu = median([window.cpu_s for window in windows])
        table.append(
            {
                "answer": shape.name,
                "gateway": name,
                "cpu_ms": cpu * 1e3,
                "ratio": cpu / median([window.cpu_s for window in own]),
                "p50_ms": quantile(windows, _total, 0.5),
                "added": quantile(windows, _total, 0.5) - quantile(direct, _total, 0.5),
                "p99_ms": quantile(windows, _total, 0.99),
                "first_p50": quantile(windows, _first, 0.5),
                "first_p50_added": quantile(windows, _first, 0.5) - quantile(direct, _first, 0.5),
                "first_p99": quantile(windows, _first, 0.99),
                "first_p99_added": quantile(windows, _first, 0.99) - quantile(direct, _first, 0.99),
                "quiet": f"{len(_quiet(windows))}/{len(windows)}",
            }
        )
    return table


def _total(times: Times) -> float:
    return times.total_s


def _first(times: Times) -> float:
    return times.first_s


def _quiet(windows: Sequence[Window]) -> list[Window]:
    return [window for window in windows if window.others <= QUIET]


def quantile(windows: Sequence[Window], of: Callable[[Times], float], share: float) -> float:
    """Return the nearest-rank quantile over all requests of the quiet windows, ms."""
    used = _quiet(windows) or windows
    values = sorted(of(times) for window in used for times in window.times)
    return values[max(0, -(-int(share * len(values) * 1000) // 1000) - 1)] * 1e3


def goals(table: Sequence[Row]) -> list[tuple[str, bool | None]]:
    """Judge: what is asked, and whether it was held; None = the machine was too busy to say."""
    at = {(row["answer"], row["gateway"]): row for row in table}
    judged: list[tuple[str, bool | None]] = []
    for name, goal in GOAL_CPU.items():
        for kind in ("stream", "whole"):
            ratios = [at[key]["ratio"] for key in at if key[1] == name and key[0].startswith(f"{kind} ")]
            if ratios:
                lowest = min(ratios)
                what = f"{kind}: {name} takes at least {lowest:.1f} times our CPU (goal {goal:g})"
                judged.append((what, lowest >= goal))
    for answer, column, goal in (
        ("whole x1", "added", GOAL_ADDED_MS),
        ("paced x1", "first_p50_added", GOAL_FIRST_MS),
        ("paced x16", "first_p99_added", GOAL_FIRST_P99_MS),
    ):
        row = at[answer, OURS]
        busy = any(at[answer, name]["quiet"].startswith("0/") for name in (OURS, DIRECT))
        judged.append(
            (
                f"{answer}: {column} {row[column]:.2f} ms (goal {goal:g})",
                None if busy else row[column] <= goal,
            )
        )
    return judged


def _busy_s() -> float:
    """CPU seconds that the machine has worked."""
    user, nice, system, _, _, irq, soft, *_ = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    )
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def _tree(pids: Iterable[int]) -> list[int]:
    """Processes with all that descend from them."""
    found: list[int] = []
    todo = list(pids)
    while todo:
        pid = todo.pop()
        found.append(pid)
        for task in Path(f"/proc/{pid}/task").iterdir():
            todo += map(int, (task / "children").read_text().split())
    return found


def _cpu_s(pids: Iterable[int]) -> float:
    """CPU seconds of processes, ended threads included, to the nanosecond: clock_getcpuclockid(3)."""
    return sum(time.clock_gettime_ns((~pid << 3) | 2) for pid in pids) / 1e9


def main(argv: list[str]) -> int:
    """Print rows and verdict."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks gateway", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few requests: for trying it")
    parser.add_argument("--peers", default=",".join(one.name for one in PEERS), help="which peers, or ''")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args(argv)
    peers = [one for one in PEERS if one.name in given.peers.split(",")]
    print_conditions("httptools", "msgspec")
    for one in peers:
        print(f"{one.name}: {one.version()}")
    shapes = _QUICK if given.quick else SHAPES
    table = rows(
        asyncio.run(measure(peers=peers, shapes=shapes, repeats=1 if given.quick else given.repeats))
    )
    print_rows(sorted(table, key=lambda row: [shape.name for shape in shapes].index(row["answer"])))
    judged = goals(table)
    for what, held in judged:
        print(f"{'too busy' if held is None else 'held' if held else 'MISSED'}: {what}")
    return verdict("all of them", all(held for _, held in judged))
