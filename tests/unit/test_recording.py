import json
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import agentlab as al
from agentlab.errors import ConfigError, ImportFormatError, RecordingError
from agentlab.frames.tables import TABLES
from agentlab.testing.recordings import SyntheticArm, SyntheticStudy, write_study

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path):
    return write_study(
        tmp_path / "cache", runs=3, arms={"a": SyntheticArm(), "b": SyntheticArm(stable=False)}
    )


def test_recordings_are_a_sequence_of_runs(folder):
    recs = al.load(folder)
    assert len(recs) == 6
    assert [r.run_id for r in recs] == sorted(r.run_id for r in recs)
    assert recs[-1].run_id == list(recs)[-1].run_id
    assert recs[0].events[0]["kind"] == "run.begin"
    assert recs[0].gateway_events[0]["kind"] == "request.begin"
    assert len(recs[1:3]) == 2
    assert isinstance(recs[1:3], al.Recordings)
    assert recs.arms == ("a", "b")
    assert recs.path == folder
    assert recs.scenario is not None
    assert recs.scenario["name"] == "cache-probe"
    assert len(recs[0].table("turns")) == 2


@pytest.mark.parametrize("name", TABLES)
def test_every_table_fits_its_definition_and_comes_back_from_the_cache(folder, name):
    built = TABLES[name].check(al.load(folder).table(name))
    assert (folder / "tables" / f"{name}.parquet").is_file()
    pd.testing.assert_frame_equal(al.load(folder).table(name), built)


def test_a_table_is_a_copy(folder):
    recs = al.load(folder)
    frame = recs.turns
    frame["latency_ms"] = 0.0
    assert recs.turns["latency_ms"].min() > 0


def test_an_unknown_table_is_named(folder):
    with pytest.raises(ConfigError, match=r"no table 'turn'.*turns"):
        al.load(folder).table("turn")


def test_the_cache_is_used_and_follows_files_and_definitions(folder, monkeypatch):
    from agentlab.frames import build, store

    al.load(folder).turns  # noqa: B018
    calls = []
    original = build.BUILDERS["turns"]
    monkeypatch.setitem(build.BUILDERS, "turns", lambda *a: calls.append(1) or original(*a))
    al.load(folder).turns  # noqa: B018
    assert not calls
    monkeypatch.setattr(store, "version", lambda: "newer")
    al.load(folder).turns  # noqa: B018
    assert len(calls) == 6
    run = next(iter(al.load(folder))).path
    with (run / "events.jsonl").open("a") as file:
        file.write('{"t":1,"kind":"turn.send","session":"x","turn":1}\n')
    assert len(al.load(folder).turns) == 13
    assert len(calls) == 12


def test_the_cache_is_safe_to_delete_to_damage_and_to_forbid(folder):
    before = al.load(folder).turns
    cache = folder / "tables" / "turns.parquet"
    cache.write_bytes(b"PAR1 nonsense")
    pd.testing.assert_frame_equal(al.load(folder).turns, before)
    shutil.rmtree(folder / "tables")
    pd.testing.assert_frame_equal(al.load(folder).turns, before)
    shutil.rmtree(folder / "tables")
    (folder / "tables").write_text("not a folder: nothing can be written here")
    pd.testing.assert_frame_equal(al.load(folder).turns, before)


def test_the_package_is_never_written_to():
    example = al.example("cache")
    assert len(al.load(example).turns) == 60
    assert not (example / "tables").exists()


def test_a_renamed_folder_gives_its_new_name(folder):
    al.load(folder).turns  # noqa: B018
    moved = folder.rename(folder.with_name("moved"))
    assert set(al.load(moved).turns["study"]) == {"moved"}


def test_where_keeps_whole_runs_in_all_tables(folder):
    recs = al.load(folder)
    part = recs.where(arm="a", block=[0, 2])
    assert len(part) == 2
    assert set(part.requests["arm"]) == {"a"}
    assert set(part.turns["block"]) == {0, 2}
    assert len(part.where(eligible=False)) == 0
    assert len(part.where(eligible=False).turns) == 0
    assert part.where(arm="a").arms == ("a",)
    assert len(recs.where(reason=None)) == 6
    with pytest.raises(ConfigError, match="no column armm"):
        recs.where(armm="a")


def test_where_finds_unknown_values(tmp_path):
    study = SyntheticStudy(tmp_path / "s", arms=("a",))
    for number, block in enumerate((0, None)):
        with study.run("a", run_index=number, block=block):
            pass
    recs = al.load(study.path)
    assert [r.info.block for r in recs.where(block=None)] == [None]
    assert [r.info.block for r in recs.where(block=(None, 0))] == [0, None]


