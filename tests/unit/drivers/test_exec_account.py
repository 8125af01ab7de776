"""Frames are found however the output is cut, and what is missing is counted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentlab.drivers.exec import printer
from agentlab.drivers.exec.account import Frames, Listed, Print
from agentlab.drivers.exec.play import thinned


def _frame(name: str, seq: int, stamp: int, n: int) -> bytes:
    return f"#{name} {seq} {stamp} {n}:".encode() + printer.body(seq, n)


def _print(tmp_path: Path, *steps: str) -> tuple[bytes, Listed, int]:
    path = tmp_path / "list"
    command = [sys.executable, "-I", "-S", printer.__file__, str(path), "a", *steps]
    done = subprocess.run(command, capture_output=True, input=b"one\ntwo\nth", check=False)
    assert done.stderr == b""
    return done.stdout, Listed.of(path), done.returncode


@pytest.mark.parametrize("size", [1, 2, 7, 64, 1000])
def test_frames_are_found_in_any_pieces(size):
    data = b"hello\r\n" + b"\r\n".join(_frame("a", i, 100 + i, 5 * i) for i in range(6)) + b"# the end"
    frames, found = Frames(), []
    for at in range(0, len(data), size):
        found += frames.feed(data[at : at + size])
    assert found == [Print(100 + i, None, 5 * i) for i in range(6)]
    assert frames.seen == {("a", i) for i in range(6)}


def test_a_frame_gets_the_stamp_of_the_read_that_completed_it():
    one, two = _frame("a", 0, 7, 10), _frame("b", 0, 8, 10)
    frames = Frames()
    assert frames.feed(one[:8], [(8, 50)]) == []
    rest = one[8:] + two
    assert frames.feed(rest, [(len(one) - 8, 60), (len(rest), 70)]) == [Print(7, 60, 10), Print(8, 70, 10)]


def test_a_frame_that_another_process_wrote_into_is_not_seen():
    whole, broken = _frame("a", 1, 1, 30), bytearray(_frame("a", 0, 1, 30))
    broken[20:20] = b"^C"
    frames = Frames()
    assert frames.feed(bytes(broken) + b"\n" + whole + b"\n") == [Print(1, None, 30)]
    assert frames.seen == {("a", 1)}


def test_a_cut_off_frame_is_not_seen():
    frames = Frames()
    assert frames.feed(_frame("a", 0, 1, 30)[:-1]) == []
    assert frames.seen == set()


def test_the_list_agrees_with_what_was_printed(tmp_path):
    out, listed, code = _print(tmp_path, "line:3", "open:10", "bulk:70000", "exit:4")
    frames = Frames()
    prints = frames.feed(out)
    assert (code, len(prints)) == (4, 6)
    assert sum(listed.prints.values()) == len(out)
    assert frames.seen == set(listed.prints)
    assert listed.ended["a"] >= prints[-1].print_ns > prints[0].print_ns
    assert listed.alive() == {}
    assert listed.n_read is None, "it was not asked to read"


@pytest.mark.parametrize(("how", "n_read"), [("line", 10), ("end", 10)])
def test_what_was_read_is_listed(tmp_path, how, n_read):
    _, listed, _ = _print(tmp_path, f"read:{how}")
    assert listed.n_read == n_read


def test_a_process_that_runs_is_alive_and_a_later_one_of_its_number_is_not(tmp_path):
    path = tmp_path / "list"
    started = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    path.write_text(f"pid a {os.getpid()} {started}\npid b {os.getpid()} {int(started) + 1}\n")
    assert list(Listed.of(path).alive()) == ["a"]


def test_without_a_list_nothing_is_known(tmp_path):
    listed = Listed.of(tmp_path / "none")
    assert (listed.prints, listed.processes, listed.ended, listed.n_read) == ({}, {}, {}, None)


def test_an_unknown_step_is_an_error(tmp_path):
    done = subprocess.run(
        [sys.executable, "-I", "-S", printer.__file__, str(tmp_path / "list"), "a", "jump"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "unknown step 'jump'" in done.stderr


def test_thinning_keeps_the_first_and_the_last():
    prints = [Print(i, i + 1, 1) for i in range(1000)]
    chosen = thinned(prints)
    assert (len(chosen), chosen[0], chosen[-1]) == (64, [0, 1, 1], [999, 1000, 1])
    assert thinned(prints[:3]) == [[0, 1, 1], [1, 2, 1], [2, 3, 1]]
