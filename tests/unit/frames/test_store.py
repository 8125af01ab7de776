"""A table on disk is used only when it is whole."""

import random
import subprocess
import sys

import pandas as pd

from agentlab.frames.store import read_cache, write_cache
from agentlab.frames.tables import TABLES


def test_no_damaged_byte_of_its_rows_becomes_a_number(tmp_path):
    table, path = TABLES["turns"], tmp_path / "turns.parquet"
    rng = random.Random(0)
    rows = [{"study": "s", "run_id": f"{i}", "turn": i, "latency_ms": rng.random()} for i in range(2000)]
    frame = table.frame(rows)
    write_cache(path, frame, "digest")
    whole = path.read_bytes()
    for _ in range(40):
        at = rng.randrange(4, len(whole) // 2)  # the footer is in the second half
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        found = read_cache(path, table, "digest")
        if found is not None:
            pd.testing.assert_frame_equal(found, frame)
    path.write_bytes(whole)
    pd.testing.assert_frame_equal(read_cache(path, table, "digest"), frame)


def test_code_that_is_replaced_under_a_running_process_does_not_name_its_tables():
    replaced = """
import agentlab.frames.store as store
store.Path.read_bytes = lambda path: b"newer"
n = len(list(store.Path(store.__file__).parent.glob("*.py")))
print(store.version() == store.sha256(b"newer" * n).hexdigest())
"""
    run = [sys.executable, "-c", replaced]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
