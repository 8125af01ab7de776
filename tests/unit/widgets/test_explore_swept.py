"""explore of a study whose arms have runs of several numbers of sessions in one block."""

from __future__ import annotations

from pathlib import Path

import pytest

import agentlab as al
from agentlab.testing.memory import SyntheticTool, write_memory_study
from agentlab.testing.recordings import SyntheticStudy
from agentlab.widgets.explore import explore


@pytest.fixture(scope="module")
def recs(tmp_path_factory: pytest.TempPathFactory) -> al.Recordings:
    arms = {"one": SyntheticTool(), "two": SyntheticTool(anon_mib=50)}
    return al.load(write_memory_study(tmp_path_factory.mktemp("m") / "s", arms=arms, sessions=(1, 4), runs=3))


def test_it_begins_with_the_line_and_its_runs_say_their_size(recs: al.Recordings) -> None:
    view = explore(recs).show(estimate=("MEM_SLOPE", "difference", "two"))
    assert view.view.metrics == ("MEM_SLOPE", "MEM_INTERCEPT")
    rows = view.scene.runs
    assert [row.state for row in rows] == ["used"] * 12
    assert sorted({(row.arm, row.n_sessions) for row in rows}) == [
        ("one", 1),
        ("one", 4),
        ("two", 1),
        ("two", 4),
    ]
    anon = recs.memory[recs.memory["settled"]].groupby("run_id")["anon_bytes"].median() / 2**20
    assert {row.key[1]: row.value for row in rows} == pytest.approx(dict(anon)), "what the line goes through"
    html = view._repr_mimebundle_()["text/html"]
    assert "one, 1 session<" in html and "two, 4 sessions<" in html


def test_of_one_number_of_sessions_nothing_is_said_of_it(recs: al.Recordings) -> None:
    view = explore(recs.where(n_sessions=4)).show(estimate=("PSS_TOTAL", "level", "one"))
    assert [row.state for row in view.scene.runs] == ["used"] * 3
    assert "4 sessions" not in view._repr_mimebundle_()["text/html"]


def test_attempts_that_were_made_again_spoil_no_block(tmp_path: Path) -> None:
    study = SyntheticStudy(tmp_path / "s", arms=("one", "two"))
    for block in range(3):
        for arm in ("one", "two"):
            for attempt in range(3 if (arm, block) == ("two", 1) else 1):
                with study.run(arm, run_index=block, block=block) as run:
                    if (arm, block) == ("two", 1):  # pressed each time: its last attempt spoils the block
                        run.issue("memory_pressure", discard=True)
                    run.emit("session.open", session="s1", role="main")
                    run.emit("terminal.start", at_ms=10, session="s1")
                    run.emit("terminal.paint", at_ms=100 + block + 7 * attempt, session="s1")
    recs = al.load(study.path)
    view = explore(recs, "PAINT", reference="one").show(paired=True, estimate=("PAINT", "difference", "two"))
    states = {row.key[1]: row.state for row in view.scene.runs if row.block == 1}
    assert sorted(states.values()) == ["block dropped", *["discarded: memory_pressure"] * 3]
    difference = view.estimates.set_index("kind").loc["difference"]
    assert (difference["n_blocks"], difference["n_blocks_dropped"], difference["n_runs"]) == (2, 1, 4)
