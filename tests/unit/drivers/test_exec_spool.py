"""What is kept of a session's output, and how it is given out."""

import gc
import os
from pathlib import Path

import pytest

from agentlab.drivers.exec.result import bounded
from agentlab.drivers.exec.spool import Spool, Stamps
from tests.waiting import n_open_files


def test_each_byte_is_given_out_once(tmp_path: Path):
    spool = Spool(tmp_path)
    spool.append(b"one", ((1, 10), (3, 11)))
    first = spool.take()
    assert (first.offset, first.n_bytes, first.reads) == (0, 3, ((1, 10), (3, 11)))
    spool.append(b"two", ((3, 20),))
    second = spool.take()
    assert (second.offset, second.n_bytes, second.reads) == (3, 3, ((3, 20),))
    assert spool.read(0, 6) == b"onetwo"
    assert (spool.take().n_bytes, spool.untaken_bytes) == (0, 0)


def test_the_file_has_no_name_and_is_closed_with_the_last_reference(tmp_path: Path):
    before = n_open_files()
    spool = Spool(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert n_open_files() == before + 1
    del spool
    gc.collect()
    assert n_open_files() == before


def test_a_named_file_is_private_and_never_overwritten(tmp_path: Path):
    Spool(tmp_path, "exec-1.out").append(b"kept")
    assert (tmp_path / "exec-1.out").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        Spool(tmp_path, "exec-1.out")
    assert (tmp_path / "exec-1.out").read_bytes() == b"kept"


def test_what_has_no_room_is_counted(tmp_path: Path):
    spool = Spool(tmp_path, max_bytes=4)
    spool.append(b"abc", ((3, 1),))
    spool.append(b"defg", ((2, 2), (4, 3)))
    taken = spool.take()
    assert (taken.n_bytes, taken.lost_bytes, spool.seen, spool.room(10)) == (4, 3, 7, 0)
    assert taken.reads[-1][0] == 4
    spool.append(b"h")
    assert (spool.take().n_bytes, spool.take().lost_bytes) == (0, 0)


def test_a_pipe_is_moved_without_being_read_here(tmp_path: Path):
    spool = Spool(tmp_path)
    out, into = os.pipe()
    os.set_blocking(out, False)
    try:
        with pytest.raises(BlockingIOError):
            spool.splice(out, 100)
        os.write(into, b"x" * 1000)
        spool.moved(spool.splice(out, 600), 1)
        spool.moved(spool.splice(out, 600), 2)
        os.close(into)
        assert spool.splice(out, 600) == 0
    finally:
        os.close(out)
    assert spool.take().reads == ((600, 1), (1000, 2))
    assert spool.read(0, 2000) == b"x" * 1000


def test_a_preview_has_both_ends(tmp_path: Path):
    spool = Spool(tmp_path)
    spool.append(b"0123456789")
    taken = spool.take()
    assert bounded(spool, taken, 10) == b"0123456789"
    assert bounded(spool, taken, 5) == b"012\n[... 5 bytes ...]\n89"
    assert bounded(spool, taken, 0) == b"\n[... 10 bytes ...]\n"
    assert bounded(None, taken, 5) == b""


def test_many_stamps_are_thinned_out_and_the_last_is_kept():
    stamps = Stamps(limit=100)
    for i in range(1, 10_001):
        stamps.add(i * 10, i)
    taken = stamps.take(0)
    assert len(taken) <= 100
    assert taken[-1] == (100_000, 10_000)
    assert all(end == t * 10 for end, t in taken)
    assert stamps.take(0) == ()
