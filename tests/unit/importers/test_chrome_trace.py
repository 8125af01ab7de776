import gzip
import json
import shutil
import zipfile
from pathlib import Path

import pytest

import agentlab as al
from agentlab.errors import ConfigError, ImportFormatError
from agentlab.frames.chrometrace import read_tasks
from agentlab.frames.tables import TABLES

DATA = Path(__file__).resolve().parents[3] / "data" / "traces"


def notes(recs):
    return recs.issues["detail"].tolist()


@pytest.fixture(scope="module")
def light():
    return al.load(DATA / "light.json.gz")


def test_a_trace_is_a_recording_of_one_run(light):
    for name, table in TABLES.items():
        table.check(light.table(name))
    assert (light.arms, len(light), light[0].run_id) == (("trace",), 1, "0000-trace")
    assert light.runs["study"].tolist() == ["light"] and light.runs["eligible"].tolist() == [True]
    assert len(light.turns) == len(light.requests) == len(light.memory) == 0
    assert set(light.issues["code"]) == {"import_note"}
    assert any("have no end" in note for note in notes(light))


def test_its_tasks_are_those_of_the_public_reader(light):
    tasks, plain = light.table("tasks"), read_tasks(DATA / "light.json.gz")
    for name in (
        "start_ns",
        "duration_ms",
        "cpu_ms",
        "pid",
        "tid",
        "thread",
        "is_page_main",
        "is_long",
        "open",
        "reason",
    ):
        assert tasks[name].equals(plain[name]), name
    for name in ("frames", "animation_frames", "layout_shifts", "page_events", "counters", "interactions"):
        assert len(light.table(name)) > 0, name


def test_a_profile_fills_the_table_of_functions():
    for name in ("profiled.cpuprofile.gz", "node.cpuprofile"):
        recs = al.load(DATA / name)
        assert recs.arms == ("profile",) and recs.runs["study"].tolist() == [name.split(".")[0]]
        cpu = recs.table("cpu")
        assert {"burn", "inner"} & set(cpu["function"]) and cpu["self_ms"].sum() > 40
        assert len(recs.table("tasks")) == 0
        assert any("before the first sample" in note for note in notes(recs))
    sampled = al.load(DATA / "sampled.json.gz")
    assert set(sampled.table("cpu")["profile"]) == {"page", "worker 1"}
    tops = sampled.table("tasks").query("is_long")["top_function"].tolist()
    assert any(str(top).startswith("burn @ app.js:") for top in tops)


def test_names_do_not_matter_and_two_copies_are_one_recording(tmp_path):
    text = gzip.decompress((DATA / "light.json.gz").read_bytes())
    (tmp_path / "my trace.txt").write_bytes(text)
    recs = al.load(tmp_path / "my trace.txt")
    assert len(recs.table("tasks")) == len(al.load(DATA / "light.json.gz").table("tasks"))
    shutil.copy(DATA / "light.json.gz", tmp_path / "again.json.gz")
    with pytest.raises(ConfigError):
        _ = al.load(DATA / "light.json.gz") + al.load(tmp_path / "again.json.gz")


def test_what_is_lost_is_told(tmp_path):
    text = gzip.decompress((DATA / "light.json.gz").read_bytes())
    cut = tmp_path / "cut.json"
    cut.write_bytes(text[: len(text) // 2])
    recs = al.load(cut)
    last = text[: len(text) // 2].rindex(b"},\n") + 1
    assert any(f"the trace is cut behind byte {last}" in note for note in notes(recs))
    assert 0 < len(recs.table("tasks")) < len(al.load(DATA / "light.json.gz").table("tasks"))
    bare = tmp_path / "bare.json"
    layout = {"name": "Layout", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1}
    bare.write_text(json.dumps([layout]))
    assert any("page's main thread is not told" in note for note in notes(al.load(bare)))


def test_metadata_in_front_of_the_events(tmp_path):
    path = tmp_path / "devtools.json"
    events = [{"name": "RunTask", "ph": "X", "ts": 1, "dur": 60000, "pid": 1, "tid": 1}]
    path.write_text(json.dumps({"metadata": {"sourceMaps": "x" * 200_000}, "traceEvents": events}))
    assert al.load(path).table("tasks")["is_long"].tolist() == [True]


@pytest.mark.parametrize("packed", [False, True])
def test_long_metadata_in_front_of_a_trace_that_is_packed_or_cut(tmp_path, packed):
    events = [{"name": "RunTask", "ph": "X", "ts": 1, "dur": 60000, "pid": 1, "tid": 1}] * 2
    about = {"metadata": {"sourceMaps": "x" * 200_000, "callFrame": {}}, "traceEvents": events}
    text = json.dumps(about).encode()
    path = tmp_path / "t.json"
    path.write_bytes(gzip.compress(text) if packed else text[:-20])
    assert len(al.load(path).table("tasks")) == 1 + packed


def test_other_files_are_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "trace.zip", "w") as archive:
        archive.writestr("trace.trace", "{}")
    with pytest.raises(ImportFormatError, match=r"trace of Playwright.*start_tracing"):
        al.load(tmp_path / "trace.zip")
    for content in (b'{"log":{"entries":[]}}', b"text", gzip.compress(b"text")):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(ImportFormatError, match=r"unknown format.*trace of Chrome.*CPU profile"):
            al.load(tmp_path / "other")
    (tmp_path / "old.cpuprofile").write_text('{"head":{"callFrame":{}},"startTime":1,"samples":[]}')
    with pytest.raises(ImportFormatError, match="before 58"):
        al.load(tmp_path / "old.cpuprofile")
