"""Planning, resuming and comparing studies; codec of settings."""

import dataclasses
import json
from pathlib import Path

import pytest

from agentlab import Gateway, OpenCode, Price, Scenario, ScriptedModel, Step, record
from agentlab.engine.codec import decode, encode
from agentlab.engine.files import lock
from agentlab.engine.slots import next_sequence
from agentlab.engine.study import Study, check_own, default_folder, prepare, slug
from agentlab.errors import ConfigError, RecordingError, StudyBusy
from agentlab.testing.drivers import Toy

SCENARIO = Scenario("probe", turns=["Say {nonce}."])
ARMS = {
    "a": OpenCode("lab/m"),
    "b": OpenCode("lab/m", system="secret system"),
    "c": OpenCode("lab/m", agent="plan"),
}


def study(folder: Path, **changes) -> Study:
    settings = {"scenario": SCENARIO, "arms": ARMS, "runs": 4, "order": "interleaved", "seed": 7}
    return Study(folder=folder, **{**settings, **changes})


def test_blocks_hold_every_arm_once_in_random_order(tmp_path):
    slots = list(study(tmp_path, runs=30).slots())
    blocks = [[s.arm for s in slots if s.block == b] for b in range(30)]
    assert all(sorted(block) == ["a", "b", "c"] for block in blocks)
    assert {tuple(block) for block in blocks} > {("a", "b", "c")}
    assert [s.block for s in slots] == sorted(s.block for s in slots)


def test_the_order_depends_on_the_seed_only_and_survives_extension(tmp_path):
    short, long = list(study(tmp_path, runs=3).slots()), list(study(tmp_path, runs=9).slots())
    assert long[:9] == short
    assert list(study(tmp_path, runs=9, seed=8).slots()) != long


def test_sequential_runs_have_no_block(tmp_path):
    slots = list(study(tmp_path, order="sequential", runs=2).slots())
    assert [(s.arm, s.index, s.block) for s in slots[:3]] == [("a", 0, None), ("a", 1, None), ("b", 0, None)]


def write_run(folder: Path, number: int, arm: str, index: int, status: str) -> None:
    run = folder / "runs" / f"{number:04d}-{arm}"
    run.mkdir(parents=True)
    state = {"run_id": run.name, "arm": arm, "run_index": index, "status": status, "issues": []}
    (run / "run.json").write_text(json.dumps(state))


def test_resume_repeats_what_did_not_finish_and_nothing_else(tmp_path):
    folder = tmp_path / "s"
    prepared = prepare(study(folder), "resume")
    write_run(folder, 0, "a", 0, "complete")
    write_run(folder, 1, "b", 0, "failed")
    write_run(folder, 2, "c", 0, "cancelled")
    write_run(folder, 3, "a", 1, "running")
    again = prepare(study(folder, seed=99), "resume")
    assert again.seed == prepared.seed == 7
    left = {(s.arm, s.index) for s in again.missing()}
    assert {("a", 0), ("b", 0)}.isdisjoint(left) and {("c", 0), ("a", 1)} <= left and len(left) == 10
    assert next_sequence(folder) == 4


def test_a_study_without_a_run_gives_way(tmp_path):
    prepare(study(tmp_path / "s"), "resume")
    prepare(study(tmp_path / "s", arms={"a": OpenCode("lab/m", agent="mended")}), "resume")
    assert list(json.loads((tmp_path / "s" / "study.json").read_text())["arms"]) == ["a"]


def test_another_study_is_refused_and_the_first_difference_named(tmp_path):
    prepare(study(tmp_path / "s"), "resume")
    write_run(tmp_path / "s", 0, "a", 0, "complete")
    with pytest.raises(ConfigError, match=r"arms\.b\.settings\.system\.sha256 is '[0-9a-f]{16}' there"):
        other = {**ARMS, "b": OpenCode("lab/m", system="other system!")}
        prepare(study(tmp_path / "s", arms=other), "resume")
    with pytest.raises(ConfigError, match=r"scenario\.turns\[0\]\.n_chars"):
        prepare(study(tmp_path / "s", scenario=Scenario("probe", turns=["Something else"])), "resume")
    with pytest.raises(ConfigError, match=r"arms\.c is missing"):
        prepare(study(tmp_path / "s", arms={"a": ARMS["a"], "b": ARMS["b"]}), "resume")
    with pytest.raises(ConfigError, match="holds a study already"):
        prepare(study(tmp_path / "s"), "refuse")


