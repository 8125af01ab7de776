import gzip
import json
import os
import threading
from pathlib import Path

import pytest

from agentlab.errors import RecordingError
from agentlab.wire.cdp.tracing import TraceWriter
from tests.waiting import n_open_files

LINES = b'{"traceEvents":[\n' + b",\n".join(b'{"name":"e%d","ph":"X"}' % i for i in range(9)) + b"]}"


def names(path):
    return [event["name"] for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]]


def test_a_stream_that_is_cut_leaves_good_json(tmp_path):
    for cut in range(len(LINES) + 1):
        writer = TraceWriter(tmp_path / "t.json.gz")
        writer.feed(LINES[:cut])
        writer.close()
        found = names(tmp_path / "t.json.gz")
        assert found == [f"e{i}" for i in range(len(found))]
        assert len(found) == LINES[:cut].count(b"}") - (cut == len(LINES))


def test_a_full_disk_is_named_and_leaves_no_file_open():
    before = n_open_files()
    writer = TraceWriter(Path("/dev/full"))
    with pytest.raises(RecordingError, match="/dev/full cannot be written: No space left"):
        for _ in range(2000):
            writer.feed(os.urandom(2000).hex().encode().join([b'{"a":"', b'"},\n']))
    with pytest.raises(RecordingError, match="No space left"):
        writer.close()
    assert n_open_files() == before


def test_closing_waits_for_what_is_being_written(tmp_path):
    reached, go = threading.Event(), threading.Event()

    def slow(line):
        reached.set()
        go.wait(10)
        return line

    writer = TraceWriter(tmp_path / "t.json.gz", slow)
    feeding = threading.Thread(target=writer.feed, args=(LINES,))
    closing = threading.Thread(target=writer.close)
    feeding.start()
    assert reached.wait(10)
    closing.start()  # as after a cancelled wait for the first
    closing.join(0.1)
    go.set()
    feeding.join(10)
    closing.join(10)
    assert names(tmp_path / "t.json.gz") == [f"e{i}" for i in range(9)]
