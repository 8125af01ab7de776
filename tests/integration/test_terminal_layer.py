"""Real programs on real pseudo-terminals: read always, stamped, answered, typed to, and hung up on."""

import asyncio
import os
import re
import resource
import signal
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentlab.errors import StartupError
from agentlab.wire.children import Child, Children
from agentlab.wire.emulator import Emulator
from agentlab.wire.probe import probe
from agentlab.wire.pty import Pty, PtyReader
from agentlab.wire.ptyfile import read_pty
from agentlab.wire.vterm import VirtualTerminal, stamp
from tests.waiting import n_open_files

ENV = {"PATH": os.environ["PATH"], "TERM": "xterm-256color"}

#: Raw at once, paints at 80 ms, takes input from 400 ms on; "flush" drops what was typed before.
TUI = """
import os, sys, termios, time, tty
def at(ms):
    time.sleep(max(0, begun + ms / 1000 - time.monotonic()))
begun = time.monotonic()
tty.setraw(0)
at(80)
os.write(1, b"\\x1b[?1049h\\x1b[2J\\x1b[3;4H%d fake> " % time.monotonic_ns())
at(400)
if "flush" in sys.argv:
    termios.tcflush(0, termios.TCIFLUSH)
os.write(1, b"\\x1b7\\x1b[5;4H%d open\\x1b8" % time.monotonic_ns())
while (keys := os.read(0, 100)) != b"\\x03":
    os.write(1, b"\\b \\b" if keys == b"\\x7f" else keys)
"""


@pytest.fixture
def reader() -> Iterator[PtyReader]:
    with PtyReader() as reader:
        yield reader


@asynccontextmanager
async def running(
    reader: PtyReader, code: str, *argv: str, **options: object
) -> AsyncIterator[tuple[VirtualTerminal, Child]]:
    """A Python program on a terminal."""
    with VirtualTerminal(reader, **options) as terminal:  # type: ignore[arg-type]
        async with Children() as children:
            command = [sys.executable, "-I", "-S", "-c", textwrap.dedent(code), *argv]
            child = await children.spawn(command, env=ENV, tty=terminal.path)
            terminal.started()
            yield terminal, child


async def test_output_without_newline_and_the_end(reader: PtyReader) -> None:
    async with running(reader, "print('no newline', end='')") as (terminal, child):
        assert await terminal.wait(terminal.ended, timeout_s=10) is not None
        assert await child.wait() == 0
        assert (terminal.tail, terminal.n_bytes, terminal.text()) == (b"no newline", 10, "no newline")
        assert stamp(terminal.painted) is not None
        assert terminal.raw.cancelled()


async def test_a_program_that_ends_at_once_leaves_its_last_words(reader: PtyReader) -> None:
    async with running(reader, "import sys; sys.exit('no key')") as (terminal, child):
        assert await terminal.wait(terminal.raw, timeout_s=10) is None  # the end came first
        assert await child.wait() == 1
        await terminal.wait(terminal.ended, timeout_s=10)
        assert terminal.text() == "no key"
        assert await terminal.wait(lambda screen: screen.shows("more"), timeout_s=10) is None
        terminal.type("into the void")


async def test_the_window_has_its_size_and_tells_it_in_every_way(reader: PtyReader) -> None:
    """The queries of the public reports: a split one, one with a digit, and the size by the cursor."""
    code = """
    import os, sys, time, tty
    tty.setraw(0)
    def ask(*parts, end):
        for part in parts:
            os.write(1, part)
            time.sleep(0.02)
        answer = b""
        while not answer.endswith(end):
            answer += os.read(0, 100)
        return answer
    begun = time.monotonic()
    size = os.get_terminal_size()
    answers = [ask(b"\\x1b]11;?\\x07", end=b"\\x07"), ask(b"\\x1b[0c", end=b"c"),
               ask(b"\\x1b[999;999f\\x1b[", b"6n", end=b"R")]
    os.write(1, b"\\x1b[H\\x1b[?u")
    print(size.columns, size.lines, answers, time.monotonic() - begun < 1, end=" done", flush=True)
    os.read(0, 1)
    """
    async with running(reader, code) as (terminal, _):
        assert await terminal.wait(lambda screen: screen.shows("done"), timeout_s=10) is not None
        answers = [b"\x1b]11;rgb:1010/1010/1010\x07", b"\x1b[?62;22c", b"\x1b[40;120R"]
        assert "".join(terminal.text().split("\n")).strip() == f"120 40 {answers} True done"
        assert terminal.queries() == {
            "seen": {"OSC 11": 1, "DA1": 1, "CPR": 1, "kitty keyboard": 1},
            "unanswered": {"kitty keyboard": 1},
        }


