"""Against a baseline: another study as one more arm, and what is said of the differences."""

import pandas as pd
import pytest

import agentlab as al
from agentlab.errors import ConfigError
from agentlab.testing.estimates import estimates_frame
from agentlab.testing.recordings import SyntheticArm, write_study


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """Two studies of one name; the second is slower."""
    folder = tmp_path_factory.mktemp("baseline")
    made = [
        write_study(folder / at / "s", arms={"agent": SyntheticArm(ttft_ms=ms)}, runs=6, seed=seed)
        for at, ms, seed in (("then", 300.0, 1), ("now", 900.0, 2))
    ]
    return [al.load(path) for path in made]


def test_runs_of_two_studies_are_never_paired_nor_mixed_up(studies) -> None:
    then, now = studies
    found = al.compare(now, "TTFT", "CACHE_HIT_RATE", baseline=then)
    assert list(found["arm"].unique()) == ["agent", "baseline"]
    (difference,) = found[(found["metric"] == "TTFT") & (found["kind"] == "difference")].to_dict("records")
    assert (difference["arm"], difference["reference"], bool(difference["paired"])) == (
        "agent",
        "baseline",
        False,
    )
    assert difference["estimate"] > 200 and difference["n_runs"] == 12
    alone = al.compare(then, "TTFT")
    level = found[(found["metric"] == "TTFT") & (found["arm"] == "baseline") & (found["kind"] == "level")]
    assert level["estimate"].iloc[0] == alone["estimate"].iloc[0]
    assert [study.get("baseline") for study in found.attrs["agentlab"]["studies"]] == [None, True]


def test_better_or_worse_only_beyond_the_noise(studies) -> None:
    then, now = studies
    worse = al.verdicts(al.compare(now, "TTFT", baseline=then)).iloc[0]
    assert (worse["verdict"], worse["original_mark"]) == ("worse", "WORSE")
    assert worse["now"] - worse["before"] == pytest.approx(worse["original_change"], abs=0.006)
    better = al.verdicts(al.compare(then, "TTFT", baseline=now)).iloc[0]
    assert (better["verdict"], better["original_mark"]) == ("improved", "improved")
    same = al.verdicts(al.compare(then[3:], "TTFT", baseline=then[:3])).iloc[0]
    assert same["verdict"] == "no difference seen" and same["original_mark"] in ("WORSE", "improved")


def test_one_run_against_one_run_says_nothing(studies) -> None:
    then, now = studies
    row = al.verdicts(al.compare(now[:1], "TTFT", baseline=then[:1])).iloc[0]
    assert row["verdict"] == "unknown" and "run" in row["reason"]
    assert row["original_mark"] == "WORSE"  # which is what the original said of any change


def test_a_metric_without_a_better_side_differs_and_no_change_has_no_mark() -> None:
    frame = estimates_frame(overrides=[({}, {"better": None})])
    row = al.verdicts(frame).iloc[0]
    assert row["verdict"] == "differs" and pd.isna(row["original_mark"])
    level = {"estimate": 412.004}
    same = al.verdicts(estimates_frame(overrides=[({"kind": "level", "arm": "volatile"}, level)])).iloc[0]
    assert same["original_change"] == 0.0 and pd.isna(same["original_mark"])


def test_a_baseline_is_of_one_arm_and_has_a_name_of_its_own(studies) -> None:
    then, now = studies
    example = al.load(al.example("cache"))
    with pytest.raises(ConfigError, match=r"has (stable, volatile|volatile, stable); choose one"):
        al.compare(now, "TTFT", baseline=example)
    with pytest.raises(ConfigError, match="must be of one arm, and has none"):
        al.compare(now, "TTFT", baseline=then[:0])
    with pytest.raises(ConfigError, match=r"compare\(baseline=str\)"):
        al.compare(now, "TTFT", baseline="studies/then")
    with pytest.raises(ConfigError, match="give what compare"):
        al.verdicts(pd.DataFrame({"kind": ["difference"]}))


def test_without_any_difference_there_is_no_row() -> None:
    found = al.verdicts(estimates_frame(arms=["a"]))
    assert len(found) == 0 and str(found["verdict"].dtype) == "string"
