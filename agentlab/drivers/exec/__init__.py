"""Commands that outlive one call: started, waited for, typed into, ended to the last process."""

from __future__ import annotations

from .control import Execution, ExecutionControl
from .result import ExecInfo, ExecResult
from .sessions import ExecSessions

__all__ = ["ExecInfo", "ExecResult", "ExecSessions", "Execution", "ExecutionControl"]
