"""A recording of the real OpenCode with faults: evidence in, tables out."""

import hashlib
import json
import runpy
import shutil
from pathlib import Path

import pytest

import agentlab as al

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "data"
MAKE = runpy.run_path(str(HERE / "make_opencode.py"))


@pytest.fixture
def recs(tmp_path):
    return al.load(shutil.copytree(DATA / "opencode-faults", tmp_path / "opencode-faults"))


def test_the_tables_come_out_again(tmp_path):
    MAKE["write"](tmp_path)
    for name in MAKE["TABLES"]:
        assert (tmp_path / f"{name}.csv").read_text() == (HERE / "opencode" / f"{name}.csv").read_text(), name


def test_the_evidence_is_the_committed_one():
    for line in (DATA / "opencode-faults.sha256").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((DATA / "opencode-faults" / name).read_bytes()).hexdigest() == digest


def test_first_tokens_agree_with_a_naive_reading(recs):
    """Walk the lines once per turn, with nothing of the library's own reading."""
    for run in recs:
        lines = [json.loads(line) for line in (run.path / "events.jsonl").read_text().splitlines()]
        parents = {e["message"]: e.get("parent") for e in lines if e["kind"] == "message"}
        for turn in run.table("turns").itertuples():
            (send,) = (e for e in lines if e["kind"] == "turn.send" and e["turn"] == turn.turn)
            spoken = [
                e["t"]
                for e in lines
                if e["kind"] == "chunk"
                and parents[e["message"]] == send["message"]
                and (e["chunk"] == "reasoning" or e["visible"])
            ]
            (reply,) = (e for e in lines if e["kind"] == "turn.reply" and e["turn"] == turn.turn)
            assert turn.latency_ms == (reply["t"] - send["t"]) / 1e6
            if spoken:
                assert turn.ttft_ms == (min(spoken) - send["t"]) / 1e6
            else:
                assert turn.reason == "no_visible_text"


def test_what_the_faults_did_is_there(recs):
    requests = recs.requests.set_index(["arm", "request"])
    assert list(requests.loc["plain", "chain"]) == ["title", "main", "main", "main"]
    assert list(requests.loc["retry", "status"]) == ["failed", "ok", "failed", "ok"]
    assert list(requests.loc["retry", "attempt"])[:2] == [1, 2]
    assert requests.loc["tools", "input_total_tokens"].isna().all()
    assert set(requests.loc["tools", "reason"]) == {"no_usage"}
    assert list(recs.where(arm="tools").tools["status"]) == ["invalid", "error"]
    assert list(recs.where(arm="plain").turns["reason"].fillna("")) == ["", "no_visible_text"]


def test_the_gateways_stamps_come_before_the_agents(recs):
    both = recs.chunks.query("source == 'both'")
    assert len(both) > 20
    assert (both["emit_ns"] <= both["gateway_ns"]).all()
    assert (both["emit_ns"] < both["arrive_ns"]).all()
    assert (both["first_byte_ns"] <= both["arrive_ns"]).all()
    # the agent stamps whole ms, cut off
    assert (both["server_ns"] - both["emit_ns"] > -2_000_000).all()


def test_both_sides_report_the_same_tokens(recs):
    known = recs.requests.query("source == 'both' and tokens_source == 'gateway'")
    assert len(known) == 5
    assert (known["input_total_tokens"] == known["agent_input_total_tokens"]).all()
    assert (known["cache_read_tokens"] == known["agent_cache_read_tokens"]).all()
    assert (known["output_tokens"] == known["agent_output_tokens"]).all()
