"""The memory of settled real agents is what an independent reader finds in the same processes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import agentlab as al

PSS, SWAP, ANON, THREADS = 2, 3, 4, 8


def lines(study: Path) -> list[dict]:
    """Return what the sampler of the study's only run has written so far."""
    found = list(study.glob("runs/*/memory.jsonl"))
    whole = [line for line in found[0].read_text().split("\n")[:-1]] if found else []
    return [json.loads(line) for line in whole]


def last_slow(study: Path) -> dict:
    return [r for r in lines(study) if r["kind"] == "memory.sample" and r["lane"] == "slow"][-1]


def total(sample: dict) -> int:
    return sum(row[PSS] + row[SWAP] for row in sample["processes"])


def literal(pids: list[int]) -> tuple[int, int]:
    """Add up single mappings, of another file and in another way than the sampler's: total and threads."""
    size = threads = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
            if line.startswith(("Pss:", "SwapPss:")):
                size += int(line.split()[1]) * 1024
        threads += len(list(Path(f"/proc/{pid}/task").iterdir()))
    return size, threads


def wait(true, what: str, seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.02)


@pytest.mark.parametrize(("agent", "n_processes", "escaped"), [("pi", 1, 0), ("codex", 2, 2)])
def test_a_settled_agent(agent, n_processes, escaped, real_agents, tmp_path, capsys):
    to = tmp_path / "study"
    scenario = al.Scenario("truth", timeouts=al.Timeouts(start=90))
    driver = al.Terminal(agent, hold_s=60)
    running = al.record(scenario, driver, runs=1, to=to, host="inline", quiet=None, progress="none")
    try:
        wait(lambda: any(r.get("phase") == "hold" for r in lines(to)), "settled")
        for _ in range(20):  # both samples around ours must agree, or something happened between them
            before = last_slow(to)
            pids = [row[0] for row in before["processes"]]
            size, threads = literal(pids)
            wait(lambda seen=before: last_slow(to)["t"] > seen["t"], "next sample")
            after = last_slow(to)
            if abs(total(after) - total(before)) < 0.003 * total(before):
                break
        else:
            raise AssertionError("memory did not keep still")
    finally:
        running.cancel()
        recs = running.result(timeout=60)
    assert abs(size - total(after)) < 0.01 * size, (size, total(before), total(after))
    assert threads == pytest.approx(sum(row[THREADS] for row in after["processes"]), abs=2)
    told = {r["pid"]: r for r in lines(to) if r["kind"] == "memory.process" and r["pid"] in pids}
    assert len(pids) == n_processes + escaped
    assert sum(not r["in_group"] for r in told.values()) == escaped
    kind = lines(to)[0]["cgroup"]
    with capsys.disabled():
        print(f"\n{agent}: {size / 2**20:.1f} MiB, control group: {kind}")
    if isinstance(kind, int):
        anon = sum(row[ANON] for row in after["processes"])
        group = after["cgroup"]
        assert group["complete"] and group["n"] == len(pids)
        assert abs(group["anon"] - group["watchdog_anon"] - anon) < 0.01 * anon
    cost = json.loads(next(to.glob("runs/*/run.json")).read_text())["memory"]
    assert 0 < cost["duty"] <= 0.05 + cost["slow_max_ms"] / 1e3 / cost["wall_s"]
    assert "reason" not in cost and "cgroup_left" not in cost
    assert len(recs) == 1