async def test_a_new_size_reaches_the_program(reader: PtyReader) -> None:
    code = """
    import os, signal, time
    signal.signal(signal.SIGWINCH, lambda *_: os.write(1, b"%d x %d " % os.get_terminal_size()))
    os.write(1, b"ready ")
    while True: time.sleep(0.02)
    """
    async with running(reader, code, cols=80, rows=24) as (terminal, _):
        assert await terminal.wait(lambda screen: screen.shows("ready"), timeout_s=10)
        terminal.resize(100, 30)
        assert await terminal.wait(lambda screen: screen.shows("100 x 30"), timeout_s=10)


@pytest.mark.parametrize("flush", [False, True])
async def test_first_paint_and_first_input_are_two_things(reader: PtyReader, flush: bool) -> None:
    async with running(reader, TUI, *["flush"][:flush]) as (terminal, child):
        probed = await probe(terminal, timeout_s=20, retype_s=0.15)
        painted, raw = stamp(terminal.painted), stamp(terminal.raw)
        # The program's own clock at its paint, and when it began to take input.
        paints, opens = (int(found) for found in re.findall(r"(\d+) (?:fake|open)", terminal.text()))
        assert painted is not None and raw is not None and probed.echo_ns is not None
        assert opens - paints >= 300e6
        assert raw <= painted
        assert 0 <= painted - paints < 250e6
        assert 0 <= probed.echo_ns - opens < (500e6 if flush else 250e6)
        assert (len(probed.typed) > 1) or not flush
        assert raw <= probed.typed[0] < probed.echo_ns
        assert probed.erased and not terminal.shows("zx")
        terminal.type("\x03")
        assert await child.wait() == 0


async def test_the_kernels_echo_is_not_an_answer(reader: PtyReader) -> None:
    """Cooked for 0.3 s: whatever is typed there would be on the screen at once."""
    code = """
    import os, time, tty
    print("starting", flush=True)
    time.sleep(0.3)
    tty.setraw(0)
    os.write(1, b"> ")
    while True: os.write(1, os.read(0, 1).replace(b"\\x7f", b"\\b \\b"))
    """
    async with running(reader, code) as (terminal, _):
        typed: list[tuple[int, int]] = []
        probed = await probe(terminal, timeout_s=10, on_typed=lambda n, t: typed.append((n, t)))
        painted, raw = stamp(terminal.painted), stamp(terminal.raw)
        assert painted is not None and raw is not None and probed.echo_ns is not None
        assert raw - painted > 200e6
        assert typed == [(1, probed.typed[0])] and probed.typed[0] >= raw
        assert probed.erased


async def test_a_program_that_never_answers_is_told_by_an_empty_stamp(reader: PtyReader) -> None:
    async with running(reader, "import time, tty; tty.setraw(0); time.sleep(60)") as (terminal, _):
        probed = await probe(terminal, timeout_s=0.5, retype_s=0.2)
        assert probed.echo_ns is None and not probed.erased
        assert 2 <= len(probed.typed) <= 4
        assert not terminal.painted.done()
    cooked = "import time; print('hello', flush=True); time.sleep(60)"
    async with running(reader, cooked) as (terminal, _):
        assert (await probe(terminal, timeout_s=0.3)).typed == ()


async def test_painted_is_what_is_still_there_at_the_end_of_a_read(reader: PtyReader) -> None:
    code = """
    import os, time
    os.write(1, b"\\x1b]0;title\\x07  \\x1b[?u")
    os.write(1, b"x\\x1b[2J\\x1b]66;w=1; \\x1b\\\\")
    time.sleep(0.2)
    os.write(1, b"%d" % time.monotonic_ns())
    time.sleep(60)
    """
    async with running(reader, code) as (terminal, _):
        painted = await terminal.wait(terminal.painted, timeout_s=10)
        assert painted is not None and 0 <= painted - int(terminal.text()) < 60e6


async def test_all_terminals_are_read_while_the_loop_is_busy(reader: PtyReader) -> None:
    """A program that prints 1 MB needs somebody who reads it: 20 kB fit into the kernel."""
    code = (
        "import sys; sys.stdout.write('0123456789\\n' * 100_000); print('end', flush=True); sys.stdin.read()"
    )
    async with running(reader, code) as (one, _), running(reader, code) as (other, _):
        deadline = time.monotonic() + 20
        while not (one.shows("end") and other.shows("end")):
            assert time.monotonic() < deadline
            time.sleep(0.05)  # the loop does nothing all the while
        assert one.n_bytes == other.n_bytes == 12 * 100_000 + 5
        spent = reader.cpu_s
        assert spent is not None and 0.01 < spent < 20
    assert reader.worst_turn_ns > 0


