"""The benchmarks measure what they say, on tiny sizes; their goals are judged by running them."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import __main__ as entry  # noqa: E402
from benchmarks import _gateway_client, _sse_server, gateway, growth, imports, sse, stamps  # noqa: E402


def test_every_benchmark_is_listed_with_what_it_measures() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert {"gateway", "imports", "sse", "stamps"} <= set(lines)
    assert all(lines.values())


def test_an_unknown_benchmark_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.main(["nothing"]) == 2
    assert "no benchmark 'nothing'" in capsys.readouterr().err


def test_the_server_sends_events_of_the_stated_size() -> None:
    size, body, end = _sse_server.frame(7).partition(b"\r\n")[0], *_sse_server.frame(7).split(b"\r\n")[1:3]
    assert (int(size, 16), len(body), end) == (261, 261, b"")


def test_sse_compares_both_readers() -> None:
    ours, peer = sse.rows(n_events=300, repeats=1)
    assert (ours["reader"], ours["ratio"]) == ("agentlab", 1.0)
    assert peer["reader"] == "httpx-sse"
    assert peer["cpu_us_per_event"] > ours["cpu_us_per_event"] > 0


def test_imports_sees_modules_and_numpy() -> None:
    ours, numpy = imports.rows(names=("agentlab", "numpy"), repeats=1)
    assert (ours["modules"] <= imports.GOAL, ours["numpy"]) == (True, False)
    assert (numpy["modules"] > 50, numpy["numpy"]) == (True, True)


def test_stamps_measures_all_three_readers() -> None:
    found = stamps.rows(n_events=60, rate=200, repeats=1, n_items=100_000)
    assert [row["reader"] for row in found] == ["measuring kernel", "process", "thread of the notebook"]
    for row in found:
        assert 0 < row["p50_ms"] <= row["p95_ms"] <= row["p99_ms"] <= row["max_ms"]
    kernel, _, thread = found
    assert thread["p50_ms"] > kernel["p50_ms"]
    assert thread["ratio"] == pytest.approx(thread["p99_ms"] / kernel["p99_ms"])


def test_growth_uses_the_tables_it_built(monkeypatch: pytest.MonkeyPatch) -> None:
    from agentlab.frames import store

    read: list[str] = []
    original = store.read_run
    monkeypatch.setattr(store, "read_run", lambda path, **k: read.append(path.name) or original(path, **k))
    found = growth.study_rows(n_runs=4, repeats=2)
    assert len(read) == 8, "4 runs at first and 4 without tables, none in between"
    names = ["load", "runs", "card", "compare, 3 metrics", "timeline of one run"]
    assert [row["what"] for row in found] == [f"{name}, tables built anew" for name in names] + names
    assert all(row["ms"] > 0 and row["ratio"] > 0 for row in found)


def test_growth_draws_all_marks_and_their_empty_twins() -> None:
    found = growth.figure_rows(n=20_000, repeats=1)
    assert [row["n"] for row in found] == [0, 20_000, 0, 20_000]
    assert [row["ratio"] for row in found if row["n"] == 0] == [1.0, 1.0]
    texts = growth.plot_timeline(growth.Recording(growth.RunInfo(
        study="s", arm="a", run_id="0", run_index=0), growth._tables_of(20_000))).texts  # fmt: skip
    assert any("20,000 chunks" in text.get_text() for text in texts)


def test_the_gateways_client_sends_bodies_of_the_stated_size() -> None:
    for stream in (False, True):
        assert len(_gateway_client.body(stream=stream)) == _gateway_client.BODY_BYTES == 31_600


def test_gateway_measures_ours_beside_none() -> None:
    shapes = [gateway.Shape(answer, n, 2) for answer, n in (("whole", 1), ("stream", 2), ("paced", 1))]
    found = asyncio.run(gateway.measure(peers=(), shapes=shapes, repeats=2))
    table = gateway.rows(found)
    assert [(row["answer"], row["gateway"]) for row in table] == [
        (f"{shape.name}", name) for shape in shapes for name in ("no gateway", "agentlab")
    ]
    for shape in shapes:
        for name in ("no gateway", "agentlab"):
            assert [len(window.times) for window in found[name, shape]] == [2 * shape.clients] * 2
    for row in table:
        assert (row["cpu_ms"] > 0) == (row["gateway"] == "agentlab")
        assert 0 < row["first_p50"] <= row["p50_ms"] <= row["p99_ms"]
    paced = {row["gateway"]: row for row in table if row["answer"] == "paced x1"}
    assert all(row["p50_ms"] >= 990 for row in paced.values()), "100 chunks, 10 ms apart"
    assert paced["agentlab"]["added"] > 0


def test_gateway_judges_ratios_always_and_times_only_when_the_machine_is_quiet() -> None:
    def window(cpu_s: float, ms: float, others: float) -> gateway.Window:
        return gateway.Window(cpu_s, others, (_gateway_client.Times(ms / 1e3, ms / 1e3),))

    def held(added_ms: float, others: float, peer_s: float) -> list[bool | None]:
        found: gateway.Found = {}
        for shape in gateway.SHAPES:
            found[gateway.DIRECT, shape] = [window(0, 1, others)]
            found[gateway.OURS, shape] = [window(0.001, 1 + added_ms, others), window(0.001, 90, 0.9)]
            found["litellm", shape] = [window(peer_s, 50, others)]
        return [verdict for _, verdict in gateway.goals(gateway.rows(found))]

    assert held(0.4, 0.0, 0.026) == [True, True, True, True, True]
    assert held(0.6, 0.0, 0.024) == [False, False, False, True, True]
    assert held(0.6, 0.5, 0.026) == [True, True, None, None, None]
