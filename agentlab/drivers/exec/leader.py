"""The small process that starts commands, each below a session leader that outlives it.

It is run by file name (``python -I -S leader.py``), uses the standard library only, and forks one leader
for each command. A leader owns the command's session and terminal for as long as anything of it is alive:
while it is there, the kernel hangs up nobody's terminal, and whatever the command started, also with
``setsid``, a double fork or an emptied environment, stays its descendant.

Orders are JSON lines on its input, reports JSON lines on its output: ``{"id", "leader", "pid", "t"}`` or
``{"id", "error"}`` for a start, ``{"id", "exit", "t", "cpu_s", "left"}`` when the command has ended (and
whether something of it is left), ``{"id", "gone"}`` when nothing of it is left.
"""

import contextlib
import errno
import fcntl
import json
import os
import signal
import time
from collections.abc import Callable

_PR_SET_CHILD_SUBREAPER = 36
#: What a terminal and the owner send does not reach a leader; SIGKILL does.
_IGNORED = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGPIPE,
)
#: What the command finds as the system made it, also what Python ignores.
_RESTORED = (*_IGNORED, signal.SIGCHLD, signal.SIGXFSZ)


def main() -> None:
    """Carry out the orders on the input until it ends."""
    import ctypes  # 5 ms once, and not in each leader

    prctl = ctypes.CDLL(None).prctl
    orders = _moved(0, os.O_RDONLY)
    reports = _moved(1, os.O_WRONLY)
    leaders: dict[int, int] = {}

    def reap(*_: object) -> None:
        with contextlib.suppress(ChildProcessError):
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                if (number := leaders.pop(pid, None)) is not None:
                    _report(reports, id=number, gone=True)

    with open(orders, "rb") as lines:  # noqa: PTH123 (a descriptor)
        for line in lines:
            order = json.loads(line)
            # A leader that ends at once is not to be reaped before its number is known.
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            pid = os.fork()
            if pid == 0:
                try:
                    os.close(orders)
                    _lead(order, reports, lambda: prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
                finally:
                    os._exit(1)
            leaders[pid] = order["id"]
            signal.signal(signal.SIGCHLD, reap)
            reap()


def _moved(fd: int, flags: int) -> int:
    """Move a standard descriptor to where no command finds it."""
    high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    null = os.open(os.devnull, flags)
    os.dup2(null, fd)
    os.close(null)
    return high


def _report(fd: int, **fields: object) -> None:
    """Write one line; all processes share the pipe, and a short write into it is never mixed with another."""
    os.write(fd, json.dumps(fields).encode() + b"\n")


def _lead(order: dict, reports: int, become_subreaper: Callable[[], object]) -> None:  # type: ignore[type-arg]
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    os.setsid()
    become_subreaper()
    try:
        streams = _streams(order)
        begun = time.monotonic_ns()
        pid = _start(order, streams)
    except OSError as error:
        _report(reports, id=order["id"], error=error.strerror, errno=error.errno)
        os._exit(1)
    if order["tty"] is None:  # its end of the terminal is kept: no end of file before the last process ended
        for fd in set(streams):
            os.close(fd)
    _report(reports, id=order["id"], leader=os.getpid(), pid=pid, t=begun)
    with contextlib.suppress(ChildProcessError):
        while True:
            ended, status, usage = os.wait4(-1, 0)
            if ended == pid:
                about = {"exit": os.waitstatus_to_exitcode(status), "t": time.monotonic_ns()}
                about |= {"cpu_s": usage.ru_utime + usage.ru_stime, "left": _something_is_left()}
                _report(reports, id=order["id"], **about)
    os._exit(0)


def _something_is_left() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        return False
    return True


def _streams(order: dict) -> tuple[int, int, int]:  # type: ignore[type-arg]
    if order["tty"] is not None:
        terminal = os.open(order["tty"], os.O_RDWR)  # a session's first terminal is its controlling one
        return terminal, terminal, terminal
    both = os.open(order["output"], os.O_WRONLY)
    return os.open(order["input"], os.O_RDONLY), both, both


def _start(order: dict, streams: tuple[int, int, int]) -> int:  # type: ignore[type-arg]
    """Fork the command into a group of its own, in the foreground of its terminal, before it runs."""
    said, failure = os.pipe()  # closed by a successful exec
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            if order["tty"] is not None:
                os.tcsetpgrp(streams[0], os.getpid())
            for target, fd in enumerate(streams):
                os.dup2(fd, target)
            for number in _RESTORED:
                signal.signal(number, signal.SIG_DFL)
            os.chdir(order["cwd"])
            os.execve(order["argv"][0], order["argv"], order["env"])
        except OSError as error:
            os.write(failure, b"%d" % (error.errno or 0))
        except (TypeError, ValueError):  # a text that no program can be given
            os.write(failure, b"%d" % errno.EINVAL)
        finally:
            os._exit(127)
    os.close(failure)
    number = os.read(said, 16)
    os.close(said)
    if number:
        os.waitpid(pid, 0)
        raise OSError(int(number), os.strerror(int(number)))
    return pid


if __name__ == "__main__":
    main()
