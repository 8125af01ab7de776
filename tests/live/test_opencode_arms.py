"""Arms that people compare, on the real OpenCode: a plugin, an agent of one's own, models, workspaces."""

import json
import subprocess

import pytest

import agentlab as al
from agentlab.metrics import REQUESTS, TTFT

PROBE = al.Scenario(
    "probe",
    turns=["Session marker: {nonce}. Read package.json, then write one todo.", "Marker {nonce}. Explain it."],
    require=["tool:read", "tool:todowrite", "text"],
    timeouts=al.Timeouts(start=60, prompt=60),
)
TERSE = {
    "mode": "primary",
    "prompt": "You answer in one sentence.",
    "model": "lab/scripted",
    "permission": {"edit": "deny"},
}
PLUGIN = "oh-my-opencode-slim"


@pytest.fixture(scope="module")
def plugin(opencode_executable):
    """The plugin of the original's case, installed."""
    return al.install(PLUGIN)


@pytest.fixture(scope="module")
def study(tmp_path_factory, plugin):
    arms = {
        "off": al.OpenCode("lab/scripted"),
        "on": al.OpenCode("lab/scripted", agent="orchestrator", plugins=[PLUGIN]),
        "terse": al.OpenCode("lab/scripted", agent="terse", config={"agent": {"terse": TERSE}}),
        "other": al.OpenCode("second/other-1"),
    }
    gateway = al.Gateway(al.ScriptedModel.load("cache-probe"))
    to = tmp_path_factory.mktemp("arms") / "study"
    running = al.record(
        PROBE, arms, runs=1, to=to, seed=3, gateway=gateway, host="process", quiet=None, progress="none"
    )
    return running.result(timeout=180)


def test_all_arms_are_eligible_and_answered_by_whom_they_name(study):
    assert study.runs["eligible"].all(), study.issues
    assert study.issues.empty
    told = study.sessions.set_index("arm")[["agent", "provider", "model"]]
    assert {arm: tuple(row) for arm, row in told.iterrows()} == {
        "off": ("build", "lab", "scripted"),
        "on": ("orchestrator", "lab", "scripted"),
        "terse": ("terse", "lab", "scripted"),
        "other": ("build", "second", "other-1"),
    }
    assert set(study.requests["source"]) == {"both"} and set(study.requests["chain"]) == {"main"}


def test_the_plugin_changes_what_is_sent_and_the_agent_of_ones_own_too(study):
    first = study.requests.sort_values("position").groupby("arm").first()
    assert first.loc["on", "n_tools"] > first.loc["off", "n_tools"]
    assert first.loc["on", "canonical_bytes"] > 1.2 * first.loc["off", "canonical_bytes"]
    assert first.loc["terse", "canonical_bytes"] < first.loc["off", "canonical_bytes"]


def test_on_and_off_are_compared(study):
    estimates = al.compare(study.where(arm=["off", "on"]), TTFT, REQUESTS, reference="off")
    levels = estimates.query("kind == 'level'")
    assert list(levels["arm"]) == ["off", "on"] * 2 and levels["estimate"].notna().all()


def test_the_build_of_the_plugin_is_recorded(study, plugin):
    stored = json.loads((study.path / "study.json").read_text())["arms"]["on"]["settings"]["plugins"]
    runs = [json.loads(file.read_text()) for file in study.path.glob("runs/*-on/run.json")]
    assert [run["identity"]["settings"]["plugins"] for run in runs] == [stored]
    assert (stored[0]["name"], stored[0]["version"]) == (PLUGIN, plugin.version)
    assert len(stored[0]["digest"]) == 16 and len(stored[0]["dependencies"]) == 16


def test_another_build_is_another_arm(study, plugin, tmp_path):
    copy = tmp_path / "build"
    subprocess.run(["cp", "-r", plugin.executable, copy], check=True)
    (copy / "dist" / "index.js").write_text("// another build")
    arms = {
        "off": al.OpenCode("lab/scripted"),
        "on": al.OpenCode("lab/scripted", agent="orchestrator", plugins=[copy]),
        "terse": al.OpenCode("lab/scripted", agent="terse", config={"agent": {"terse": TERSE}}),
        "other": al.OpenCode("second/other-1"),
    }
    gateway = al.Gateway(al.ScriptedModel.load("cache-probe"))
    with pytest.raises(al.ConfigError, match=r"arms\.on\.settings\.plugins\[0\]\.(dependencies|digest) is"):
        al.record(PROBE, arms, runs=1, to=study.path, gateway=gateway, host="process", progress="none")


BROKEN = {
    "throws": ("export const P = async () => { throw new Error('boom') }", "boom"),
    "syntax": ("export const P = async ( => {", "Failed to load plugin"),
}


