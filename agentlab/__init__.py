"""agentlab: a measuring instrument for coding agents, used from Jupyter.

Importing it loads nothing heavy: every public name is resolved on first use.
"""

_WHERE = {
    "AgentCLI": "drivers.agentcli",
    "AgentlabError": "errors",
    "ChatPage": "drivers.webchat",
    "CleanupError": "errors",
    "ConfigError": "errors",
    "Exec": "drivers.exec.driver",
    "ExecSessions": "drivers.exec",
    "Fault": "gateway",
    "Gateway": "gateway",
    "Interrupted": "errors",
    "InterruptedByUser": "errors",
    "Metric": "stats.metrics",
    "OpenCode": "drivers.opencode",
    "Pin": "gateway",
    "Price": "gateway",
    "PromptCache": "gateway",
    "Quiet": "engine.waiting",
    "Recording": "recording",
    "Recordings": "recording",
    "Reference": "drivers.reference",
    "Running": "host.running",
    "Scenario": "scenario",
    "ScriptedModel": "gateway",
    "StartupError": "errors",
    "Step": "gateway",
    "Tape": "gateway",
    "Terminal": "drivers.terminal",
    "Timeouts": "scenario",
    "WebChat": "drivers.webchat",
    "attach": "host.attach",
    "audit": "frames.audit",
    "check": "stats.budget",
    "compare": "stats.compare",
    "doctor": "agents",
    "example": "recording",
    "export": "recording.export",
    "explore": "widgets.explore",
    "figure_info": "plots.export",
    "install": "agents",
    "load": "recording",
    "marginal_fit": "stats.marginal",
    "plot_cpu": "plots.cpu",
    "plot_estimates": "plots.estimates",
    "plot_frames": "plots.frames",
    "plot_long_tasks": "plots.long_tasks",
    "plot_memory": "plots.memory",
    "plot_prefix": "plots.prefix",
    "plot_timeline": "plots.timeline",
    "plot_ttft": "plots.ttft",
    "record": "engine",
    "reference": "frames.published",
    "report": "reporting",
    "save": "plots.export",
    "verdicts": "stats.verdicts",
}
_MODULES = ("errors", "metrics")

__version__ = "0.1.0"
__all__ = sorted([*_WHERE, *_MODULES, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        value: object = import_module(f"{__name__}.{name}")
    elif name in _WHERE:
        value = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    else:
        from .errors import did_you_mean  # in the message: a notebook does not show Python's own suggestion

        near = did_you_mean(name, __all__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{near}")
    globals()[name] = value
    return value


def load_ipython_extension(ipython: object) -> None:
    """Add ``%agentlab`` to a notebook: ``%load_ext agentlab``."""
    from .magic import register

    register(ipython)


def __dir__() -> list[str]:
    return __all__
