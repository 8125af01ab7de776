"""The frame, and every case in which an interval is withheld, bounded or flagged."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from agentlab.errors import ConfigError, UnstableWarning
from agentlab.stats.compare import compare
from agentlab.stats.estimates import COLUMNS
from agentlab.stats.metrics import CACHE_HIT_RATE, REQUESTS, TTFT, ZERO_CACHE_RATE, Metric

RNG = np.random.default_rng(1)
MEAN = Metric(name="mean", table="turns", column="latency_ms", aggregate="mean")
MEDIAN = Metric(name="median", table="turns", column="latency_ms", aggregate="median")
P95 = Metric(name="p95", table="turns", column="latency_ms", aggregate="quantile", p=0.95)
OK = Metric(name="ok", table="turns", column="ok", aggregate="share")
SUM = Metric(name="sum", table="turns", column="latency_ms", aggregate="sum")
COUNT = Metric(name="count", table="turns", aggregate="count")
SLOPE = Metric(name="slope", table="turns", column="x", of="t", aggregate="slope")

NAMED = ["auto", "percentile", "bca", "basic", "studentized"]


def lognormal(n: int, rows: int = 4) -> list[list[float]]:
    return [list(RNG.lognormal(1, 1, rows)) for _ in range(n)]


def only(frame: pd.DataFrame, kind: str = "level", arm: str | None = None) -> pd.Series:
    rows = frame[(frame["kind"] == kind) & ((frame["arm"] == arm) if arm else True)]
    assert len(rows) == 1
    return rows.iloc[0]


def no_interval(row: pd.Series) -> bool:
    return row[["lower", "upper", "interval", "n_resamples", "seed"]].isna().all()


# --- the frame


def test_columns_dtypes_and_order_of_rows(values):
    frame = compare(values({"a": lognormal(6), "b": lognormal(6), "c": lognormal(6)}), MEAN, MEDIAN)
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == COLUMNS
    assert list(frame) == list(COLUMNS)
    keys = list(zip(frame["metric"], frame["kind"], frame["arm"], strict=True))
    assert keys[:7] == [
        ("mean", "level", "a"),
        ("mean", "level", "b"),
        ("mean", "level", "c"),
        ("mean", "difference", "b"),
        ("mean", "ratio", "b"),
        ("mean", "difference", "c"),
        ("mean", "ratio", "c"),
    ]
    assert frame["reference"].dropna().unique().tolist() == ["a"]
    assert frame["paired"][3:7].all()
    assert frame["paired"][:3].isna().all()


def test_one_arm_has_levels_only(values):
    frame = compare(values({"a": lognormal(6)}), MEAN, reference="a")
    assert frame["kind"].tolist() == ["level"]


def test_difference_is_arm_minus_reference(values):
    frame = compare(values({"a": [[2.0]] * 3 + [[3.0]], "b": [[7.0]] * 3 + [[8.5]]}), MEAN, reference="b")
    assert only(frame, "difference")["estimate"] == pytest.approx(2.25 - 7.375)
    assert only(frame, "ratio")["estimate"] == pytest.approx(2.25 / 7.375)


def test_coverage_stands_beside_every_number(values):
    arms = {"a": [[1.0, None], [2.0], [3.0, 4.0], [2.0], [9.0]], "b": [[1.0], [5.0], [None], [2.5], [8.0]]}
    frame = compare(values(arms, discarded=[("a", 4)]), MEAN, paired=True)
    level = only(frame, arm="a")
    counts = ["n_runs", "n_blocks", "n_blocks_dropped", "n_discarded", "n_missing", "n_rows"]
    assert level[counts].tolist() == [4, 4, 0, 1, 1, 5]
    assert only(frame, arm="b")[counts].tolist() == [4, 4, 0, 0, 1, 4]
    # block 4 holds a discarded run of a, block 2 a run of b without a value
    assert only(frame, "difference")[counts].tolist() == [6, 3, 2, 1, 2, 6]
    assert frame[counts].notna().all(axis=None)


def test_warm_up_rows_are_left_out(recs):
    rows = [[{"warmup": True, "latency_ms": 1e9}, {"latency_ms": x}] for x in (1.0, 2.0, 3.0)]
    row = only(compare(recs({"a": rows}), MEAN))
    assert (row["estimate"], row["n_rows"], row["n_missing"]) == (2, 3, 0)


def test_same_seed_same_frame_whatever_the_order_of_rows(values):
    recs = values({"a": lognormal(8), "b": lognormal(8)})
    frame = compare(recs, MEAN, MEDIAN, seed=3)
    recs.runs = pd.concat([recs.runs[:1], recs.runs[1:].sample(frac=1, random_state=2)])
    turns = recs.table("turns").sample(frac=1, random_state=1)
    recs._tables = {"turns": turns}
    shuffled = compare(recs, MEAN, MEDIAN, seed=3)
    pd.testing.assert_frame_equal(frame, shuffled, rtol=1e-12)
    assert not frame["lower"].equals(compare(recs, MEAN, MEDIAN, seed=4)["lower"])


def test_arms_of_several_studies_pair_only_inside_a_study(recs):
    def study(name: str, shift: float) -> object:
        rows = {
            arm: [[{"latency_ms": shift + 10 * k + d * k}] for k in range(3)]
            for arm, d in (("a", 0), ("b", 1))
        }
        return recs(rows, study=name)

    one, two = study("one", 0.0), study("two", 500.0)
    joined = type(one)(
        pd.concat([one.runs, two.runs]), {"turns": pd.concat([one.table("turns"), two.table("turns")])}
    )
    row = only(compare(joined, MEDIAN, interval="percentile"), "difference")
    assert (row["n_blocks"], row["n_runs"]) == (6, 12)
    assert only(compare(joined, MEAN), arm="a")["estimate"] == pytest.approx(260)


# --- arguments


@pytest.mark.parametrize(
    ("metrics", "options", "message"),
    [
        ([], {}, "at least one metric; there are .*TTFT"),
        (["TTTF"], {}, "no metric 'TTTF'; there are .*TTFT"),
        ([3], {}, "3 is no metric"),
        ([(MEAN, MEDIAN)], {}, "unpack it"),
        ([MEAN], {"reference": "c"}, "no arm 'c' to compare with; there are a, b"),
        ([MEAN], {"interval": "bayes"}, "use one of auto, percentile"),
        ([MEAN], {"paired": "yes"}, "paired is 'yes'"),
        ([MEAN], {"level": 95}, "level is 95"),
        ([MEAN], {"level": "95"}, "level is '95'"),
        ([MEAN], {"n_resamples": 10}, "n_resamples is 10"),
        ([MEAN], {"n_resamples": 1e3}, "n_resamples is 1000.0"),
        ([MEAN], {"seed": -1}, "seed is -1"),
        (
            [Metric(name="m", table="turns", column="latency", aggregate="mean")],
            {},
            "has no column 'latency'; it has ",
        ),
        (
            [Metric(name="m", table="turns", column="status", aggregate="mean")],
            {},
            "status is string, not numbers",
        ),
        ([Metric(name="m", table="turns", column="status", aggregate="share")], {}, "not true or false"),
        ([Metric(name="m", table="turns", aggregate="count", where={"turn": 1})], {}, "no column 'turn'"),
    ],
)
def test_wrong_arguments_say_what_exists(recs, metrics, options, message):
    rows = [[{"latency_ms": 1.0, "status": "completed"}]] * 3
    with pytest.raises(ConfigError, match=message):
        compare(recs({"a": rows, "b": rows}), *metrics, **options)


# --- nothing, one run, two runs


@pytest.mark.parametrize("interval", [*NAMED, "original"])
def test_no_runs_at_all(recs, interval):
    frame = compare(recs({}), MEAN, MEDIAN, interval=interval, reference="a")
    assert frame["status"].tolist() == ["no_data", "no_data"]
    assert frame["reason"].tolist() == ["no runs", "no runs"]
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == COLUMNS


@pytest.mark.parametrize("metric", [MEAN, MEDIAN, OK, COUNT, SUM, SLOPE, P95])
@pytest.mark.parametrize("interval", [*NAMED, "original"])
def test_all_discarded_all_unknown_or_never_measured(recs, interval, metric):
    rows = [[{"latency_ms": 1.0, "ok": True, "x": 1.0, "t": float(k)} for k in range(3)]] * 5
    unknown = [[{"latency_ms": None, "ok": None}] * k for k in (1, 2, 2, 2, 3)]
    frame = compare(
        recs(
            {"gone": rows, "unknown": unknown, "empty": [[]] * 5}, discarded=[("gone", k) for k in range(5)]
        ),
        metric,
        interval=interval,
    )
    levels = frame[frame["kind"] == "level"].set_index("arm")
    assert levels["status"]["gone"] == levels["status"]["empty"] == "no_data"
    assert "5 discarded" in levels["reason"]["gone"]
    assert "not measured" in levels["reason"]["empty"]
    if metric is not COUNT:
        assert levels["status"]["unknown"] == "no_data"
        assert "10 unknown" in levels["reason"]["unknown"]
        assert set(frame["status"]) == {"no_data"}
        assert frame[["estimate", "lower", "upper"]].isna().all(axis=None)


@pytest.mark.parametrize("metric", [MEAN, MEDIAN, COUNT])
@pytest.mark.parametrize("interval", NAMED)
@pytest.mark.parametrize(("n", "reason"), [(1, "one run"), (2, "two runs")])
def test_one_or_two_runs_give_an_estimate_without_interval(values, n, reason, interval, metric):
    frame = compare(values({"a": lognormal(n), "b": lognormal(n, rows=3)}), metric, interval=interval)
    assert set(frame["status"]) == {"too_few_runs"}
    assert set(frame["reason"]) == {reason}
    assert frame["estimate"].notna().all()
    assert all(no_interval(row) for _, row in frame.iterrows())


def test_three_and_four_runs_are_flagged(values):
    for n in (3, 4, 5):
        row = only(compare(values({"a": lognormal(n)}), MEAN))
        assert row["status"] == "ok"
        assert ("few_runs" in row["flags"]) == (n < 5)


# --- equal runs


@pytest.mark.parametrize("interval", NAMED)
@pytest.mark.parametrize("value", [1.0, 0.1, 35 / 10_000, 0.0])
def test_equal_runs_give_no_interval_and_one_warning(values, value, interval):
    recs = values({"a": [[value] * 3] * 10, "b": [[value] * 3] * 10})
    with pytest.warns(UnstableWarning, match="all runs are equal") as caught:
        frame = compare(recs, MEAN, MEDIAN, interval=interval)
    assert len(caught) == 1
    levels = frame[frame["kind"] != "ratio"]
    assert set(levels["status"]) == {"degenerate"}
    assert set(levels["flags"]) == {"constant"}
    assert levels["estimate"].tolist() == pytest.approx([value, value, 0] * 2)
    assert all(no_interval(row) for _, row in levels.iterrows())


def test_a_constant_shift_in_every_block_gives_no_interval(values):
    a = lognormal(6)
    recs = values({"a": a, "b": [[x + 2 for x in run] for run in a]})
    with pytest.warns(UnstableWarning):
        row = only(compare(recs, MEAN), "difference")
    assert row["status"] == "degenerate"
    assert row["estimate"] == pytest.approx(2)


def test_one_constant_arm_still_has_a_difference(values):
    with pytest.warns(UnstableWarning):
        frame = compare(values({"a": [[1.0]] * 8, "b": lognormal(8)}), MEAN)
    assert only(frame, arm="a")["status"] == "degenerate"
    assert only(frame, "difference")["status"] == "ok"


@pytest.mark.parametrize(("hit", "flag"), [(False, "all_zero"), (True, "all_one")])
@pytest.mark.parametrize(("n", "bound"), [(5, 0.5218), (10, 0.3085), (20, 0.1684), (50, 0.0711)])
def test_a_share_of_nothing_or_all_gets_the_exact_bound(recs, n, bound, hit, flag):
    row = only(compare(recs({"a": [[{"ok": hit}] * 7] * n}), OK))
    assert (row["status"], row["flags"], row["interval"]) == ("ok", flag, "exact")
    ends = (1 - bound, 1.0) if hit else (0.0, bound)
    assert (row["lower"], row["upper"]) == pytest.approx(ends, abs=1e-4)
    assert row["upper" if not hit else "lower"] == pytest.approx(
        1 - 0.025 ** (1 / n) if not hit else 0.025 ** (1 / n)
    )


@pytest.mark.parametrize("paired", [True, False])
def test_differences_from_an_arm_without_hits_use_its_bound(recs, paired):
    some = [[{"ok": k % 3 == 0}, {"ok": k % 2 == 0}] for k in range(10)]
    frame = compare(recs({"none": [[{"ok": False}] * 2] * 10, "some": some}), OK, paired=paired)
    row = only(frame, "difference")
    assert (row["status"], row["interval"], row["flags"]) == ("ok", "mover", "all_zero")
    assert -1 <= row["lower"] < row["estimate"] < row["upper"] <= 1
    both = only(compare(recs({"a": [[{"ok": False}]] * 10, "b": [[{"ok": False}]] * 10}), OK), "difference")
    bound = 1 - 0.025**0.1
    assert (both["lower"], both["upper"]) == pytest.approx((-bound, bound))


# --- doubts


def test_few_events(recs):
    rows = [[{"ok": k < 2 and j == 0} for j in range(5)] for k in range(10)]
    assert only(compare(recs({"a": rows}), OK))["flags"] == "few_events"


def test_a_run_that_dominates(values):
    sizes = [500, 3, 4, 5, 3, 4, 5, 6]
    row = only(compare(values({"a": [list(RNG.lognormal(size=m)) for m in sizes]}), MEAN))
    assert "dominated" in row["flags"]
    per_run = Metric(name="m", table="turns", column="latency_ms", aggregate="mean", per_run=True)
    assert only(compare(values({"a": [list(RNG.lognormal(size=m)) for m in sizes]}), per_run))["flags"] == ""


@pytest.mark.parametrize(
    ("n", "rows", "tail"), [(10, 9, True), (9, 20, True), (10, 10, False), (20, 5, False)]
)
def test_tail_quantiles(values, n, rows, tail):
    row = only(compare(values({"a": lognormal(n, rows)}), P95, interval="percentile"))
    assert ("tail" in row["flags"]) == tail


def test_other_levels_are_flagged_as_untested(values):
    recs = values({"a": lognormal(9), "b": lognormal(9)})
    frame = compare(recs, MEAN, level=0.8)
    assert all("level_untested" in flags for flags in frame[frame["lower"].notna()]["flags"])
    wide, narrow = (only(compare(recs, MEAN, level=level), arm="a") for level in (0.99, 0.8))
    assert wide["lower"] < narrow["lower"] < narrow["upper"] < wide["upper"]


def test_runs_of_several_versions_are_not_one_arm(values):
    versions = {"a": ["1.18.33"] * 5 + ["1.19.0"], "b": ["1.18.33"] * 5 + [None]}
    frame = compare(values({"a": lognormal(6), "b": lognormal(6)}, version=versions), MEAN)
    row = only(frame, arm="a")
    assert (row["status"], no_interval(row)) == ("mixed_setup", True)
    assert "version: 1.18.33 (5 runs), 1.19.0 (1 runs)" in row["reason"]
    assert row["estimate"] > 0
    assert only(frame, arm="b")["status"] == "ok"
    assert only(frame, "difference")["status"] == "mixed_setup"


def test_arms_may_differ_in_model(values):
    models = {"a": ["p/small"] * 6, "b": ["p/large"] * 6}
    frame = compare(values({"a": lognormal(6), "b": lognormal(6)}, model=models), MEAN)
    assert set(frame[frame["kind"] != "ratio"]["status"]) == {"ok"}


# --- unknown and impossible values


@pytest.mark.parametrize("interval", NAMED)
def test_unknown_values_are_dropped_and_counted(values, interval):
    arms = {"a": [[1.0, None], [np.nan, 4.0], [None], [2.0, 3.0], [5.0], [1.5]]}
    row = only(compare(values(arms), MEAN, interval=interval))
    assert row["estimate"] == pytest.approx(16.5 / 6)
    assert (row["n_missing"], row["n_rows"], row["n_runs"]) == (3, 6, 5)
    assert (row["status"], row["flags"]) == ("ok", "empty_runs")
    assert "1 run without a known value left out" in row["reason"]


def test_infinite_values_are_refused_in_sums_and_kept_in_quantiles(values):
    recs = values({"a": [[1.0, np.inf], [2.0], [3.0], [4.0], [2.5]], "b": lognormal(5)})
    frame = compare(recs, MEAN, MEDIAN)
    mean, median = (only(frame[frame["metric"] == name], arm="a") for name in ("mean", "median"))
    assert (mean["status"], pd.isna(mean["estimate"])) == ("invalid", True)
    assert "1 runs have a row with latency_ms infinite, e.g. run a-0000" in mean["reason"]
    assert (median["status"], median["estimate"], median["n_rows"]) == ("ok", 2.75, 6)
    assert only(frame[frame["metric"] == "mean"], "difference")["status"] == "invalid"
    assert only(frame[frame["metric"] == "mean"], arm="b")["status"] == "ok"


@pytest.mark.parametrize("interval", NAMED)
def test_infinite_quantiles_raise_nothing(values, interval):
    """A deadline recorded as infinite: half of the rows never ended."""
    rng = np.random.default_rng(2)
    arms = {
        arm: [[np.inf if rng.random() < 0.5 else rng.random() for _ in range(6)] for _ in range(8)]
        for arm in "ab"
    }
    frame = compare(values(arms), MEDIAN, P95, interval=interval)
    closed = frame[~frame["flags"].str.contains("open")]
    assert np.isfinite(closed[["lower", "upper"]].dropna().to_numpy(dtype=float)).all()
    assert (len(closed) < len(frame)) == (interval == "auto")  # score inversion returns observed values
    assert frame[frame["lower"].isna()]["reason"].notna().all()


@pytest.mark.parametrize("interval", NAMED)
def test_more_cached_than_input_is_an_error_row_not_a_clamp(recs, interval):
    rows = [[{"cache_read_tokens": 80 + k, "input_total_tokens": 100}] for k in range(6)]
    rows[3][0]["cache_read_tokens"] = 120
    row = only(compare(recs({"a": rows}, table="requests"), CACHE_HIT_RATE, interval=interval))
    assert (row["status"], pd.isna(row["estimate"]), no_interval(row)) == ("invalid", True, True)
    assert "cache_read_tokens above input_total_tokens" in row["reason"]
    assert "a-0003" in row["reason"]


def test_a_provider_that_reports_no_cache_is_unknown_not_a_miss(recs):
    silent = [[{"cache_read_tokens": None, "input_total_tokens": 100}] * 2] * 6
    told = [[{"cache_read_tokens": 0}] + [{"cache_read_tokens": k}] * k for k in (0, 1, 1, 1, 1, 2)]
    frame = compare(recs({"silent": silent, "told": told}, table="requests"), ZERO_CACHE_RATE)
    row = only(frame, arm="silent")
    assert (row["status"], pd.isna(row["estimate"]), row["n_missing"]) == ("no_data", True, 12)
    assert only(frame, arm="told")["estimate"] == 0.5
    assert only(frame, arm="told")["interval"] == "wilson"


def test_nearest_rank_and_linear_are_both_there(values):
    nearest = Metric(
        name="n", table="turns", column="latency_ms", aggregate="median", quantile_method="nearest_rank"
    )
    frame = compare(values({"a": [[10.0, 20.0]]}), MEDIAN, nearest)
    assert frame["estimate"].tolist() == [15, 10]


# --- counts, sums, slopes, per run


def test_a_run_without_rows_counts_as_zero_in_counts_only(values):
    recs = values({"a": [[1.0, 2.0], [], [3.0], [4.0, 5.0, 6.0]]})
    frame = compare(recs, COUNT, SUM, MEAN)
    assert frame["estimate"].tolist() == [1.5, 21 / 4, 3.5]
    assert frame["n_runs"].tolist() == [4, 4, 3]
    assert frame["flags"].tolist() == ["few_runs", "few_runs", "empty_runs,few_runs"]


def test_a_sum_with_an_unknown_part_is_unknown(values):
    row = only(compare(values({"a": [[1.0, None], [2.0], [3.0], [4.0, 1.0]]}), SUM))
    assert (row["estimate"], row["n_runs"], row["n_missing"]) == (10 / 3, 3, 1)
    assert "empty_runs" in row["flags"]


def test_slopes_are_within_runs(recs):
    def run(level: float, slope: float) -> list[dict[str, float]]:
        return [{"t": t, "x": level + slope * t} for t in (0.0, 1.0, 2.0, 5.0)]

    rows = [run(100 * k, 2 + 0.1 * k) for k in range(6)] + [[{"t": 3.0, "x": 9.0}]]
    row = only(compare(recs({"a": rows}), SLOPE))
    assert row["estimate"] == pytest.approx(2.25)
    assert row["interval"] == "t, percentile"
    assert (row["n_runs"], row["flags"]) == (6, "empty_runs")


def test_per_run_weighs_every_run_alike(values):
    recs = values({"a": [[1.0] * 50, [2.0], [3.0, 5.0], [4.0] * 3]})
    for aggregate in ("mean", "median"):
        metric = Metric(name="m", table="turns", column="latency_ms", aggregate=aggregate, per_run=True)
        assert only(compare(recs, metric))["estimate"] == (1 + 2 + 4 + 4) / 4


def test_not_a_number_is_no_answer_of_a_share(recs):
    rows = [
        [{"x": x} for x in (0.0, 1.0, np.nan, None)],
        [{"x": 0.0}],
        [{"x": 1.0}],
        [{"x": 0.0}, {"x": 0.0}],
    ]
    metric = Metric(name="m", table="turns", column="x", aggregate="share", equals=0)
    row = only(compare(recs({"a": rows}), metric))
    assert (row["estimate"], row["n_rows"], row["n_missing"]) == (4 / 6, 6, 2)


def test_where_selects_rows(recs):
    rows = [[{"status": "completed", "x": 1.0 + k}, {"status": "error", "x": 99.0}] for k in range(4)]
    metric = Metric(name="m", table="turns", column="x", aggregate="mean", where={"status": "completed"})
    row = only(compare(recs({"a": rows}), metric))
    assert (row["estimate"], row["n_rows"]) == (2.5, 4)


def test_answers_outside_among_are_unknown(recs):
    rows = [[{"status": s} for s in ("completed", "error", "running")]] * 5
    metric = Metric(
        name="m",
        table="turns",
        column="status",
        aggregate="share",
        equals="error",
        among=("completed", "error"),
    )
    with pytest.warns(UnstableWarning):
        row = only(compare(recs({"a": rows}), metric))
    assert (row["estimate"], row["n_rows"], row["n_missing"]) == (0.5, 10, 5)


# --- pairing


def test_pairs_take_the_differences_between_subjects_out(values):
    """12 pairs, standard deviation between them 10, difference 1, noise 0.5 a measurement."""
    rng = np.random.default_rng(95)
    subject = rng.normal(100, 10, 12)
    a, b = (list(subject + d + rng.normal(0, 0.5, 12)) for d in (0, 1))
    recs = values({"a": [[x] for x in a], "b": [[x] for x in b]})
    for interval in NAMED:
        paired, apart = (
            only(compare(recs, MEAN, interval=interval, paired=p), "difference") for p in (True, False)
        )
        assert paired["estimate"] == apart["estimate"] == pytest.approx(np.mean(b) - np.mean(a))
        ratio = (apart["upper"] - apart["lower"]) / (paired["upper"] - paired["lower"])
        assert 12 < ratio < 30
        assert paired["lower"] < 1 < paired["upper"]


def test_whole_runs_are_resampled_not_rows(values):
    """Ten runs of a hundred equal rows say as much as ten rows."""
    x = list(RNG.lognormal(size=10))
    for interval in NAMED:
        many, one = (
            only(compare(values({"a": [[v] * m for v in x]}), MEAN, interval=interval)) for m in (100, 1)
        )
        assert (many["lower"], many["upper"]) == pytest.approx((one["lower"], one["upper"]))


def test_a_block_with_a_discarded_run_leaves_the_difference_but_not_the_level(values):
    a, b = lognormal(8), lognormal(8)
    frame = compare(values({"a": a, "b": b}, discarded=[("a", 2)]), MEAN)
    row = only(frame, "difference")
    assert (row["paired"], row["n_blocks"], row["n_blocks_dropped"], row["n_runs"]) == (True, 7, 1, 14)
    kept = [k for k in range(8) if k != 2]
    assert row["estimate"] == pytest.approx(np.mean([b[k] for k in kept]) - np.mean([a[k] for k in kept]))
    assert only(frame, arm="b")["n_runs"] == 8


def test_a_run_done_again_after_a_cancel_spoils_no_block(values):
    recs = values({"a": lognormal(5), "b": lognormal(5)})
    cut_short = recs.runs[recs.runs["run_id"] == "a-0003"].assign(run_id="a-0003-cut", eligible=False)
    recs.runs = pd.concat([recs.runs, cut_short])
    row = only(compare(recs, MEAN), "difference")
    assert (row["n_blocks"], row["n_blocks_dropped"], row["n_discarded"]) == (5, 0, 1)


def test_auto_pairs_only_in_blocks(values):
    arms = {"a": lognormal(6), "b": lognormal(6)}
    loose = compare(values(arms, blocks=False), MEAN)
    assert not only(loose, "difference")["paired"]
    assert only(loose, "difference")["n_blocks"] == only(loose, arm="a")["n_blocks"] == 0
    discarded = [("a", 0), ("a", 1), ("b", 4), ("b", 5)]
    assert not only(compare(values(arms, discarded=discarded), MEAN), "difference")["paired"]
    forced = only(compare(values(arms, blocks=False), MEAN, paired=True), "difference")
    assert (forced["status"], forced["n_runs"]) == ("no_data", 0)
    assert "share no complete block" in forced["reason"]


# --- what has no method


def test_ratios_need_levels_above_zero(values):
    frame = compare(values({"a": [[-1.0], [-2.0], [-4.0]], "b": lognormal(3)}), MEAN, interval="percentile")
    row = only(frame, "ratio")
    assert (row["status"], no_interval(row), pd.isna(row["estimate"])) == ("unsupported", True, True)


def test_a_quantile_has_no_studentized_interval(values):
    frame = compare(values({"a": lognormal(9), "b": lognormal(9)}), MEDIAN, interval="studentized")
    assert set(frame["status"]) == {"unsupported"}
    assert frame["estimate"].notna().all()
    assert frame["reason"].notna().all()


def test_a_bootstrap_t_without_finite_ends_is_refused(values):
    frame = compare(values({"a": lognormal(3, rows=1)}), MEAN, interval="studentized")
    row = only(frame)
    assert (row["status"], no_interval(row)) == ("degenerate", True)
    assert "no finite end" in row["reason"]


def test_named_metrics_read_their_tables(recs):
    rows = [[{"ttft_ms": float(k + j), "warmup": j == 0} for j in range(3)] for k in range(5)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row = only(compare(recs({"a": rows}), TTFT))
    assert row["estimate"] == 3.5
    assert row["interval"] == "score"
    rows = [[*[{"counted": True}] * (k + 2), {"counted": False}] for k in range(5)]
    requests = recs({"a": rows}, table="requests")
    assert only(compare(requests, REQUESTS))["estimate"] == 4