async def test_moments_are_told_in_the_readers_thread_while_the_loop_is_busy(reader: PtyReader) -> None:
    told: list[int] = []
    async with running(reader, "print('hello'); input()") as (terminal, _):
        terminal.painted.add_done_callback(lambda moment: told.append(moment.result()))
        deadline = time.monotonic() + 10
        while not told and time.monotonic() < deadline:
            time.sleep(0.01)
        assert told == [stamp(terminal.painted)]


async def test_what_a_full_terminal_does_not_take_follows_later(reader: PtyReader) -> None:
    code = """
    import os, time, tty
    tty.setraw(0)
    print("raw", flush=True)
    time.sleep(0.3)
    n = 0
    while n < 200_000: n += len(os.read(0, 65536))
    print("all of it", flush=True)
    """
    async with running(reader, code) as (terminal, _):
        assert await terminal.wait(lambda screen: screen.shows("raw"), timeout_s=10)
        begun = time.monotonic()
        terminal.type(b"x" * 200_000)
        assert time.monotonic() - begun < 0.2
        assert await terminal.wait(lambda screen: screen.shows("all of it"), timeout_s=10)


async def test_a_fault_of_one_terminal_leaves_the_others_alone(reader: PtyReader) -> None:
    code = "input(); print('hello'); input()"
    async with running(reader, code) as (one, _), running(reader, code) as (two, _):

        def wrong(screen: object) -> bool:
            if two.n_bytes:
                raise KeyError("wrong")
            return False

        moment = two.when(wrong)
        two.type("\n")
        with pytest.raises(KeyError):
            await asyncio.to_thread(two.ended.result, 10)
        assert moment.cancelled()
        one.type("\n")
        assert await one.wait(lambda screen: screen.shows("hello"), timeout_s=10)


async def test_a_recording_shows_the_same_screen_again(reader: PtyReader, tmp_path) -> None:
    file = tmp_path / "pty.bin"
    code = "import time; print('a', flush=True); time.sleep(0.05); print('\\x1b[2Jb', flush=True); input()"
    async with running(reader, code, cols=30, rows=5, record=file) as (terminal, _):
        moment = await terminal.wait(lambda screen: screen.shows("b"), timeout_s=10)
        shown = terminal.text()
    assert file.stat().st_mode & 0o777 == 0o600
    record = read_pty(file)
    again = Emulator(cols=record.cols, rows=record.rows)
    stamps = []
    for t, data in record.reads:
        again.feed(data)
        stamps += [t] if again.screen.shows("b") and not stamps else []
    assert "\n".join(again.screen.lines()).strip("\n") == shown
    assert stamps == [moment]


async def test_a_full_disk_is_told_and_stops_no_reading(reader: PtyReader) -> None:
    async with running(reader, "print('hello')", record=Path("/dev/full")) as (terminal, _):
        with pytest.raises(OSError, match="No space left"):
            await terminal.wait(terminal.ended, timeout_s=10)
        assert terminal.text() == "hello"
    async with running(reader, "print('hello')") as (terminal, _):
        assert await terminal.wait(terminal.ended, timeout_s=10)


def test_a_process_without_descriptors_left_is_told_so() -> None:
    opened: list[Pty] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 1, hard))
    try:
        with pytest.raises(StartupError, match="no pseudo-terminal can be opened"):
            opened.extend(Pty() for _ in range(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for pty in opened:
            pty.close()


async def test_closing_hangs_up(reader: PtyReader) -> None:
    terminal = VirtualTerminal(reader)
    async with Children() as children:
        child = await children.spawn([sys.executable, "-c", "input('> ')"], env=ENV, tty=terminal.path)
        terminal.started()
        assert await terminal.wait(terminal.painted, timeout_s=10)
        terminal.close()
        assert await asyncio.wait_for(child.wait(), 5) == -signal.SIGHUP
        assert terminal.ended.done() and not terminal.is_raw()
        terminal.close()


async def test_control_c_ends_a_program_without_a_shell(reader: PtyReader) -> None:
    async with running(reader, "import time; print('on', flush=True); time.sleep(60)") as (terminal, child):
        assert await terminal.wait(terminal.painted, timeout_s=10)
        terminal.type("\x03")
        assert await asyncio.wait_for(child.wait(), 5) == -signal.SIGINT


def test_a_terminal_that_is_read_by_nobody_any_more_can_be_closed() -> None:
    with PtyReader() as reader:
        terminal = VirtualTerminal(reader)
    terminal.close()
    assert terminal.ended.done() and reader.cpu_s is None


def test_the_thread_and_its_descriptors_go_with_the_context() -> None:
    before = n_open_files()
    for _ in range(5):
        with PtyReader() as reader, VirtualTerminal(reader):
            pass
    assert n_open_files() == before


def test_a_pseudo_terminal_begins_cooked() -> None:
    pty = Pty(cols=10, rows=5)
    assert not pty.is_raw()
    pty.close()
    pty.close()
