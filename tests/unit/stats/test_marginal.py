"""What one more session costs: a line through whole blocks."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest

import agentlab as al
from agentlab.errors import ConfigError
from agentlab.metrics import ANON_TOTAL, MEM_INTERCEPT, MEM_PEAK, MEM_SLOPE, PSS_TOTAL
from agentlab.stats.metrics import Metric
from agentlab.testing.memory import SyntheticTool, write_memory_study
from agentlab.testing.recordings import SyntheticStudy

MIB = 2**20


class Memory:
    """Runs with a number of sessions, and what they held on their plateau, MiB."""

    def __init__(self) -> None:
        self.runs: list[dict[str, object]] = []
        self.rows: list[dict[str, object]] = []

    def run(self, arm, n, anon, *, file=80.0, block=None, index=None, eligible=True, swap=0.0, **fields):
        """Add one run; `anon` is a value or one of each sample."""
        index = sum(run["arm"] == arm for run in self.runs) if index is None else index
        keys = {
            "study": "s", "arm": arm, "run_id": f"{len(self.runs):04d}-{arm}", "run_index": index,
            "block": block, "eligible": eligible,
        }  # fmt: skip
        self.runs.append(keys | {"n_sessions": n, "version": "1"} | fields)
        values = anon if isinstance(anon, list) else [anon]
        for value in values:
            known = value is not None
            self.rows.append(
                keys
                | {"n_sessions": n, "settled": True, "lane": "slow", "swap_pss_bytes": round(swap * MIB)}
                | {"anon_bytes": round(value * MIB) if known else None, "file_bytes": round(file * MIB)}
                | {"total_bytes": round((value + file + swap) * MIB) if known else None}
            )
        self.rows.append(self.rows[-1] | {"settled": False, "anon_bytes": 1, "total_bytes": 1})
        return self

    @property
    def recs(self):
        return Recs(self.runs, self.rows)


class Recs:
    def __init__(self, runs, rows) -> None:
        self.runs = pd.DataFrame(runs).convert_dtypes()
        self._memory = pd.DataFrame(rows).convert_dtypes()

    def table(self, name):
        assert name == "memory"
        return self._memory


def swept(noise=(3.0, -2.0, 1.0, -4.0, 2.0), counts=(1, 4, 10), arm="a", slope=26.0) -> Memory:
    made = Memory()
    for block, shift in enumerate(noise):
        for n in counts:
            made.run(arm, n, 50 + slope * n + shift * (1 + n / 3), file=80 + shift / 10, block=block)
    return made


def row(frame, part="anon", arm="a"):
    (found,) = frame[(frame["part"] == part) & (frame["arm"] == arm)].to_dict("records")
    return found


def test_slope_and_intercept_are_the_means_of_the_blocks_own():
    recs = swept().recs
    found = row(al.marginal_fit(recs))
    x = np.array([1.0, 4, 10])
    lines = [np.polyfit(x, 50 + 26 * x + shift * (1 + x / 3), 1) for shift in (3, -2, 1, -4, 2)]
    slope, intercept = np.mean(lines, axis=0)
    assert found["slope_bytes"] / MIB == pytest.approx(slope)
    assert found["intercept_bytes"] / MIB == pytest.approx(intercept)
    assert (found["sessions"], found["n_runs"], found["n_blocks"], found["n_rows"]) == ("1,4,10", 15, 5, 15)
    assert (found["status"], found["flags"], found["n_discarded"]) == ("ok", "", 0)
    assert found["slope_lower_bytes"] < found["slope_bytes"] < found["slope_upper_bytes"]
    assert found["r2"] > 0.99


def test_the_metrics_of_compare_are_the_same_numbers_in_mib():
    recs = swept().recs
    estimates = al.compare(recs, MEM_SLOPE, MEM_INTERCEPT).set_index("metric")
    frame = al.marginal_fit(recs)
    anon, file = row(frame), row(frame, "file")
    for end, name in (("estimate", ""), ("lower", "_lower"), ("upper", "_upper")):
        assert estimates.loc["MEM_SLOPE", end] * MIB == pytest.approx(anon[f"slope{name}_bytes"])
        assert estimates.loc["MEM_INTERCEPT", end] * MIB == pytest.approx(file[f"intercept{name}_bytes"])
    assert set(estimates["unit"]) == {"MiB"}


def test_with_a_run_missing_the_other_runs_of_its_block_still_count():
    made = swept(noise=(3.0, -2.0, 1.0, -4.0))
    for n, eligible in ((1, True), (4, True), (10, False)):
        made.run("a", n, 50 + 30 * n if eligible else 9_999, block=4, eligible=eligible)
    found = row(al.marginal_fit(made.recs))
    assert (found["n_runs"], found["n_blocks"], found["n_discarded"]) == (14, 5, 1)
    x = np.array([1.0, 4, 10])
    sxx = ((x - 5) ** 2).sum()
    whole = [np.polyfit(x, 50 + 26 * x + s * (1 + x / 3), 1)[0] for s in (3, -2, 1, -4)]
    weights = np.array([sxx] * 4 + [((np.array([1.0, 4]) - 2.5) ** 2).sum()])
    assert found["slope_bytes"] / MIB == pytest.approx(np.average([*whole, 30.0], weights=weights))


def test_a_block_of_one_number_of_sessions_says_nothing():
    made = swept(noise=(3.0, -2.0, 1.0)).run("a", 4, 900, block=3)
    found = row(al.marginal_fit(made.recs))
    assert (found["n_runs"], found["n_blocks"]) == (9, 3)
    assert set(found["flags"].split(",")) == {"empty_runs", "few_blocks"}


def test_without_blocks_the_first_runs_of_each_number_stand_together():
    blocks, none = swept(), Memory()
    for n in (1, 4, 10):  # arm after arm, number after number
        for at, shift in enumerate((3.0, -2.0, 1.0, -4.0, 2.0)):
            index = at + 5 * (1, 4, 10).index(n)
            none.run("a", n, 50 + 26 * n + shift * (1 + n / 3), file=80 + shift / 10, index=index)
    one, two = row(al.marginal_fit(blocks.recs)), row(al.marginal_fit(none.recs))
    for name in ("slope_bytes", "slope_lower_bytes", "slope_upper_bytes", "intercept_bytes"):
        assert one[name] == two[name]
    assert two["n_blocks"] == 0


def test_the_order_of_runs_changes_nothing():
    made = swept()
    random.Random(3).shuffle(made.runs)
    random.Random(4).shuffle(made.rows)
    pd.testing.assert_frame_equal(al.marginal_fit(made.recs), al.marginal_fit(swept().recs))


@pytest.mark.parametrize(
    ("n", "status", "reason"), [(1, "too_few_runs", "one block"), (2, "too_few_runs", "two blocks")]
)
def test_one_or_two_blocks_give_a_line_without_interval(n, status, reason):
    found = row(al.marginal_fit(swept(noise=(3.0, -2.0)[:n]).recs))
    assert (found["status"], found["reason"]) == (status, reason)
    assert found["slope_bytes"] > 0
    assert pd.isna(found["slope_lower_bytes"]) and pd.isna(found["n_resamples"]) and pd.isna(found["seed"])


def test_one_number_of_sessions_gives_no_line():
    found = row(al.marginal_fit(swept(counts=(4,)).recs))
    assert found["status"] == "no_data"
    assert found["reason"] == "no block of arm 'a' has runs of two n_sessions: a line needs them"
    assert pd.isna(found["slope_bytes"]) and pd.isna(found["sessions"]) and pd.isna(found["r2"])


def test_equal_lines_give_no_interval():
    found = row(al.marginal_fit(swept(noise=(0.0,) * 4).recs))
    assert (found["status"], found["slope_bytes"]) == ("degenerate", 26 * MIB)
    assert "constant" in found["flags"]


def test_a_run_counts_by_the_median_of_its_settled_samples():
    made = Memory()
    for block in range(3):
        made.run("a", 1, [100.0, 100.0 + block, 900.0], block=block)
        made.run("a", 2, [120.0, None, 120.0], block=block)
    found = row(al.marginal_fit(made.recs))
    assert found["slope_bytes"] / MIB == pytest.approx(19)
    assert (found["n_rows"], found["n_missing"]) == (15, 3)


def test_a_run_without_a_known_value_is_left_out_and_counted():
    made = swept(noise=(3.0, -2.0, 1.0, 2.0)).run("a", 1, [None], block=4).run("a", 10, 310, block=4)
    found = row(al.marginal_fit(made.recs))
    assert (found["n_runs"], found["n_missing"]) == (12, 1)
    assert "empty_runs" in found["flags"]


def test_swap_is_said():
    made = Memory()
    for block, shift in enumerate((1.0, 2.0, 4.0)):
        for n in (1, 2):
            made.run("a", n, 100 * n + shift, block=block, swap=30.0 * (block == 1))
    frame = al.marginal_fit(made.recs)
    assert "swapped" in row(frame)["flags"]
    assert "swapped" not in row(frame, "total")["flags"]


def test_what_is_no_line_is_said():
    made = Memory()
    for block, shift in enumerate((1.0, 2.0, 4.0, 3.0)):
        for n in (1, 4, 10):
            made.run("a", n, 100 + 3 * n * n + shift * n / 10, block=block)
    assert "curved" in row(al.marginal_fit(made.recs))["flags"]
    assert "curved" not in row(al.marginal_fit(swept().recs))["flags"]


def test_runs_of_several_versions_are_refused():
    made = swept()
    made.runs[4]["version"] = "2"
    found = row(al.marginal_fit(made.recs))
    assert found["status"] == "mixed_setup"
    assert "differ in version" in found["reason"]


def test_levels_over_several_numbers_of_sessions_are_refused():
    made = swept()
    for metric in (PSS_TOTAL, ANON_TOTAL, MEM_PEAK):
        (found,) = al.compare(made.recs, metric).to_dict("records")
        assert found["status"] == "mixed_setup"
        assert "differ in n_sessions: " in found["reason"] and "where(n_sessions=...)" in found["reason"]
        assert pd.isna(found["estimate"]) and pd.isna(found["lower"]), (
            "a mean over sizes is a number of nothing"
        )
        assert ": 1 (5 runs), 4 (5 runs), 10 (5 runs);" in found["reason"]
    (found,) = al.compare(swept(counts=(4,)).recs, ANON_TOTAL).to_dict("records")
    assert (found["status"], found["n_runs"]) == ("ok", 5)
    assert found["estimate"] == pytest.approx(50 + 26 * 4)


def test_discarded_runs_of_another_number_do_not_mix():
    made = swept(counts=(4,)).run("a", 10, 310, block=0, eligible=False)
    (found,) = al.compare(made.recs, ANON_TOTAL).to_dict("records")
    assert (found["status"], found["n_discarded"]) == ("ok", 1)


def two_arms(drop=()) -> Memory:
    made = swept()
    for block, shift in enumerate((2.0, 1.0, -1.0, 3.0, -2.0)):
        for n in (1, 4, 10):
            made.run("b", n, 60 + 110 * n + shift * n, block=block, eligible=(block, n) not in drop)
    return made


def test_slopes_are_compared_within_blocks():
    estimates = al.compare(two_arms().recs, MEM_SLOPE, reference="a").set_index("kind")
    difference = estimates.loc["difference"]
    assert difference["paired"] and (difference["n_blocks"], difference["n_runs"]) == (5, 30)
    assert difference["lower"] < 84 < difference["upper"]
    assert estimates.loc["ratio", "status"] == "ok"
    assert estimates.loc["ratio", "lower"] < 110 / 26 < estimates.loc["ratio", "upper"]


def test_a_block_that_lost_a_run_leaves_the_difference_and_stays_in_the_level():
    estimates = al.compare(two_arms(drop={(1, 10)}).recs, MEM_SLOPE, reference="a")
    level = estimates[(estimates["kind"] == "level") & (estimates["arm"] == "b")].iloc[0]
    difference = estimates[estimates["kind"] == "difference"].iloc[0]
    assert (level["n_runs"], level["n_blocks"]) == (14, 5)
    assert (difference["n_blocks"], difference["n_blocks_dropped"], difference["n_runs"]) == (4, 1, 24)


def test_a_level_of_one_number_of_sessions_pairs_by_its_own_runs():
    made = two_arms(drop={(1, 10)})
    kept = [run for run in made.runs if run["n_sessions"] == 4]
    recs = Recs(kept, [r for r in made.rows if r["n_sessions"] == 4])
    difference = al.compare(recs, ANON_TOTAL, reference="a").set_index("kind").loc["difference"]
    assert difference["paired"] and (difference["n_blocks"], difference["n_blocks_dropped"]) == (5, 0)


def test_of_attempts_under_pressure_only_the_last_counts(tmp_path):
    study = SyntheticStudy(tmp_path / "s", arms=("a",))
    for block in range(3):
        for at, n in enumerate((1, 2)):
            for attempt in range(2 if (block, n) == (1, 2) else 1):
                pressed = (block, n, attempt) == (1, 2, 0)
                with study.run("a", run_index=2 * block + at, block=block, n_sessions=n) as run:
                    if pressed:
                        run.issue("memory_pressure", discard=True)
                    anon = (100 * n + block + 400 * pressed) * MIB
                    about = {"pid": 1, "start": 1, "root": True, "in_tree": True, "in_group": True}
                    run.emit_memory("memory.process", at_ms=5, **about)
                    rows = [[1, 1, anon, 0, anon, 0, 0, anon, 1, 1]]
                    run.emit_memory("memory.sample", at_ms=10, lane="slow", processes=rows)
                    run.emit_memory(
                        "memory.plateau", at_ms=20, reached=True, since=run.ns(9), until=run.ns(11)
                    )
    found = row(al.marginal_fit(al.load(study.path)))
    assert (found["n_runs"], found["n_blocks"], found["n_discarded"]) == (6, 3, 1)
    assert found["slope_bytes"] == 100 * MIB


def test_arms_have_rows_of_their_own_and_a_frame_knows_itself(tmp_path):
    arms = {"one": SyntheticTool(), "two": SyntheticTool(anon_mib=50, pressed_rate=0.3)}
    recs = al.load(write_memory_study(tmp_path / "s", arms=arms, sessions=(1, 3), runs=6, seed=2))
    frame = al.marginal_fit(recs, n_resamples=200, seed=5)
    assert frame.agentlab.validate() is frame
    assert frame.agentlab.table == "marginal"
    assert frame.agentlab.units["slope_bytes"] == "bytes"
    assert list(zip(frame["arm"], frame["part"], strict=True)) == [
        (arm, part) for arm in ("one", "two") for part in ("anon", "file", "total")
    ]
    assert row(frame, arm="two")["n_discarded"] > 0
    assert row(frame, arm="one")["slope_lower_bytes"] < 110 * MIB < row(frame, arm="one")["slope_upper_bytes"]
    assert set(frame["seed"]) == {5} and set(frame["n_resamples"]) == {200}


def test_unsettled_and_unreadable_runs_are_no_data(tmp_path):
    arms = {"grows": SyntheticTool(settles=False), "hidden": SyntheticTool(unreadable_rate=1.0)}
    recs = al.load(write_memory_study(tmp_path / "s", arms=arms, sessions=(1, 2), runs=3))
    frame = al.marginal_fit(recs)
    assert set(frame["status"]) == {"no_data"}
    assert row(frame, arm="grows")["reason"] == "table 'memory' has no row with settled=True for arm 'grows'"
    assert "no run of arm 'hidden' has a known value" in row(frame, arm="hidden")["reason"]


def test_a_study_without_memory_says_so():
    recs = al.load(al.example("cache"))
    assert set(al.marginal_fit(recs)["status"]) == {"no_data"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"level": 95}, "level is 95"),
        ({"n_resamples": 3}, "n_resamples is 3"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_a_slip_is_named(given, message):
    with pytest.raises(ConfigError, match=message):
        al.marginal_fit(swept().recs, **given)
    with pytest.raises(ConfigError, match=r"marginal_fit\(DataFrame\): give the Recordings"):
        al.marginal_fit(swept().recs.table("memory"), **{})


def test_a_line_needs_a_setting_and_a_scale_a_unit():
    common = {"name": "mine", "table": "memory", "column": "anon_bytes"}
    with pytest.raises(ConfigError, match="a marginal needs of"):
        Metric(**common, aggregate="marginal")
    with pytest.raises(ConfigError, match="scale is 0"):
        Metric(**common, aggregate="mean", scale=0)
    with pytest.raises(ConfigError, match="a share has no unit to scale"):
        Metric(**common, aggregate="share", scale=2.0)


def test_the_peak_of_a_run_with_an_unknown_sample_is_unknown():
    made = Memory()
    for block, top in enumerate((300.0, 320.0, 350.0)):
        made.run("a", 1, [100.0, top, 200.0], block=block)
    made.run("a", 1, [100.0, None], block=3)
    (found,) = al.compare(made.recs, MEM_PEAK).to_dict("records")
    assert found["estimate"] == pytest.approx((300 + 320 + 350) / 3 + 80)
    assert (found["n_runs"], found["flags"]) == (3, "empty_runs,few_runs")
