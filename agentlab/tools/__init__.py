"""The shared file tools: what the reference agent, and agents that can be given tools, work with.

Seven tools bound to one folder, deterministic in what they say. :class:`~agentlab.tools.toolbox.Toolbox`
carries them out, :class:`~agentlab.tools.workbench.Workbench` does so in a process of its own.
"""

from __future__ import annotations

from .observation import Observation
from .specs import SYSTEM, TOOLS
from .toolbox import Toolbox
from .workbench import Workbench

__all__ = ["SYSTEM", "TOOLS", "Observation", "Toolbox", "Workbench"]
