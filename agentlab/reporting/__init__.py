"""A study as one page to read, keep and send: ``report(study)``."""

from __future__ import annotations

from .make import report

__all__ = ["report"]
