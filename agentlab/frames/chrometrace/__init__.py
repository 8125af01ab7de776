"""Traces of Chrome, read without a browser: one pass, bounded memory, and a report of what was lost."""

from .events import UNKNOWN
from .kinds import AnimationFrame, Counter, EventTiming, Frame, LayoutShift, Mark, Script
from .reader import Trace, read_trace
from .report import TraceReport
from .slices import Slices, self_time
from .tasks import LONG_MS, TASK_COLUMNS, read_tasks, task_frame
from .threads import Thread

__all__ = [
    "LONG_MS",
    "TASK_COLUMNS",
    "UNKNOWN",
    "AnimationFrame",
    "Counter",
    "EventTiming",
    "Frame",
    "LayoutShift",
    "Mark",
    "Script",
    "Slices",
    "Thread",
    "Trace",
    "TraceReport",
    "read_tasks",
    "read_trace",
    "self_time",
    "task_frame",
]
