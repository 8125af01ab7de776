"""CPU an event of reading an event stream, against httpx-sse; both decode JSON with the same decoder."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import httpx_sse
import msgspec

from agentlab.wire.eventsource import EventSource

from . import Row, _sse_server, median, print_conditions, print_rows, verdict

GOAL = 4.0
_decode = msgspec.json.Decoder().decode


async def agentlab_reader(url: str) -> int:
    """Read with agentlab."""
    n = 0
    async with EventSource(url) as source:
        async for events in source:
            for event in events:
                _decode(event.data)
                n += 1
    if source.ended != "clean":
        raise RuntimeError(f"the stream ended as {source.ended}: {source.error}")
    return n


async def httpx_sse_reader(url: str) -> int:
    """Read with httpx-sse."""
    n = 0
    async with (
        httpx.AsyncClient(trust_env=False) as client,
        httpx_sse.aconnect_sse(client, "GET", url) as source,
    ):
        async for event in source.aiter_sse():
            _decode(event.data)
            n += 1
    return n


READERS: dict[str, Callable[[str], Coroutine[Any, Any, int]]] = {
    "agentlab": agentlab_reader,
    "httpx-sse": httpx_sse_reader,
}


def rows(*, n_events: int = 20_000, repeats: int = 5, rate: float = 0) -> list[Row]:
    """Measure each reader in turn, `repeats` times; return medians.

    CPU is that of the whole reading process, loopback server apart. `rate` is in events a second, 0 = as fast
    as they are read; at a low rate each event is a wake-up of its own, and that is what is paid for.
    ``ratio`` is CPU against agentlab's.
    """
    cpu_us: dict[str, list[float]] = {name: [] for name in READERS}
    wall_us: dict[str, list[float]] = {name: [] for name in READERS}
    with _sse_server.serving() as base:
        for _ in range(repeats):
            for name, read in READERS.items():
                cpu, wall = time.process_time(), time.perf_counter()
                n = asyncio.run(read(f"{base}?n={n_events}&rate={rate}"))
                cpu_us[name].append((time.process_time() - cpu) / n_events * 1e6)
                wall_us[name].append((time.perf_counter() - wall) / n_events * 1e6)
                if n != n_events:
                    raise RuntimeError(f"{name} read {n} of {n_events} events")
    ours = median(cpu_us["agentlab"])
    return [
        {
            "reader": name,
            "rate": f"{rate:g}/s" if rate else "any",
            "events": n_events,
            "cpu_us_per_event": median(cpu_us[name]),
            "wall_us_per_event": median(wall_us[name]),
            "ratio": median(cpu_us[name]) / ours,
        }
        for name in READERS
    ]


def main(argv: list[str]) -> int:
    """Print rows and verdict."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks sse", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few events: for trying it")
    quick = parser.parse_args(argv).quick
    print_conditions("aiohttp", "msgspec", "httpx", "httpx-sse")
    found = rows(n_events=2000, repeats=3) if quick else rows()
    paced = rows(n_events=200 if quick else 1000, repeats=1 if quick else 3, rate=1000)
    print_rows(found + paced)
    return verdict(f"httpx-sse takes at least {GOAL:g} times the CPU an event", found[1]["ratio"] >= GOAL)