def test_studies_are_joined_and_told_apart(folder, tmp_path):
    (tmp_path / "other").mkdir()
    second = write_study(tmp_path / "other" / "cache", runs=1, seed=5)
    both = al.load(folder) + al.load(second)
    assert len(both) == 6 + 2
    assert set(both.turns["study"]) == {f"{tmp_path.name}/cache", "other/cache"}
    assert len(both[0].table("turns")) == 2
    assert both.path is None
    assert both.paths == (folder, second)
    TABLES["requests"].check(both.requests)
    part = both.where(study="other/cache")
    assert len(part) == 2
    assert len(part + al.load(write_study(tmp_path / "third", runs=1, seed=6))) == 4


def test_a_study_counts_only_once(folder, tmp_path):
    with pytest.raises(ConfigError, match="same study"):
        al.load(folder) + al.load(folder)
    copy = shutil.copytree(folder, tmp_path / "copy")
    with pytest.raises(ConfigError, match="count twice"):
        al.load([folder, copy])


def test_load_takes_a_folder_of_studies_a_run_and_files_inside(folder, tmp_path):
    write_study(tmp_path / "x-second", runs=1, seed=5)
    assert len(al.load(tmp_path)) == 6 + 2
    run = al.load(folder)[3].path
    assert run is not None
    assert [r.run_id for r in al.load(run)] == [run.name]
    assert [r.run_id for r in al.load(run / "run.json")] == [run.name]
    assert len(al.load(str(folder / "study.json"))) == 6


def test_a_run_taken_out_of_its_study_can_be_read(folder, tmp_path):
    run = al.load(folder)[0].path
    assert run is not None
    alone = shutil.copytree(run, tmp_path / "mail" / run.name)
    recs = al.load(alone)
    assert len(recs) == 1
    assert len(recs.turns) == 2
    assert recs.scenario is None
    assert not (alone / "tables").exists()
    pd.testing.assert_series_equal(recs.turns["ttft_ms"], al.load(run).turns["ttft_ms"])


def test_bad_paths_are_named(tmp_path):
    with pytest.raises(RecordingError, match="does not exist"):
        al.load(tmp_path / "nowhere")
    with pytest.raises(RecordingError, match="holds no study"):
        al.load(tmp_path)
    with pytest.raises(ConfigError, match="at least one"):
        al.load([])
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(RecordingError, match=r"study\.json is damaged"):
        al.load(tmp_path)


@pytest.mark.parametrize(
    "data", [b"", b"\x00\x01", b"a;b\n1,5;2\n", b"[1, 2]", b'{"runs": []}', b"\xef\xbb\xbf1.234,5"]
)
def test_an_unknown_file_is_refused_and_the_known_are_named(tmp_path, data):
    (tmp_path / "x.csv").write_bytes(data)
    with pytest.raises(ImportFormatError, match=r"unknown format.*schemaVersion 2"):
        al.load(tmp_path / "x.csv")


def test_a_study_without_runs_has_empty_tables(tmp_path):
    recs = al.load(SyntheticStudy(tmp_path / "s").path)
    assert len(recs) == 0
    assert recs.arms == ()
    for name in TABLES:
        assert len(TABLES[name].check(recs.table(name))) == 0
    assert repr(recs) == "Recordings of s: 0 of 0 runs used"


def test_coverage_stands_in_the_representation(tmp_path):
    study = SyntheticStudy(tmp_path / "s", arms=("on", "off"))
    for number in range(3):
        with study.run("on", run_index=number) as run:
            if number:
                run.issue("missing_tool", "read", discard=True)
            if number == 2:
                run.issue("retry", discard=True)
        with study.run("off", run_index=number, status="complete" if number else "cancelled"):
            pass
    recs = al.load(study.path)
    assert repr(recs).splitlines() == [
        "Recordings of s: 3 of 6 runs used",
        "  on   1 of 3 used, 2 discarded (missing_tool 2, retry 1)",
        "  off  2 of 3 used, 1 discarded (cancelled 1)",
    ]
    assert recs.coverage()[0]["reasons"] == {"missing_tool": 2, "retry": 1}
    assert "discarded: missing_tool" in repr(recs[2])


def test_prompts_kept_as_digests_do_not_hinder_loading(tmp_path):
    path = write_study(tmp_path / "s", runs=1)
    raw = json.loads((path / "study.json").read_text())
    raw["scenario"]["turns"] = [{"sha256": "0" * 16, "n_chars": 9}, {"sha256": "1" * 16, "n_chars": 9}]
    (path / "study.json").write_text(json.dumps(raw))
    recs = al.load(path)
    assert recs.scenario is not None
    assert len(recs.scenario["turns"]) == 2
    assert list(recs.turns["warmup"]) == [True, False] * 2


def test_an_unknown_example_names_those_there_are():
    with pytest.raises(ConfigError, match=r"no example 'nope'; there are: cache"):
        al.example("nope")


def test_the_example_is_the_recording_that_was_summed():
    import runpy

    script = ROOT / "data" / "record_example.py"
    sums = runpy.run_path(str(script), run_name="example")["sums"]
    assert sums(al.example("cache")) == (script.parent / "cache.sha256").read_text()