def test_an_arm_that_is_wrong_costs_no_study_that_was_to_be_replaced(tmp_path):
    prepare(study(tmp_path / "s"), "resume")
    write_run(tmp_path / "s", 0, "a", 0, "complete")
    with pytest.raises(ConfigError, match="no_such_module"):
        prepare(study(tmp_path / "s", arms={"a": "no_such_module:make"}), "replace")
    assert (tmp_path / "s" / "runs" / "0000-a").is_dir()


def test_replace_starts_anew_and_strange_folders_are_left_alone(tmp_path):
    prepare(study(tmp_path / "s"), "resume")
    write_run(tmp_path / "s", 0, "a", 0, "complete")
    prepare(study(tmp_path / "s", scenario=Scenario("other", turns=["x"])), "replace")
    assert len(study(tmp_path / "s").missing()) == 12
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    for exists in ("resume", "replace", "refuse"):
        with pytest.raises(ConfigError, match="holds no study"):
            prepare(study(tmp_path / "home"), exists)
    assert (tmp_path / "home" / "thesis.tex").exists()


def test_more_runs_extend_a_study(tmp_path):
    prepare(study(tmp_path / "s", runs=2), "resume")
    prepare(study(tmp_path / "s", runs=5), "resume")
    assert json.loads((tmp_path / "s" / "study.json").read_text())["runs"] == 5


def test_an_impossible_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="is a file; choose another folder"):
        prepare(study(tmp_path / "file"), "resume")
    with pytest.raises(RecordingError, match="choose another folder with to="):
        prepare(study(tmp_path / "file" / "s"), "resume")


RUNNING = "http://127.0.0.1:4096"  # never asked here


def test_numbers_keep_no_text(tmp_path):
    arms = {
        "a": OpenCode("lab/m", system="secret system"),
        "b": OpenCode("lab/m", url=RUNNING, auth=("user", "hunter2"), headers=[("x-key", "sesame")]),
    }
    prepare(study(tmp_path / "s", arms=arms, scenario=Scenario("p", turns=["private prompt"])), "resume")
    text = (tmp_path / "s" / "study.json").read_text()
    assert not any(word in text for word in ("secret system", "hunter2", "sesame", "private prompt"))
    prepare(study(tmp_path / "c", scenario=Scenario("p", turns=["private prompt"]), keep="content"), "resume")
    assert "private prompt" in (tmp_path / "c" / "study.json").read_text()


def script(text, **step):
    return Gateway(ScriptedModel([Step(text=text, **step)], match="rule"))


def test_numbers_keep_nothing_that_a_script_says_or_looks_for(tmp_path):
    gateway = script("secret answer", tools=[{"name": "write", "arguments": {"content": "secret file"}}])
    own = script("x", when={"last_user_contains": "secret prompt"})
    arms = {"a": OpenCode("lab/m"), "b": OpenCode("lab/m", gateway=own)}
    prepare(study(tmp_path / "n", gateway=gateway, arms=arms), "refuse")
    assert "secret" not in (tmp_path / "n" / "study.json").read_text()
    prepare(study(tmp_path / "c", gateway=gateway, arms=arms, keep="content"), "refuse")
    assert "secret answer" in (tmp_path / "c" / "study.json").read_text()


def test_another_gateway_is_another_study_also_when_it_is_an_arms_own(tmp_path):
    prepare(study(tmp_path / "s", gateway=script("x")), "refuse")
    write_run(tmp_path / "s", 0, "a", 0, "complete")
    with pytest.raises(ConfigError, match=r"gateway\.upstream\.steps\.sha256 is"):
        prepare(study(tmp_path / "s", gateway=script("y")), "resume")
    arms = [{"a": OpenCode("lab/m", gateway=script(text))} for text in "xy"]
    prepare(study(tmp_path / "own", arms=arms[0]), "refuse")
    write_run(tmp_path / "own", 0, "a", 0, "complete")
    with pytest.raises(ConfigError, match=r"arms\.a\.gateway\.upstream\.steps\.sha256 is"):
        prepare(study(tmp_path / "own", arms=arms[1]), "resume")


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_a_price_that_is_looked_up_anew_is_the_same_while_its_figures_are(tmp_path, own, named):
    def priced(day, amount):
        above = Price(6, 30, as_of=day, source=f"table of {day}")
        price = Price(3, amount, as_of=day, source=f"table of {day}", above_tokens=9, above=above)
        gateway = Gateway("https://h.example/v1", price={"m": price} if named else price)
        if own:
            return {"arms": {"a": OpenCode("lab/m", gateway=gateway)}}
        return {"gateway": gateway}

    first = prepare(study(tmp_path / "s", **priced("2026-11-29", 15)), "resume")
    write_run(first.folder, 0, "a", 0, "complete")
    prepare(study(tmp_path / "s", **priced("2026-11-30", 15)), "resume")
    assert "2026-11-29" in (first.folder / "study.json").read_text()
    with pytest.raises(ConfigError, match=r"price.*output is '15' there, '16' here"):
        prepare(study(tmp_path / "s", **priced("2026-11-30", 16)), "resume")


