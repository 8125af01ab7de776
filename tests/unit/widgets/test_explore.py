"""What explore shows without widgets: numbers, filter, runs, code, card, text."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import agentlab as al
from agentlab.testing.recordings import write_study
from agentlab.widgets.explore import Explorer, explore

from ...doubtful import NOISY, doubtful_study
from .test_cards import check

P90 = al.Metric(
    name="p90", table="turns", column="latency_ms", aggregate="quantile", p=0.9, unit="ms", better="lower"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("studies")
    doubtful_study(made / "cache")
    write_study(made / "later", runs=4, seed=3)
    return made


@pytest.fixture
def recs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> al.Recordings:
    monkeypatch.chdir(folder)
    return al.load("cache")


@pytest.fixture
def view(recs: al.Recordings) -> Explorer:
    return explore(recs, "TTFT", "CACHE_HIT_RATE")


def test_metrics_with_data_are_shown(recs: al.Recordings) -> None:
    view = explore(recs)
    assert view.view.metrics == ("TTFT", "TURN_LATENCY", "CACHE_HIT_RATE")
    assert "COST" not in view.study.metrics  # no provider said what it costs
    assert view.view.reference == "stable"


def test_estimates_are_those_of_compare(recs: al.Recordings, view: Explorer) -> None:
    pd.testing.assert_frame_equal(
        view.estimates, al.compare(recs, "TTFT", "CACHE_HIT_RATE", reference="stable")
    )


def test_what_is_kept_is_bounded_and_answers_stay_right(
    recs: al.Recordings, view: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentlab.widgets.explore.study._MOST_KEPT", 2)
    for metrics in (("TTFT",), ("TTFT", "CACHE_HIT_RATE"), ("CACHE_HIT_RATE", "TTFT", "TURN_LATENCY")):
        view.show(metrics=metrics)
        pd.testing.assert_frame_equal(view.estimates, al.compare(recs, *metrics, reference="stable"))
        assert view.estimates.attrs == al.compare(recs, *metrics, reference="stable").attrs
    assert len(view.study._kept) <= 2


def test_the_filter_changes_n_and_is_said(view: Explorer) -> None:
    before = view.estimates.set_index(["metric", "kind", "arm"])["n_runs"]
    view.show(without=("not_quiet",))
    after = view.estimates.set_index(["metric", "kind", "arm"])
    level = ("TTFT", "level", "stable")
    assert (before[level], after["n_runs"][level]) == (8, 6)
    # the run that its error discards stays among the discarded: the filter looks at eligible runs
    assert after["n_discarded"]["TTFT", "level", "volatile"] == 1
    assert view.scene.stands_on[level] == "6 runs, 2 left out"
    assert view.scene.stands_on["TTFT", "level", "volatile"] == "6 runs, 1 discarded, 1 left out"
    said = "Filter: eligible runs with not_quiet are left out (stable 2, volatile 1)."
    assert view.scene.notes[0] == said
    assert said in repr(view)
    caption = view.figure().figure.get_supxlabel()
    assert "left out (stable 2" in " ".join(caption.replace("\u00a0", " ").split())


def test_without_a_filter_nothing_is_said_of_one(view: Explorer) -> None:
    assert "Filter" not in repr(view) and "left out" not in repr(view)


def test_the_runs_behind_a_level(view: Explorer) -> None:
    view.show(estimate=("TTFT", "level", "volatile"), without=("not_quiet",), order="as recorded")
    runs = view.scene.runs
    assert len(runs) == 8 and {run.arm for run in runs} == {"volatile"}
    states = [run.state for run in runs]
    assert states.count("used") == 6
    assert "discarded: turn_error" in states and "left out: not_quiet" in states
    shown = view.estimates.query("kind == 'level' and arm == 'volatile' and metric == 'TTFT'")
    assert states.count("used") == shown["n_runs"].item()


def test_the_runs_behind_a_difference_are_those_of_both_arms(view: Explorer) -> None:
    view.show(estimate=("TTFT", "difference", "volatile"))
    assert {run.arm for run in view.scene.runs} == {"stable", "volatile"}
    assert len(view.scene.runs) == 16


@pytest.mark.parametrize(("paired", "without"), [(True, ()), (True, ("not_quiet",)), (False, ("not_quiet",))])
def test_a_run_whose_block_is_dropped_is_not_called_used(
    view: Explorer, paired: bool, without: tuple[str, ...]
) -> None:
    view.show(estimate=("TTFT", "difference", "volatile"), paired=paired, without=without)
    used = [run for run in view.scene.runs if run.state == "used"]
    row = view.estimates.query("metric == 'TTFT' and kind == 'difference'").iloc[0]
    if paired:
        assert len({run.block for run in used}) == row["n_blocks"] == len(used) / 2
        assert "block dropped" in {run.state for run in view.scene.runs}
    else:
        assert len(used) == row["n_runs"] == 12


def test_a_run_made_again_spoils_no_block(tmp_path: Path) -> None:
    study = doubtful_study(tmp_path / "cache")
    first = next(f for f in sorted(study.glob("runs/*/run.json")) if '"stable"' in f.read_text())
    run = json.loads(first.read_text())
    shutil.copytree(first.parent, again := study / "runs" / f"0099-{run['arm']}")
    cut = run | {"run_id": again.name, "sequence": 99, "status": "cancelled"}
    (again / "run.json").write_text(json.dumps(cut))
    view = explore(al.load(study), "TTFT").show(estimate=("TTFT", "difference", "volatile"), paired=True)
    states = {row.key[1]: row.state for row in view.scene.runs}
    assert states[again.name] == "discarded: cancelled" and states[run["run_id"]] == "used"
    assert (
        list(states.values()).count("used") / 2
        == view.estimates.query("kind == 'difference'")["n_blocks"].item()
    )


def test_a_metric_that_counts_discarded_runs_stands_on_them(recs: al.Recordings) -> None:
    view = explore(recs, "ANSWERED").show(estimate=("ANSWERED", "difference", "volatile"))
    frame = view.estimates
    (n_runs,) = frame.loc[(frame["kind"] == "difference") & (frame["arm"] == "volatile"), "n_runs"]
    assert [row.state for row in view.scene.runs] == ["used"] * n_runs and n_runs == 16
    assert "turn_error" in {code for row in view.scene.runs for code in row.issues}


def test_a_runs_value_is_the_metric_of_that_run_alone(recs: al.Recordings, view: Explorer) -> None:
    view.show(estimate=("CACHE_HIT_RATE", "level", "stable"))
    for row in view.scene.runs:
        alone = al.compare(recs.where(run_id=row.key[1]), "CACHE_HIT_RATE")
        assert row.value is not None and math.isclose(row.value, alone["estimate"][0])


@pytest.mark.parametrize(("metric", "best"), [("TTFT", min), ("CACHE_HIT_RATE", max)])
def test_worst_and_best_follow_the_metric(view: Explorer, metric: str, best: object) -> None:
    view.show(estimate=(metric, "level", "stable"), order="best first")
    values = [run.value for run in view.scene.runs]
    assert values[0] == best(values)  # type: ignore[operator]
    view.show(order="worst first")
    assert [run.value for run in view.scene.runs] == sorted(values, reverse=best is min)


def test_which_runs_are_listed(view: Explorer) -> None:
    view.show(estimate=("TTFT", "level", "stable"), without=("not_quiet",), listed="not used")
    assert {("stable", run.block) for run in view.scene.runs} == {key for key in NOISY if key[0] == "stable"}
    view.show(listed="used")
    assert len(view.scene.runs) == 6
    assert "6 runs, only those used, 6 used" in view.scene.about_runs


def test_pages_end_with_the_list(view: Explorer) -> None:
    view.show(estimate=("TTFT", "difference", "volatile"), page=9)
    assert (view.scene.first, len(view.scene.page)) == (10, 6)


def test_a_wrong_change_leaves_the_view(view: Explorer) -> None:
    before = view.view
    for change, said in (
        ({"reference": "fast"}, "there is no arm 'fast'; there are stable, volatile"),
        ({"metrics": ("SPEED",)}, "there is no metric 'SPEED'"),
        ({"without": ("odd",)}, "there is no issue on eligible runs 'odd'; there are not_quiet"),
        ({"run": "0099-stable"}, "there is no run '0099-stable'"),
        ({"level": 95}, "between 0 and 1"),
    ):
        with pytest.raises(al.ConfigError, match=said):
            view.show(**change)
    assert view.view == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"recs": 3}, "give Recordings"),
        ({"metrics": ("SPEED",)}, "there is no metric 'SPEED'"),
        ({"metrics": (3,)}, "3 is no metric"),
        ({"reference": "fast"}, "there is no arm 'fast'"),
        ({"metrics": (P90, dataclasses.replace(P90, p=0.5))}, "two metrics have the name 'p90'"),
    ],
)
def test_wrong_arguments(recs: al.Recordings, arguments: dict[str, Any], said: str) -> None:
    given = {"recs": recs, "metrics": (), "reference": None, **arguments}
    with pytest.raises(al.ConfigError, match=said):
        explore(given["recs"], *given["metrics"], reference=given["reference"])


def executed(view: Explorer) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(view.code(), "cell", "exec"), names)
    return names


@pytest.mark.filterwarnings("ignore::agentlab.errors.UnstableWarning")
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"reference": "volatile", "paired": False, "level": 0.9},
        {"without": ("not_quiet",), "interval": "bca"},
        {"arms": ("stable",)},
        {"metrics": ("TTFT", "p90", "ITL", "REQUESTS")},
    ],
    ids=["as it is", "options", "filter", "one arm", "a metric of one's own"],
)
@pytest.mark.parametrize("source", ["study", "part", "joined"])
def test_the_code_gives_the_same_estimates(recs: al.Recordings, changes: dict[str, Any], source: str) -> None:
    chosen = {"study": recs, "part": recs[:10], "joined": recs + al.load("later").where(run_index=[0, 1, 2])}
    view = explore(chosen[source], "TTFT", "CACHE_HIT_RATE", P90).show(**changes)
    names = executed(view)
    pd.testing.assert_frame_equal(names["estimates"], view.estimates)
    assert names["estimates"].attrs == view.estimates.attrs
    if "without" in changes:
        assert names["ax"].figure.get_supxlabel() == view.figure().figure.get_supxlabel()


def test_the_code_of_the_shipped_example_names_no_folder_of_this_machine() -> None:
    view = explore(al.load(al.example("cache")), "TTFT")
    assert 'al.load(al.example("cache"))' in view.code()


def test_a_study_that_is_gone_can_still_be_looked_at(tmp_path: Path) -> None:
    view = explore(al.load(write_study(tmp_path / "s", runs=3)), "TTFT")
    shutil.rmtree(tmp_path / "s")
    assert "text/html" in view.show(reference="volatile")._repr_mimebundle_()
    assert 'reference="volatile"' in view.code()  # which says itself that the study is gone


def test_a_path_below_home_is_written_with_a_tilde(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.chdir(tmp_path)
    code = explore(al.load(folder / "cache"), "TTFT").code()
    assert f'al.load("~/{folder.name}/cache")' in code


def test_saved_figures_know_the_filter(view: Explorer, tmp_path: Path) -> None:
    saved = view.show(without=("not_quiet",)).save(tmp_path / "figure")
    assert {path.suffix for path in saved} == {".pdf", ".svg", ".png", ".csv", ".parquet"}
    about = al.figure_info(saved.svg)
    assert about["metrics"] == ["TTFT", "CACHE_HIT_RATE"]
    assert "not_quiet" in about["drawn_by"][0]["notes"][0]


def test_the_card_has_figures_inside_and_no_widget(view: Explorer) -> None:
    view.show(estimate=("TTFT", "level", "stable"), run=view.study.recs[0].run_id)
    bundle = view._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", "image/png"}
    html = check(bundle)
    assert html.count("data:image/png;base64,") == 2
    assert "Run " + view.study.recs[0].run_id in html
    assert len(html) < 200_000


def test_of_many_metrics_the_figure_and_the_card_hold_the_first(recs: al.Recordings) -> None:
    view = explore(recs, *(dataclasses.replace(P90, name=f"p{n}", p=n / 100) for n in range(40, 90)))
    view.look(view.view.but(metrics=tuple(view.study.metrics)[:50]))
    assert view.scene.drawn == tuple(f"p{n}" for n in range(40, 48))
    bundle = view._repr_mimebundle_()
    check(bundle)
    assert view.scene.notes[-1] == "In the figure: the first 8 of 50 metrics. The one that is saved has all."
    assert "more metrics are in the frame" in bundle["text/html"] and "<img" in bundle["text/html"]
    assert len(view.estimates["metric"].unique()) == 50 and view.code().count("al.Metric") == 50
    view.show(metrics=("p40", "p41"))
    assert view.scene.drawn == ("p40", "p41")
    assert not any("In the figure" in note for note in view.scene.notes)


def test_names_are_text(tmp_path: Path) -> None:
    from agentlab.testing.recordings import SyntheticArm

    write_study(tmp_path / "odd", arms={"<b>$x$": SyntheticArm(), "b & c": SyntheticArm()}, runs=3)
    view = explore(al.load(tmp_path / "odd"), "TTFT").show(estimate=("TTFT", "difference", "b & c"))
    html = check(view._repr_mimebundle_())
    assert "<b>$x$" not in html and "&lt;b&gt;" in html


def test_no_runs_no_error(recs: al.Recordings) -> None:
    view = explore(recs[:0])
    assert "0 of 0 runs eligible" in repr(view)
    assert "text/html" in view._repr_mimebundle_()
    assert view.code()


def test_a_terminal_gets_text(view: Explorer, capsys: pytest.CaptureFixture[str]) -> None:
    view._ipython_display_()
    assert capsys.readouterr().out == repr(view) + "\n"
