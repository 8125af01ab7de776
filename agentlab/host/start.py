"""Choose where a study is measured, and start it."""

from __future__ import annotations

import os
from collections.abc import Callable

from ..agents.cache import runs_home
from ..engine.budget import told_cost
from ..engine.study import Study
from ..errors import ConfigError
from ..wire.left import clear_left
from ..wire.procid import ProcessId
from .base import Host
from .lease import Lease
from .running import Running

HostMaker = Callable[[Study], Host]


def host_maker(host: str, kernel: str | None, detach: float | None = None) -> HostMaker:
    """Return what makes the host of a study.

    Parameters
    ----------
    host : {"auto", "kernel", "process", "inline"}
        ``auto``: kernel in a live notebook and when detached, else process.
    kernel : str or None
        Kernelspec; only for a measuring kernel.
    detach : float, optional
        Go on without this process, for at most so many seconds.

    Returns
    -------
    callable

    Raises
    ------
    ConfigError
        A kernelspec without a measuring kernel, or an unknown one; a detached study inside this process.
    """
    from ..surroundings import front_end

    if host == "auto":
        own_kernel = kernel is not None or detach is not None or front_end() == "live"
        host = "kernel" if own_kernel else "process"
    if detach is not None:
        _can_detach(host, detach)
    if kernel is not None and host != "kernel":
        raise ConfigError(f"record(kernel={kernel!r}, host={host!r}): a kernelspec needs host='kernel'")
    if host == "inline":
        from .inline import InlineHost

        return InlineHost
    if host == "process":
        from .process import ProcessHost

        return lambda study: ProcessHost(study, detach)
    from .kernel import KernelHost, kernelspec

    kernelspec(kernel)  # an unknown name is said before anything is touched
    return lambda study: KernelHost(study, kernel, detach)


def _can_detach(host: str, detach: float) -> None:
    if host == "inline":
        raise ConfigError(
            f"record(detach={detach!r}, host='inline'): a study inside this process ends with it; "
            "leave host= out, or detach="
        )
    if not ProcessId.of(os.getpid()).alive():
        raise ConfigError(
            f"record(detach={detach!r}): this system does not tell when a process started (no /proc), so "
            "nobody could find the study again; leave detach= out"
        )


def launch(study: Study, make_host: HostMaker, progress: str, *, detached: bool = False) -> Running:
    """Start what is missing of a prepared study.

    Parameters
    ----------
    study : Study
        A prepared study.
    make_host : callable
        From :func:`host_maker`.
    progress : {"auto", "widget", "text", "none"}
        How to show it.
    detached : bool
        The study goes on without this process: return only when it does.

    Returns
    -------
    Running
    """
    from ..progress import say, show

    planned = sum(study.planned.values())
    slots = study.missing()
    left = len(slots)
    if left == 0:
        say(f"{planned} of {planned} already recorded in {study.folder}; nothing to do")
        return Running(study, None)
    if left < planned:
        say(f"{planned - left} of {planned} already recorded in {study.folder}; {left} to do")
    if (cost := told_cost(study, slots)) is not None:
        say(cost)
    _clear_left()
    before = Lease.read(study.folder)
    if before is not None:
        before.clear()
    lease = (lambda: _new_lease(study, before)) if detached else None
    return Running(study, make_host(study), lambda running: show(running, progress), lease=lease)


def _clear_left() -> None:
    """Nothing is left behind: not even by a study whose watchdogs were killed with it."""
    from ..progress import say

    left = clear_left(runs_home())
    if left.ended:
        said = ", ".join(left.ended)
        say(f"an earlier study was killed together with its watchdogs; what it left was ended: {said}")
    if left.staying:
        said, pids = ", ".join(left.staying), " ".join(one.split()[0] for one in left.staying)
        say(f"an earlier study that was killed may have left: {said}; to end them: kill {pids}")


def _new_lease(study: Study, before: Lease | None) -> Lease | None:
    found = Lease.read(study.folder)
    return found if found != before else None