def test_a_gateway_before_a_server_that_runs_already_is_refused():
    with pytest.raises(ConfigError, match="asks its own provider"):
        OpenCode("lab/m", url="http://127.0.0.1:1", gateway=script("x"))


def test_what_is_wrong_with_an_arm_is_said_before_a_folder_is_made(tmp_path):
    with pytest.raises(ConfigError, match="cannot be imported"):
        prepare(study(tmp_path / "s", arms={"a": "nowhere:nothing"}), "resume")
    assert not (tmp_path / "s").exists()


def test_no_room_for_a_study_leaves_nothing_in_the_way_of_the_next_try(tmp_path, monkeypatch):
    def full(path, data):
        raise RecordingError(f"{path} cannot be written: No space left on device")

    with monkeypatch.context() as patch, pytest.raises(RecordingError):
        patch.setattr("agentlab.engine.study.write_json", full)
        prepare(study(tmp_path / "s"), "resume")
    assert len(prepare(study(tmp_path / "s"), "resume").missing()) == 12


def test_of_two_studies_put_into_one_folder_at_once_one_is_recorded(tmp_path, monkeypatch):
    first = prepare(study(tmp_path / "s"), "resume")
    second = prepare(study(tmp_path / "s", arms={"other": ARMS["a"]}), "resume")  # no run is there yet
    check_own(second)
    with pytest.raises(StudyBusy, match="given to another study"):
        check_own(first)
    check_own(prepare(study(tmp_path / "s", arms={"other": ARMS["a"]}), "resume"))

    def meanwhile():
        prepare(study(tmp_path / "t", arms={"other": ARMS["a"]}), "resume")
        return {}

    with monkeypatch.context() as patch:
        patch.setattr("agentlab.machine.provenance", lambda: patch.undo() or meanwhile())
        with pytest.raises(StudyBusy, match="given to another study"):
            prepare(study(tmp_path / "t"), "resume")
    assert list(json.loads((tmp_path / "t" / "study.json").read_text())["arms"]) == ["other"]


def test_a_study_under_way_is_not_extended_by_another_process(tmp_path):
    prepare(study(tmp_path / "s"), "resume")
    write_run(tmp_path / "s", 0, "a", 0, "complete")
    with lock(tmp_path / "s"), pytest.raises(StudyBusy):
        prepare(study(tmp_path / "s", runs=9), "resume")
    assert json.loads((tmp_path / "s" / "study.json").read_text())["runs"] == 4


@pytest.mark.parametrize("change", [{"seed": None}, {"seed": "7"}, {"runs": None}, {"runs": [4]}])
def test_a_damaged_study_is_named(tmp_path, change):
    prepare(study(tmp_path / "s"), "resume")
    write_run(tmp_path / "s", 0, "a", 0, "complete")
    file = tmp_path / "s" / "study.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(RecordingError, match="is damaged"):
        prepare(study(tmp_path / "s"), "resume")


@pytest.mark.parametrize("state", [{}, {"arm": ["a"], "run_index": 0, "status": "complete"}, {"arm": "a"}])
def test_a_damaged_run_is_made_again(tmp_path, state):
    made = prepare(study(tmp_path / "s"), "resume")
    (tmp_path / "s" / "runs" / "0000-a").mkdir()
    (tmp_path / "s" / "runs" / "0000-a" / "run.json").write_text(json.dumps(state))
    assert len(made.missing()) == 12 and next_sequence(made.folder) == 1


