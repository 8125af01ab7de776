"""Choose where a study is measured, and start it."""

from __future__ import annotations

from collections.abc import Callable

from ..engine.study import Study, missing
from ..errors import ConfigError
from .base import Host
from .running import Running

HostMaker = Callable[[Study], Host]


def host_maker(host: str, kernel: str | None) -> HostMaker:
    """Return what makes the host of a study.

    Parameters
    ----------
    host : {"auto", "kernel", "process", "inline"}
        ``auto``: kernel in a live notebook, else process.
    kernel : str or None
        Kernelspec; only for a measuring kernel.

    Returns
    -------
    callable

    Raises
    ------
    ConfigError
        A kernelspec without a measuring kernel, or an unknown one.
    """
    from ..surroundings import front_end

    if host == "auto":
        host = "kernel" if kernel is not None or front_end() == "live" else "process"
    if kernel is not None and host != "kernel":
        raise ConfigError(f"record(kernel={kernel!r}, host={host!r}): a kernelspec needs host='kernel'")
    if host == "inline":
        from .inline import InlineHost

        return InlineHost
    if host == "process":
        from .process import ProcessHost

        return ProcessHost
    from .kernel import KernelHost, kernelspec

    kernelspec(kernel)  # an unknown name is said before anything is touched
    return lambda study: KernelHost(study, kernel)


def launch(study: Study, make_host: HostMaker, progress: str) -> Running:
    """Start what is missing of a prepared study.

    Parameters
    ----------
    study : Study
        A prepared study.
    make_host : callable
        From :func:`host_maker`.
    progress : {"auto", "widget", "text", "none"}
        How to show it.

    Returns
    -------
    Running
    """
    from ..progress import say, show

    planned = study.runs * len(study.arms)
    left = len(missing(study))
    if left == 0:
        say(f"{planned} of {planned} already recorded in {study.folder}; nothing to do")
        return Running(study, None)
    if left < planned:
        say(f"{planned - left} of {planned} already recorded in {study.folder}; {left} to do")
    return Running(study, make_host(study), lambda running: show(running, progress))
