"""The small process that starts agents and outlives whoever asked for them.

It is run by file name (``python -I -S watchdog.py FD``), uses the standard library only, and is a child
subreaper: whatever its children start, also with ``setsid``, a double fork or an emptied environment, stays
its descendant. When its owner ends or closes the socket, for whatever reason, it kills all of them and exits.

Messages are JSON lines over one Unix socket; file descriptors of a spawn travel with its line.
"""

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable

_PR_SET_CHILD_SUBREAPER = 36
_KILL_S = 3.0  # how long SIGKILL is repeated before the rest counts as surviving


def become_subreaper() -> bool:
    """Make orphaned descendants children of this process (Linux).

    Returns
    -------
    bool
        False where the system has no such thing.
    """
    try:
        import ctypes

        return ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    except (OSError, AttributeError, ImportError):
        return False


def descendants(root: int) -> list[int]:
    """List the live descendants of a process, zombies left out.

    Parameters
    ----------
    root : int
        Process id.

    Returns
    -------
    list of int
        Process ids, parents before children.
    """
    children: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208 (no pathlib here: start-up time)
    except OSError:
        return []
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                rest = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        # A process that is being killed can be a zombie by its first thread alone: it still has its children.
        if rest[0] not in (b"Z", b"X") or int(rest[17]) > 1:
            children.setdefault(int(rest[1]), []).append(int(name))
    found: list[int] = []
    queue = [root]
    while queue:
        queue = [child for parent in queue for child in children.get(parent, ())]
        found += queue
    return found


def command_of(pid: int) -> str:
    """Return the name of a process, for messages; never its arguments, which may hold a prompt.

    Parameters
    ----------
    pid : int
        Process id.

    Returns
    -------
    str
        ``"pid name"``.
    """
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return f"{pid} {file.read().strip()}"
    except OSError:
        return f"{pid} ?"


def _send_signal(pids: Iterable[int], sig: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, sig)


def _owner() -> set[int]:
    """Open who started this: its copies by fork hold the socket open, and can outlive it."""
    try:
        return {os.pidfd_open(os.getppid())}
    except (AttributeError, OSError):  # an old system: the socket has to do
        return set()


class _Watchdog:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.buffer = b""
        self.fds: list[int] = []
        self.direct: set[int] = set()
        self.folders: dict[str, int] = {}
        self.over = False
        self.owner = _owner()
        self.wake_r, wake_w = os.pipe()
        os.set_blocking(self.wake_r, False)
        os.set_blocking(wake_w, False)
        signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for sig in (signal.SIGINT, signal.SIGHUP):
            signal.signal(sig, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._end)

    def _end(self, *_: object) -> None:
        self.over = True

    def run(self) -> None:
        while not self.over:
            ready, _, _ = select.select([self.sock, self.wake_r, *self.owner], [], [])
            if not self.owner.isdisjoint(ready):
                self.over = True
            if self.wake_r in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self.wake_r, 4096)
            self.reap()
            if self.sock in ready and not self.over:
                self.read()
        self.sweep(0.0)
        if self.folders:
            import shutil

            for folder in self.folders:
                shutil.rmtree(folder, ignore_errors=True)

    def read(self) -> None:
        try:
            data, fds, _, _ = socket.recv_fds(self.sock, 1 << 16, 16)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data, fds = b"", []
        for fd in fds:
            os.set_inheritable(fd, False)
        self.fds += fds
        if not data:
            self.over = True
            return
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            self.handle(json.loads(line))

    def handle(self, message: dict) -> None:  # type: ignore[type-arg]
        op, answer = message["op"], {"id": message["id"]}
        if op == "spawn":
            answer |= self.spawn(message)
        elif op == "signal":
            _send_signal([message["pid"]] if message["pid"] in self.direct else [], message["signal"])
        elif op == "own":
            self.folders[message["path"]] = self.fds.pop(0)  # its lock, held as long as this process lives
        elif op == "sweep":
            answer["survivors"] = self.sweep(message["term_s"])
        self.send(answer)

    def spawn(self, message: dict) -> dict:  # type: ignore[type-arg]
        if (tty := message.get("tty")) is None:
            fds, self.fds = self.fds[:3], self.fds[3:]
            actions = [(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate(fds)]
        else:
            # A session leader without a terminal that opens one gets it as its controlling terminal.
            fds, actions = [], [(os.POSIX_SPAWN_OPEN, 0, tty, os.O_RDWR, 0)]
            actions += [(os.POSIX_SPAWN_DUP2, 0, target) for target in (1, 2)]
        try:
            # A child's folder is the watchdog's at the time of the spawn: it has one thread.
            os.chdir(message["cwd"])
            pid = os.posix_spawn(
                message["argv"][0],
                message["argv"],
                message["env"],
                file_actions=actions,
                setsid=True,
                setsigmask=[],
                setsigdef=[signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD],
            )
        except OSError as error:
            return {"error": error.strerror or "cannot be started", "errno": error.errno}
        finally:
            for fd in fds:
                os.close(fd)
            os.chdir("/")
        self.direct.add(pid)
        return {"pid": pid}

    def reap(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.direct:
                self.direct.discard(pid)
                about = {"returncode": os.waitstatus_to_exitcode(status), "t": time.monotonic_ns()}
                cost = {"cpu_s": usage.ru_utime + usage.ru_stime, "max_rss_bytes": usage.ru_maxrss * 1024}
                self.send({"exited": pid, **about, **cost})

    def sweep(self, term_s: float) -> list[str]:
        me = os.getpid()
        if term_s > 0:
            _send_signal(descendants(me), signal.SIGTERM)
            end = time.monotonic() + term_s
            while descendants(me) and time.monotonic() < end:
                time.sleep(0.01)
                self.reap()
        end = time.monotonic() + _KILL_S
        alive, n_empty = [me], 0
        # Twice: what passed to us while /proc was read was seen as the child of one that is gone.
        while n_empty < 2 and time.monotonic() < end:
            alive = descendants(me)
            n_empty = 0 if alive else n_empty + 1
            _send_signal(alive, signal.SIGKILL)
            time.sleep(0.005)
            self.reap()
        return [command_of(pid) for pid in alive]

    def send(self, message: dict) -> None:  # type: ignore[type-arg]
        try:
            self.sock.setblocking(True)
            self.sock.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self.over = True
        finally:
            self.sock.setblocking(False)


def main() -> None:
    """Serve the socket whose descriptor is the first argument until it closes."""
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.set_inheritable(False)
    sock.setblocking(False)
    become_subreaper()
    os.chdir("/")
    _Watchdog(sock).run()


if __name__ == "__main__":
    main()
