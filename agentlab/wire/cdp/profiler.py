"""A CPU profile of a page or of one of its workers, written as the file that DevTools opens."""

from __future__ import annotations

import asyncio
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from ...errors import RecordingError
from .page import Page


async def start_profile(page: Page, *, interval_us: int, session: str | None = None) -> None:
    """Start the sampling profiler.

    Parameters
    ----------
    page : Page
        The page.
    interval_us : int
        Wanted time between two samples, us; what it gets is longer on a busy machine.
    session : str, optional
        Of a worker; None: the page's main thread.
    """
    await page.call("Profiler.enable", session=session)
    await page.call("Profiler.setSamplingInterval", interval=interval_us, session=session)
    await page.call("Profiler.start", session=session)


async def end_profile(
    page: Page,
    path: Path,
    *,
    reduce: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    timeout_s: float = 60.0,
    session: str | None = None,
) -> int:
    """Stop the profiler and write what it has, compressed.

    Parameters
    ----------
    page : Page
        The page.
    path : Path
        New file, ``.cpuprofile.gz``, 0600.
    reduce : callable, optional
        Given the profile, returns what is written of it.
    timeout_s : float
        Longest wait, s.
    session : str, optional
        As it was started.

    Returns
    -------
    int
        Samples.

    Raises
    ------
    DriverTimeout, BrowserGone
        The page does not answer any more; the samples are lost.
    RecordingError
        It cannot be written.
    """
    answer = await page.call("Profiler.stop", timeout_s=timeout_s, session=session)
    profile: dict[str, Any] = answer["profile"]
    await asyncio.to_thread(_write, path, profile if reduce is None else reduce(profile))
    return len(profile.get("samples", ()))


def _write(path: Path, profile: dict[str, Any]) -> None:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as raw:
            raw.write(gzip.compress(msgspec.json.encode(profile), 1, mtime=0))
    except OSError as error:
        raise RecordingError(f"{path} cannot be written: {error.strerror}") from error