def test_the_readmes_figure_can_be_drawn_again_from_the_example():
    from agentlab.metrics import CACHE_HIT_RATE, TTFT, TURN_LATENCY

    again = al.compare(al.load(al.example("cache")), CACHE_HIT_RATE, TTFT, TURN_LATENCY, reference="stable")
    drawn = pd.read_csv(ROOT / "docs" / "images" / "cache.csv")
    assert list(again["arm"]) == list(drawn["arm"]) and list(again["kind"]) == list(drawn["kind"])
    for column in ("estimate", "lower", "upper"):
        ours, theirs = again[column].to_numpy(float, na_value=float("nan")), drawn[column].to_numpy(float)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_the_example_holds_nothing_private():
    stored = b"".join(p.read_bytes() for p in al.example("cache").rglob("*") if p.is_file())
    assert not any(
        word in stored for word in (b"Read package.json", b"/tmp/", b"/root", b"/home/", b"Bearer")
    )
    assert b'"content"' not in stored


def test_reading_a_study_opens_no_file_for_writing_outside_tables(folder):
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}
    recs = al.load(folder)
    for name in TABLES:
        recs.table(name)
    after = {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file() and p.parent.name != "tables"}
    assert after == before
    assert sorted(os.listdir(folder / "tables")) == sorted(
        ["index.json", *(f"{name}.parquet" for name in TABLES)]
    )


@pytest.mark.parametrize("name", TABLES)
def test_a_run_alone_has_the_rows_it_has_among_all(folder, name):
    alone, among = al.load(folder), al.load(folder)
    among.table(name)
    for one, other in zip(alone, among, strict=True):
        pd.testing.assert_frame_equal(one.table(name), other.table(name))


def test_one_run_does_not_need_the_tables_of_all(folder, monkeypatch):
    from agentlab.frames import build

    built = []
    original = build.BUILDERS["chunks"]
    monkeypatch.setitem(
        build.BUILDERS, "chunks", lambda read: built.append(read.run.run_id) or original(read)
    )
    run = al.load(folder)[3]
    assert set(run.table("chunks")["run_id"]) == {run.run_id}
    assert built == [run.run_id]


def test_a_name_that_no_file_can_have_is_named_with_the_others(folder, tmp_path):
    with pytest.raises(RecordingError, match=r"(?s)2 of 3 .*File name too long.*nowhere does not exist"):
        al.load([tmp_path / ("x" * 300), folder, tmp_path / "nowhere"])


def test_all_damaged_studies_are_named_at_once(folder, tmp_path):
    for name, data in (("one", "{"), ("two", "[]")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "study.json").write_text(data)
    (tmp_path / "x.json").write_text('{"runs": []}')
    both = r"(?s)2 of 3 cannot be loaded; mend them or leave them out:.*one/study\.json.*two/study\.json"
    with pytest.raises(RecordingError, match=both):
        al.load([tmp_path / "one", folder, tmp_path / "two"])
    with pytest.raises(RecordingError, match=both):
        al.load(tmp_path)
    with pytest.raises(
        RecordingError, match=r"(?s)3 of 4 .*one.*nowhere does not exist.*x\.json: unknown format"
    ):
        al.load([tmp_path / "one", tmp_path / "nowhere", tmp_path / "x.json", folder])
    with pytest.raises(ImportFormatError, match="unknown format"):
        al.load([folder, tmp_path / "x.json"])


def test_tables_are_read_also_when_the_working_folder_has_changed(tmp_path, monkeypatch):
    write_study(tmp_path / "study", runs=2)
    monkeypatch.chdir(tmp_path)
    recs = al.load("study")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(recs.turns) == 8  # and not 0, which would look like nothing measured
    assert len(recs[0].events) > 0


def test_a_study_that_is_gone_is_an_error_and_not_zero_rows(tmp_path):
    recs = al.load(write_study(tmp_path / "study", runs=2))
    shutil.rmtree(tmp_path / "study")
    for read in (lambda: recs.turns, lambda: recs[0].events, lambda: al.compare(recs, "REQUESTS")):
        with pytest.raises(RecordingError, match="is gone since it was loaded"):
            read()
    assert "no card" not in recs._repr_mimebundle_()["text/plain"]


def test_a_big_study_is_at_hand_once_it_was_read(tmp_path, monkeypatch):
    monkeypatch.setattr("agentlab.frames.store._QUICK", 0)
    recs = al.load(write_study(tmp_path / "study", runs=2))
    recs._repr_mimebundle_()
    assert not (tmp_path / "study" / "tables" / "turns.parquet").exists()  # a card reads no evidence
    assert not recs.at_hand("turns")
    assert len(recs.turns) == 8
    assert recs.at_hand("turns") and al.load(tmp_path / "study").at_hand("turns")
