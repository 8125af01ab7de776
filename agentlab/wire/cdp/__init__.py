"""Chromium over its DevTools protocol: a browser that dies with its owner, pages, traces, profiles.

The only importer of pychrome, of which the connection is used; what it lacks or does wrong is held here.
"""

from .browser import Browser, find, launch
from .connection import CommandFailed, Connection
from .page import Page, ScriptFailed
from .profiler import end_profile, start_profile
from .tracing import TraceEnd, end_trace, start_trace

__all__ = [
    "Browser",
    "CommandFailed",
    "Connection",
    "Page",
    "ScriptFailed",
    "TraceEnd",
    "end_profile",
    "end_trace",
    "find",
    "launch",
    "start_profile",
    "start_trace",
]
