"""One reading of a run serves all its tables."""

import pandas as pd

import agentlab as al
from agentlab.frames import build, reading, store
from agentlab.frames.evidence import RunInfo
from agentlab.testing.recordings import SyntheticArm, write_study


def test_tables_built_together_equal_those_built_alone(tmp_path):
    path = write_study(tmp_path / "s", arms={"a": SyntheticArm(retry_rate=0.4, discard_rate=0.5)}, runs=3)
    runs = al.load(path)
    infos = [run.info for run in runs]
    together = build.build_all(tuple(build.BUILDERS), infos)
    assert list(together) == list(build.BUILDERS)
    for name, frame in together.items():
        pd.testing.assert_frame_equal(frame, build.build(name, infos))


def test_the_small_tables_are_read_and_judged_once(tmp_path, monkeypatch):
    path = write_study(tmp_path / "s", runs=2)
    talks = []
    original = reading.read_conversation
    monkeypatch.setattr(reading, "read_conversation", lambda *a: talks.append(1) or original(*a))
    recs = al.load(path)
    for name in build.built_with("turns"):
        recs.table(name)
    assert len(talks) == 4


def test_a_table_that_is_current_is_not_built_with_the_others(tmp_path, monkeypatch):
    path = write_study(tmp_path / "s", runs=2)
    al.load(path).runs  # noqa: B018
    (path / "tables" / "turns.parquet").unlink()
    asked = []
    original = build.build_all
    monkeypatch.setattr(
        store.frames, "build_all", lambda names, runs: asked.append(names) or original(names, runs)
    )
    assert len(al.load(path).turns) == 8
    assert asked == [["turns"]]


def test_a_run_without_a_folder_has_no_events():
    read = reading.Reading.of(RunInfo(study="s", arm="a", run_id="r", run_index=0))
    assert (read.events, read.gateway_events, read.requests) == ([], [], [])


def test_many_rows_become_frames_on_the_way(tmp_path, monkeypatch):
    recs = al.load(write_study(tmp_path / "s", runs=3))
    infos = [run.info for run in recs]
    whole = build.build_all(("chunks", "events", "requests", "tools"), infos)
    monkeypatch.setattr(build, "_MANY", 7)
    for name, frame in build.build_all(tuple(whole), infos).items():
        pd.testing.assert_frame_equal(frame, whole[name])
