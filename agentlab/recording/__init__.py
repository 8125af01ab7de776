"""Recordings: what was measured, read back as runs and tables."""

from __future__ import annotations

from ..frames.evidence import Event, Issue, RunInfo
from .loading import example, load
from .recording import Recording
from .recordings import Recordings

__all__ = ["Event", "Issue", "Recording", "Recordings", "RunInfo", "example", "load"]