def test_plugins_that_do_not_load_end_the_study_before_it_starts(opencode_executable, tmp_path):
    for name, (text, _) in BROKEN.items():
        (tmp_path / f"{name}.js").write_text(text)
    (tmp_path / "good.js").write_text("export const P = async () => ({})")
    plugins = [tmp_path / f"{name}.js" for name in ("good", *BROKEN)]
    driver = al.OpenCode("lab/m", plugins=plugins, gateway=al.Gateway(al.ScriptedModel.load("cache-probe")))
    running = al.record(PROBE, driver, runs=1, to=tmp_path / "s", host="process", progress="none")
    with pytest.raises(al.StartupError, match="did not load a plugin") as caught:
        running.result(timeout=60)
    message = str(caught.value)
    assert all(reason in message and f"{name}.js" in message for name, (_, reason) in BROKEN.items())
    assert "good.js" not in message and "0 of 1 runs are kept" in message


def test_with_a_server_for_each_run_a_wrong_agent_costs_no_run(opencode_executable, tmp_path):
    gateway = al.Gateway(al.ScriptedModel.load("cache-probe"))
    driver = al.OpenCode("lab/m", agent="orchestrator", server="run", gateway=gateway)
    running = al.record(PROBE, driver, runs=2, to=tmp_path / "s", host="process", progress="none")
    with pytest.raises(
        al.StartupError, match=r"no agent 'orchestrator'; it has: .*build.*with the plugin oh-my"
    ):
        running.result(timeout=60)
    assert list((tmp_path / "s" / "runs").iterdir()) == []


LOOK = (
    "cat a.txt; ls; git log --oneline | wc -l; git remote; echo pid=$PPID; echo changed > a.txt; touch left"
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A repository whose second commit, branch and uncommitted change must not be seen."""
    folder = tmp_path_factory.mktemp("repository")

    def git(*arguments):
        command = ["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e@x", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    for text in ("first", "second"):
        (folder / "a.txt").write_text(f"{text}\n")
        git("add", ".")
        git("commit", "--quiet", "-m", text)
    (folder / "a.txt").write_text("uncommitted\n")
    return folder, git("rev-parse", "HEAD~1")


def test_every_run_has_a_clean_checkout_and_with_server_run_a_server_of_its_own(
    opencode_executable, repository, tmp_path
):
    folder, commit = repository
    steps = [
        al.Step(
            when={"last_role": "user"},
            tools=[{"name": "bash", "arguments": {"command": LOOK, "description": "look"}}],
        ),
        al.Step(when={"last_role": "tool"}, text="looked"),
    ]
    arms = {
        "commit": al.OpenCode("lab/m", workspace=f"git+{folder}@HEAD~1", server="run"),
        "folder": al.OpenCode("lab/m", workspace=folder),
    }
    recs = al.record(
        al.Scenario("look", turns=["look"], require=["tool:bash", "text"]),
        arms,
        runs=2,
        to=tmp_path / "s",
        gateway=al.Gateway(al.ScriptedModel(steps, match="rule")),
        host="process",
        keep="content",
        quiet=None,
        progress="none",
    ).result(timeout=180)
    assert recs.runs["eligible"].all(), recs.issues
    seen = {"commit": [], "folder": []}
    for file in sorted((tmp_path / "s" / "runs").iterdir()):
        events = [json.loads(line) for line in (file / "events.jsonl").read_text().splitlines()]
        outputs = [
            e["content"]["output"] for e in events if e["kind"] == "tool" and e["status"] == "completed"
        ]
        seen[file.name.partition("-")[2]].append(outputs[-1].split())
    pids = {arm: {words[-1] for words in runs} for arm, runs in seen.items()}
    assert [words[:-1] for words in seen["commit"]] == [["first", "a.txt", "1"]] * 2
    assert [words[:-1] for words in seen["folder"]] == [["uncommitted", "a.txt", "2"]] * 2
    assert len(pids["commit"]) == 2 and len(pids["folder"]) == 1
    # The throw-away prompt of each server is in no table and has warmed no cache.
    requests = recs.requests.sort_values("position")
    assert set(requests["chain"]) == {"main"} and requests.groupby("run_id").size().tolist() == [2] * 4
    assert (requests.groupby("run_id")["cache_read_tokens"].first() == 0).all()
    told = json.loads((tmp_path / "s" / "study.json").read_text())["arms"]
    assert told["commit"]["settings"]["workspace"] == {"name": folder.name, "commit": commit}
    about = told["folder"]["settings"]["workspace"]
    assert about["dirty"] is True and about["commit"] not in (None, commit) and len(about["digest"]) == 16
    assert str(folder) not in (tmp_path / "s" / "study.json").read_text()
