"""What every contender of ``stamps`` runs: write receive stamp minus send stamp of each event."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
from pathlib import Path

import msgspec

from agentlab.wire.eventsource import EventSource


class _Body(msgspec.Struct):
    sent: str


async def read(url: str, out: str) -> None:
    """Read to the end and write the delays in ns as a JSON list."""
    decode = msgspec.json.Decoder(_Body).decode
    delays: list[int] = []
    async with EventSource(url) as source:
        async for events in source:
            delays += [event.t - int(decode(event.data).sent) for event in events]
    if source.ended != "clean":
        raise RuntimeError(f"the stream ended as {source.ended}: {source.error}")
    Path(out).write_text(json.dumps(delays))


def in_thread(url: str, out: str) -> threading.Thread:
    """Read on a loop in a thread of this process."""
    thread = threading.Thread(target=lambda: asyncio.run(read(url, out)), daemon=True)
    thread.start()
    return thread


def settle() -> None:
    """Do as a measuring host does: what exists now is not looked at by the collector again."""
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    settle()
    asyncio.run(read(*sys.argv[1:]))
