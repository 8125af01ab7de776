"""A program that behaves on its terminal as agents do: run by file name, with options.

It shows stamps, probes, endings and what is left behind. It cannot show how long a real agent takes, what it
holds in memory, or how it draws: its screen is one line.
"""

from __future__ import annotations

import argparse
import os
import select
import subprocess
import sys
import termios
import time
import tty

#: Leaves its session, its parent and its environment, as daemons do; stays for ten minutes.
DAEMON = """\
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        stay = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", "lookalike-daemon"]
        os.execve(sys.executable, [*stay, *sys.argv[1:]], {})
    os._exit(0)
"""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--paint-ms", type=float, default=20)
    parser.add_argument("--listen-ms", type=float, default=0, help="what is typed before is thrown away")
    parser.add_argument("--late-echo-ms", type=float, default=0, help="what is typed before shows only then")
    parser.add_argument("--raw-ms", type=float, default=0, help="the terminal is cooked until then")
    parser.add_argument("--exit-at-once", type=int)
    parser.add_argument("--exit-after-s", type=float)
    parser.add_argument("--deaf", action="store_true", help="shows nothing of what is typed")
    parser.add_argument("--stubborn", action="store_true", help="ignores its gesture and SIGTERM")
    parser.add_argument("--daemon", action="store_true")
    parser.add_argument("--ask", action="store_true", help="wants to know what terminal this is")
    parser.add_argument("--chatty", action="store_true", help="prints all the time")
    parser.add_argument("--grow-mb", type=int, default=0, help="takes memory step by step for a second")
    parser.add_argument("--name", default="", help="stands in its command line and its daemon's")
    parser.add_argument("--note", help="a file to which it writes what it sees at its start")
    return parser.parse_args()


def main() -> int:
    began = time.monotonic()
    given = options()
    if given.note:
        seen = [os.environ["HOME"], str(sorted(os.listdir(os.environ["HOME"]))), os.ttyname(0)]
        seen += [str(tuple(os.get_terminal_size())), str(os.tcgetpgrp(0) == os.getsid(0) == os.getpid())]
        seen.append(os.environ.get("WHO", ""))
        with open(given.note, "a") as file:
            print("\t".join(seen), file=file)
        with open(os.path.join(os.environ["HOME"], "state"), "w") as file:
            file.write("was here")
    if given.exit_at_once is not None:
        print("no login, no prompt")
        return given.exit_at_once
    if given.stubborn:
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if given.daemon:
        subprocess.run([sys.executable, "-c", DAEMON, given.name], check=True)
    _until(began, given.raw_ms)
    tty.setraw(0)
    out = sys.stdout
    if given.ask:
        out.write("\x1b[?u\x1b]11;?\x07\x1b[c\x1b[c\x1b]7501;?\x1b\\")
    out.write("\x1b[?1049h\x1b[2J\x1b[H   ")
    out.flush()
    _until(began, given.paint_ms)
    out.write("\x1b[Hlookalike 1.0\x1b[3;1H> ")
    out.flush()
    if given.listen_ms:
        _until(began, given.listen_ms)
        termios.tcflush(0, termios.TCIFLUSH)
    _until(began, given.late_echo_ms)
    return listen(given, began)


def listen(given: argparse.Namespace, began: float) -> int:
    text, interrupts, taken = "", 0, []
    while True:
        if given.exit_after_s is not None and time.monotonic() - began > given.exit_after_s:
            return 3
        grown = min(1.0, time.monotonic() - began) * given.grow_mb
        while len(taken) < grown:
            taken.append(bytearray(os.urandom(4096) * 256))
        if given.chatty:
            sys.stdout.write("\x1b[5;1H" + "x" * 4000)
            sys.stdout.flush()
        if not select.select([0], [], [], 0.02)[0]:
            continue
        for char in os.read(0, 4096).decode(errors="replace"):
            if char == "\x03" and not given.stubborn:
                interrupts += 1
                if interrupts == 2:
                    sys.stdout.write("\x1b[?1049l")
                    return 0
            elif char == "\x7f":
                text = text[:-1]
            elif char.isprintable():
                text += char
        if not given.deaf:
            sys.stdout.write(f"\x1b[3;1H\x1b[K> {text[-80:]}")
            sys.stdout.flush()


def _until(began: float, ms: float) -> None:
    time.sleep(max(0.0, began + ms / 1000 - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main())