def test_keeping_more_or_less_is_named_without_the_texts(tmp_path):
    prepare(study(tmp_path / "s"), "refuse")
    write_run(tmp_path / "s", 0, "a", 0, "complete")
    with pytest.raises(ConfigError, match="another study: keep is 'numbers' there, 'content' here"):
        prepare(study(tmp_path / "s", keep="content"), "resume")


@pytest.mark.parametrize("seed", ["7", 1.5, True, -1])
def test_a_seed_is_a_whole_number(tmp_path, seed):
    with pytest.raises(ConfigError, match="seed"):
        record(SCENARIO, ARMS, seed=seed, to=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_job_comes_back_as_it_went(tmp_path):
    running = OpenCode("lab/m", url=RUNNING, auth=("u", "p"), headers=[("h", "v")])
    before = study(tmp_path, arms={"a": running, "b": OpenCode("lab/m", workspace=tmp_path)})
    job = json.loads(json.dumps(before.to_job()))
    after = Study.from_job(job)
    assert after.describe() == before.describe()
    assert after.arms["a"].auth == ("u", "p") and after.quiet == before.quiet and after.folder == tmp_path


def test_names_of_functions_are_called(tmp_path):
    driver = study(tmp_path, arms={"a": "tests_engine_arm:make"})
    with pytest.raises(ConfigError, match="cannot be imported"):
        _ = driver.drivers
    with pytest.raises(ConfigError, match="is no driver"):
        _ = study(tmp_path, arms={"a": "builtins:dict"}).drivers


def test_what_cannot_cross_is_refused_with_the_way_out():
    @dataclasses.dataclass(frozen=True)
    class Mine:
        x: int = 1

    with pytest.raises(ConfigError, match=r'host="inline"'):
        encode(Mine())
    with pytest.raises(ConfigError, match=r"arms\['a'\].*module:function"):
        encode({"a": lambda: 1}, "arms")
    assert decode(encode({"p": Path("x"), "n": [1, None]})) == {"p": Path("x"), "n": [1, None]}


def test_names_become_folders():
    assert slug("a/b c") == "a-b-c" and slug("...") == "arm"
    assert len(slug("long" * 100)) < 100
    assert default_folder(SCENARIO).parts[0] == "studies" and default_folder(SCENARIO).name.startswith(
        "probe-"
    )


@dataclasses.dataclass(frozen=True)
class Swept(Toy):
    sessions: tuple[int, ...] = (1, 4)


def test_each_value_of_a_swept_setting_is_a_run_of_every_block(tmp_path):
    made = study(tmp_path, arms={"a": Swept(), "b": Toy()}, runs=3)
    slots = list(made.slots())
    assert made.planned == {"a": 6, "b": 3} and len(slots) == 9
    for block in range(3):
        cells = {(s.arm, s.n_sessions) for s in slots if s.block == block}
        assert cells == {("a", 1), ("a", 4), ("b", None)}
    assert len({(s.arm, s.index) for s in slots}) == 9
    longer = list(study(tmp_path, arms={"a": Swept(), "b": Toy()}, runs=5).slots())
    assert longer[:9] == slots  # more runs change nothing of those that stand
    assert made.describe()["arms"]["a"]["sessions"] == [1, 4]
    assert "sessions" not in made.describe()["arms"]["b"]


def test_values_are_run_one_after_the_other_when_sequential(tmp_path):
    slots = list(study(tmp_path, arms={"a": Swept()}, runs=2, order="sequential").slots())
    assert [(s.n_sessions, s.index) for s in slots] == [(1, 0), (1, 2), (4, 1), (4, 3)]


@pytest.mark.parametrize("values", [(), (0,), (1, 1), (True,), [1], (1.0,)])
def test_wrong_swept_values_are_refused(tmp_path, values):
    with pytest.raises(ConfigError, match="give numbers above 0"):
        study(tmp_path, arms={"a": Swept(sessions=values)}).planned.keys()


def test_memory_is_part_of_what_a_study_is(tmp_path):
    prepare(study(tmp_path / "s", memory=True), "resume")
    (tmp_path / "s" / "runs" / "0000-a").mkdir()
    with pytest.raises(ConfigError, match="memory is True there, False here"):
        prepare(study(tmp_path / "s"), "resume")
