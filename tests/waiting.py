"""Wait for what other processes do."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import Any

import psutil


def wait_until(true: Callable[[], Any], seconds: float, what: str) -> float:
    """Wait until something holds; return how long that took, in seconds."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds, f"not within {seconds} s: {what}"
        time.sleep(0.02)
    return time.monotonic() - began


def lives(process: psutil.Process) -> bool:
    """Say whether a process still runs."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def n_open_files() -> int:
    """Count this process's descriptors, without those of earlier tests' garbage."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))
