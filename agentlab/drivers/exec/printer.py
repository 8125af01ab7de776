"""A program whose output can be accounted for: each frame that it prints holds its own stamp and length.

Run as a file, with the standard library only: ``python -I -S printer.py LIST NAME STEP...``. A frame is
``#NAME SEQ PRINT_NS N_BYTES:`` and so many bytes that follow from ``SEQ``; what was written is noted in the
file ``LIST`` as well, so that whoever reads the output can tell what is missing.
"""

from __future__ import annotations

import os
import signal
import sys
import time

_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_LONG = _LETTERS * 2600
#: Bytes of a frame's body where a step does not say it, and of the frames of a ``bulk``.
SHORT, BULK = 40, 1 << 16


def body(seq: int, n: int) -> bytes:
    """Return what stands in a frame.

    Parameters
    ----------
    seq : int
        Number of the frame.
    n : int
        Bytes.

    Returns
    -------
    bytes

    Examples
    --------
    >>> body(2, 5)
    b'cdefg'
    """
    at = seq % len(_LETTERS)
    text = _LONG if n + at <= len(_LONG) else _LETTERS * (n // len(_LETTERS) + 2)
    return text[at : at + n]


class _Printer:
    def __init__(self, path: str, name: str) -> None:
        self.list = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.name, self.seq, self.code = name, 0, 0
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123 (pathlib costs 10 ms of a start)
            started = file.read().rpartition(b")")[2].split()[19]
        self.note("pid", os.getpid(), started.decode())

    def note(self, what: str, *fields: object) -> None:
        line = " ".join(map(str, (what, self.name, *fields))) + "\n"
        os.write(self.list, line.encode())  # one write, so that several processes can share the file

    def frame(self, n: int, end: bytes = b"\n") -> None:
        now = time.monotonic_ns()
        rest = memoryview(f"#{self.name} {self.seq} {now} {n}:".encode() + body(self.seq, n) + end)
        total = len(rest)
        while rest:
            rest = rest[os.write(1, rest) :]
        self.note("print", self.seq, total)
        self.seq += 1

    def step(self, what: str, *values: str) -> None:
        if what == "line":
            for _ in range(int(values[0]) if values else 1):
                self.frame(int(values[1]) if len(values) > 1 else SHORT)
        elif what == "open":
            self.frame(int(values[0]) if values else SHORT, b"")
        elif what == "bulk":
            for _ in range(-(-int(values[0]) // BULK)):
                self.frame(BULK)
        elif what == "wait":
            time.sleep(float(values[0]))
        elif what == "every":
            for _ in range(int(values[1])):
                self.frame(SHORT)
                time.sleep(float(values[0]))
        elif what == "read":
            self.read(values[0] == "end")
        elif what == "ignore":
            signal.signal(signal.Signals["SIG" + values[0]], signal.SIG_IGN)
        elif what == "setsid":
            os.setsid()
        elif what == "exit":
            self.code = int(values[0])
        else:
            raise ValueError(f"unknown step {what!r}")

    def read(self, to_the_end: bool) -> None:
        """Read a line, or all there is, and print a frame for each line."""
        n, pending = 0, b""
        while data := os.read(0, 1 << 16):
            n += len(data)
            *lines, pending = (pending + data).split(b"\n")
            for _ in lines:
                self.frame(SHORT)
            if lines and not to_the_end:
                break
        self.note("read", n)


def main(path: str, name: str, *steps: str) -> None:
    """Carry out the steps and end.

    Parameters
    ----------
    path : str
        The list of what was written; appended to.
    name : str
        Of this process: letters.
    *steps : str
        ``line[:N[:BYTES]]``, ``open[:BYTES]`` (without newline), ``bulk:BYTES``, ``wait:SECONDS``,
        ``every:SECONDS:N``, ``read:line``, ``read:end``, ``ignore:SIGNAL``, ``setsid``, ``exit:CODE``.
    """
    printer = _Printer(path, name)
    for step in steps:
        printer.step(*step.split(":"))
    printer.note("end", time.monotonic_ns())
    os._exit(printer.code)  # the interpreter's own end takes milliseconds, and is none of the command's


if __name__ == "__main__":
    main(*sys.argv[1:])
