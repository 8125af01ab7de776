"""A whole study of the real OpenCode: recorded, joined, resumed, extended."""

import pytest

import agentlab as al
from agentlab.metrics import CACHE_HIT_RATE, REQUESTS, TTFT

PROBE = al.Scenario(
    "probe",
    turns=["Session marker: {nonce}. Read package.json, then write one todo.", "Marker {nonce}. Explain it."],
    require=["tool:read", "tool:todowrite", "text"],
)
ARMS = {
    "stable": al.OpenCode("lab/scripted"),
    "volatile": al.OpenCode("lab/scripted", system="Turn {turn} of the day."),
}


def record(folder, runs):
    gateway = al.Gateway(al.ScriptedModel.load("cache-probe"))
    running = al.record(
        PROBE,
        ARMS,
        runs=runs,
        to=folder,
        seed=7,
        gateway=gateway,
        host="process",
        quiet=None,
        progress="none",
    )
    return running.result(timeout=120)


@pytest.fixture(scope="module")
def study(tmp_path_factory, opencode_executable):
    folder = tmp_path_factory.mktemp("study") / "probe"
    return record(folder, 2)


def test_all_runs_are_usable(study):
    assert list(study.runs["status"]) == ["complete"] * 4
    assert study.runs["eligible"].all(), study.issues
    assert set(study.runs["block"]) == {0, 1}
    assert (study.runs["version"] == "1.18.33").all()


def test_agent_and_gateway_agree_on_every_request(study):
    requests = study.requests
    assert set(requests["source"]) == {"both"} and set(requests["chain"]) == {"main"}
    assert (requests["input_total_tokens"] == requests["agent_input_total_tokens"]).all()
    assert (requests["cache_read_tokens"] == requests["agent_cache_read_tokens"]).all()
    assert (requests["output_tokens"] == requests["agent_output_tokens"]).all()
    assert requests["terminal_seen"].all()


def test_cached_tokens_follow_the_rule_over_the_bytes_that_were_sent(study):
    for _, run in study.requests.sort_values(["run_id", "position"]).groupby("run_id"):
        cached, prefix = run["cache_read_tokens"].tolist(), run["prefix_bytes"].tolist()
        assert cached[0] == 0  # every run starts cold
        for tokens, shared in zip(cached[1:], prefix[1:], strict=True):
            assert tokens == shared // 4 // 128 * 128 >= 1024


def test_only_the_changing_system_text_breaks_the_prefix(study):
    changed = study.requests.dropna(subset=["first_changed"])
    assert set(changed["arm"]) == {"volatile"} and set(changed["first_changed"]) == {"system"}


def test_stamps_are_in_causal_order_on_one_clock(study):
    chunks = study.chunks.query("kind == 'text'").dropna(subset=["emit_ns", "gateway_ns", "arrive_ns"])
    assert len(chunks) > 20
    assert (chunks["emit_ns"] <= chunks["gateway_ns"]).all()
    assert (chunks["gateway_ns"] <= chunks["arrive_ns"]).all()
    assert (chunks["server_ns"] - chunks["arrive_ns"] < 2_000_000).all()  # the server's stamp has 1 ms steps


def test_the_ladder_is_a_ladder(study):
    turns = study.turns
    assert turns["ttft_ms"].notna().all() and (turns["latency_ms"] > 0).all()
    assert (turns["first_byte_ms"] <= turns["first_event_ms"]).all()
    assert (turns["first_event_ms"] <= turns["ttft_ms"]).all()
    assert (turns["ttft_server_ms"] <= turns["ttft_ms"] + 2).all()
    assert turns["first_paint_ms"].isna().all()


def test_estimates_come_with_their_coverage(study):
    estimates = al.compare(study, TTFT, CACHE_HIT_RATE, REQUESTS, reference="stable")
    levels = estimates.query("kind == 'level'")
    assert list(levels["arm"]) == ["stable", "volatile"] * 3
    assert (levels["n_runs"] == 2).all() and (levels["n_discarded"] == 0).all()
    rate = levels.query("metric == 'CACHE_HIT_RATE'").set_index("arm")["estimate"]
    assert rate["stable"] > rate["volatile"]


def test_the_same_call_again_does_nothing_and_says_so(study, capsys):
    before = sorted(path.name for path in study.path.glob("runs/*"))
    again = record(study.path, 2)
    assert "4 of 4 already recorded" in capsys.readouterr().err
    assert sorted(path.name for path in study.path.glob("runs/*")) == before and len(again) == 4


def test_more_runs_extend_the_study(study, capsys):
    longer = record(study.path, 3)
    assert "4 of 6 already recorded" in capsys.readouterr().err
    assert len(longer) == 6 and set(longer.runs["block"]) == {0, 1, 2}


async def test_one_driver_alone_with_a_gateway_of_its_own(tmp_path, opencode_executable):
    driver = al.OpenCode("lab/m", server="run", gateway=al.Gateway(al.ScriptedModel.load("cache-probe")))
    recs = await driver.run(PROBE, to=tmp_path / "alone")
    assert len(recs) == 1 and recs.runs["eligible"].all() and len(recs.turns) == 2
    # the throw-away prompt of the run's own server is in no table and has warmed no cache
    assert set(recs.requests["chain"]) == {"main"} and set(recs.requests["source"]) == {"both"}
    assert recs.requests["cache_read_tokens"].iloc[0] == 0


def test_a_wrong_agent_ends_the_study_before_it_starts(tmp_path, opencode_executable):
    gateway = al.Gateway(al.ScriptedModel.load("cache-probe"))
    arms = {"a": al.OpenCode("lab/m", agent="nobody")}
    running = al.record(
        PROBE, arms, runs=1, to=tmp_path / "s", gateway=gateway, host="process", progress="none"
    )
    with pytest.raises(al.StartupError, match=r"no agent 'nobody'; it has: .*\n.*0 of 1 runs are kept"):
        running.result(timeout=60)
