"""A gateway for a terminal: it says where it is, runs until it is stopped, and sums up what was spent."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from ..errors import RecordingError
from .dialects import DIALECTS
from .live import Live
from .settings import Gateway

_LOOK_S = 1.0


def serve(
    gateway: Gateway,
    *,
    folder: str | Path | None = None,
    keep: Literal["numbers", "content"] = "numbers",
    say: Callable[[str], object] = print,
) -> None:
    """Run a gateway until Ctrl-C or SIGTERM.

    Parameters
    ----------
    gateway : Gateway
        The settings.
    folder : str or Path, optional
        Where its evidence and its ledger are kept; made when it does not exist. None: nowhere.
    keep : {"numbers", "content"}
        Whether prompts and answers are recorded, and a tape.
    say : callable
        Gets each line for the reader.

    Raises
    ------
    ConfigError
        A setting is wrong.
    RecordingError
        The folder cannot be written to, or its ledger cannot be read.
    StartupError
        The gateway did not start.
    GatewayError
        Its process ended by itself.
    """
    asyncio.run(_serve(gateway, None if folder is None else Path(folder), keep, say))


async def _serve(
    gateway: Gateway,
    folder: Path | None,
    keep: Literal["numbers", "content"],
    say: Callable[[str], object],
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(f"{folder}: the folder cannot be made: {error.strerror}") from error
    live = await gateway.start(folder, keep=keep)
    try:
        for line in _where(gateway, live, folder):
            say(line)
        while not stop.is_set():
            try:
                await asyncio.wait_for(stop.wait(), _LOOK_S)
            except TimeoutError:
                await live.sync()  # raises once its process is gone
    finally:
        await live.close()
        say(_summary(live))


def _where(gateway: Gateway, live: Live, folder: Path | None) -> list[str]:
    width = max(map(len, DIALECTS))
    lines = [f"{name:<{width}}  {live.base_url(name)}" for name in DIALECTS]
    lines.append(f"{'token':<{width}}  {live.token}")
    if gateway.prices is not None:
        lines.append(f"{'ledger':<{width}}  {live.ledger}")
    if folder is not None:
        lines.append(f"{'folder':<{width}}  {folder}")
    return [*lines, "Ctrl-C ends it."]


def _summary(live: Live) -> str:
    n = len(live.requests)
    refused = sum(live.refused.values())
    wrong = f", {refused} calls refused with 403" if refused else ""
    return f"{n} request{'' if n == 1 else 's'}: {live.ledger}{wrong}"
