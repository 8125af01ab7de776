"""Metrics of exec sessions, worked out by hand."""

from __future__ import annotations

import pytest

import agentlab as al
from agentlab.metrics import EXEC_DELAY, EXEC_LOST, EXEC_REPORT, EXEC_SURVIVORS
from agentlab.testing.recordings import SyntheticStudy


@pytest.fixture
def levels(tmp_path):
    """Two runs of one arm: estimates and what was missing, by metric."""
    study = SyntheticStudy(tmp_path / "study", arms=("a",))
    for late, lost in ((4, 100), (8, 20)):
        with study.run("a") as run:
            for i, (state, ended) in enumerate(
                [("running", None), ("exited", run.ns(50)), ("exited", None)], 1
            ):
                begin = 40 * i
                printed = [[run.ns(30), run.ns(31), 40]]
                known = {} if ended is None else {"ended_ns": ended}
                run.emit(
                    "exec.call", at_ms=begin + late, exec=f"e{i}", scenario="x", call=1, op="start",
                    begin_ns=run.ns(begin), state=state, n_bytes=64, prints=printed, **known,
                )  # fmt: skip
                run.emit(
                    "exec.close", at_ms=200, exec=f"e{i}", scenario="x", call=2, begin_ns=run.ns(199),
                    lost_bytes=lost, survivors=i - 1,
                )  # fmt: skip
    frame = al.compare(al.load(study.path), EXEC_DELAY, EXEC_REPORT, EXEC_LOST, EXEC_SURVIVORS)
    return frame.set_index("metric")[["estimate", "n_missing"]].T.to_dict("list")


@pytest.mark.filterwarnings("ignore::agentlab.errors.UnstableWarning")
def test_exec_metrics(levels):
    # Prints at 30 ms; calls return at 44, 84, 124 and 48, 88, 128 ms: delays 14, 54, 94, 18, 58, 98.
    assert levels["EXEC_DELAY"] == [56, 6], "closes have none"
    # Of the calls that report an end one of two knows when it was: 80 + 4 - 80 and 80 + 8 - 80.
    assert levels["EXEC_REPORT"] == [6, 2]
    assert levels["EXEC_LOST"] == [180, 0]
    assert levels["EXEC_SURVIVORS"] == [3, 0]
