import base64
import math
import pickle
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from agentlab.frames.evidence import Issue, RunInfo
from agentlab.recording import Recording
from agentlab.stats.frame import Estimates
from agentlab.testing.estimates import estimates_frame
from agentlab.widgets import markup
from agentlab.widgets.bundle import short_path
from agentlab.widgets.cards import estimates_card, recordings_card, running_card

#: What JupyterLab leaves in the outputs of a notebook that it does not trust.
ALLOWED = {"div", "span", "table", "tr", "td", "th", "b", "br", "img", "pre"}
NASTY = '<script>alert(1)</script> $x_1$ & "quoted"'


class Checked(HTMLParser):
    """Collects tags, and fails on unbalanced ones."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag


def check(bundle: dict[str, str]) -> str:
    """Check what holds for every card and return its HTML."""
    html = bundle["text/html"]
    assert bundle["text/plain"].strip()
    assert len(html) <= 200_000
    parser = Checked()
    parser.feed(html)
    assert parser.open == []
    assert parser.tags <= ALLOWED
    assert parser.attributes <= {"style", "src", "alt"}
    assert "color:black" not in html and "color:#000" not in html  # the text has the colour of the theme
    return html


class FakeRecordings:
    """Stands in for Recordings; it cannot show that the real one has these columns."""

    def __init__(self, n_runs: int = 10, n_discarded: int = 2) -> None:
        self.arms = ("stable", NASTY)
        self.paths = (Path("/home/somebody/studies/cache"),)
        self.scenario = {"name": "cache-probe", "turns": ["a", "b"]}
        self._n, self._bad, self.read = n_runs, n_discarded, True

    def __len__(self) -> int:
        return 2 * self._n

    def coverage(self) -> list[dict]:
        if not self._n:
            return []
        reasons = {"missing_tool": self._bad} if self._bad else {}
        return [
            {"arm": "stable", "n_runs": self._n, "n_used": self._n, "n_discarded": 0, "reasons": {}},
            {
                "arm": NASTY,
                "n_runs": self._n,
                "n_used": self._n - self._bad,
                "n_discarded": self._bad,
                "reasons": reasons,
            },
        ]

    def __iter__(self) -> Iterator[Recording]:
        own = [["missing_tool"]] * self._bad + [["not_quiet", "own_code"]]
        for number, codes in enumerate(own):
            issues = tuple(Issue(code=code, discard=code == "missing_tool") for code in codes)
            info = RunInfo(study="cache", arm="a", run_id=str(number), run_index=number, issues=issues)
            yield Recording(info, self.table)

    @property
    def studies(self) -> list[dict]:
        return [{"name": "cache"}]

    def at_hand(self, name: str) -> bool:
        return self.read

    def table(self, name: str) -> pd.DataFrame:
        n = 2 * (self._n - self._bad)
        frame = pd.DataFrame({"arm": ["stable"] * n, "eligible": [True] * n})
        return frame.assign(ttft_ms=[None] + [1.0] * (n - 1), input_total_tokens=[None, None] + [9] * (n - 2))


def state(status: str = "running", **changes) -> dict:
    arms = {
        "stable": {"planned": 10, "finished": 6, "eligible": 6, "discarded": 0, "running": 0, "reasons": {}},
        NASTY: {
            "planned": 10,
            "finished": 5,
            "eligible": 3,
            "discarded": 2,
            "running": 1,
            "reasons": {"missing_tool": 2},
        },
    }
    return {
        "folder": "/home/somebody/studies/cache",
        "status": status,
        "planned": 20,
        "finished": 11,
        "elapsed_s": 754.2,
        "arms": arms,
        **changes,
    }


def test_recordings_say_what_is_used_and_why_the_rest_is_not() -> None:
    bundle = recordings_card(FakeRecordings())  # pyright: ignore[reportArgumentType]
    html, plain = check(bundle), bundle["text/plain"]
    for part in (
        "cache: 18 of 20 runs used",
        "missing_tool 2",
        "a tool that the scenario requires was not completed",
    ):
        assert part in html and part in plain
    assert re.search(r"stable +10 +10 +none +16 +1 +16 +2", plain)
    assert "not_quiet: the machine was under CPU or memory pressure (1 run, kept)" in plain
    assert "own_code: a code of the driver" in plain
    assert "Scenario cache-probe, 2 turns" in plain


def test_recordings_without_runs() -> None:
    bundle = recordings_card(FakeRecordings(0, 0))  # pyright: ignore[reportArgumentType]
    check(bundle)
    assert "Recordings: no run\n" in bundle["text/plain"]


def test_a_damaged_table_leaves_its_counts_unknown() -> None:
    recs = FakeRecordings()
    recs.table = lambda name: 1 / 0  # pyright: ignore[reportAttributeAccessIssue]
    bundle = recordings_card(recs)  # pyright: ignore[reportArgumentType]
    assert re.search(r"stable +10 +10 +none +\? +\? +\? +\?", bundle["text/plain"])


def test_a_card_reads_no_table_that_takes_long() -> None:
    recs = FakeRecordings()
    recs.read = False
    recs.table = lambda name: pytest.fail("a card must not read this")  # pyright: ignore[reportAttributeAccessIssue]
    plain = recordings_card(recs)["text/plain"]  # pyright: ignore[reportArgumentType]
    assert re.search(r"stable +10 +10 +none +\? +\? +\? +\?", plain)
    assert "?: turns and requests are not read yet" in plain
    assert "missing_tool: a tool that the scenario requires" in plain


def test_no_home_folder_in_any_card() -> None:
    for bundle in (recordings_card(FakeRecordings()), running_card(state())):  # pyright: ignore[reportArgumentType]
        assert "somebody" not in str(bundle)
        assert "studies/cache" in bundle["text/plain"]


def test_paths_below_the_working_folder_are_relative(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert short_path(tmp_path / "studies" / "a") == str(Path("studies/a"))
    assert short_path("studies/a") == str(Path("studies/a"))


def test_running_says_how_far_it_is() -> None:
    bundle = running_card(state())
    html, plain = check(bundle), bundle["text/plain"]
    for part in ("cache: recording, 11 of 20 runs, 12 min 34 s", "missing_tool 2"):
        assert part in html and part in plain
    assert re.search(r"stable +6 of 10 +6 +0 +0", plain)
    assert "makes the runs that are missing" not in plain


@pytest.mark.parametrize("status", ["cancelled", "interrupted", "owner_lost", "failed"])
def test_an_early_end_says_that_data_is_kept_and_how_to_go_on(status: str) -> None:
    plain = running_card(state(status))["text/plain"]
    assert "what was measured is kept" in plain
    assert "makes the runs that are missing" in plain


def test_a_state_of_older_shape_and_of_unknown_status() -> None:
    bare = state("odd", elapsed_s=None)
    for arm in bare["arms"].values():
        del arm["reasons"]
    assert "odd, 11 of 20 runs" in running_card(bare)["text/plain"]


def test_estimates_carry_units_intervals_coverage_and_doubts() -> None:
    frame = estimates_frame(
        metrics=("TTFT", "CACHE_HIT_RATE"),
        overrides=[
            ({"arm": "volatile", "kind": "level"}, {"n_runs": 4, "n_discarded": 6, "flags": "few_runs"})
        ],
    )
    bundle = estimates_card(frame)
    html, plain = check(bundle), bundle["text/plain"].replace("\u00a0", " ")
    assert set(bundle) == {"text/plain", "text/html"}
    for part in (
        "time to first token, median",
        "lower is better",
        "412 ms",
        "[391, 437]",
        "+38 ms",
        "95 % interval",
        "10 blocks, paired",
        "4 runs, 6 discarded",
        "few runs",
    ):
        assert part in html.replace("\u00a0", " ") and part in plain
    assert "few runs = 3 or 4 runs only" in plain


def test_a_number_without_interval_says_none_and_why() -> None:
    frame = estimates_frame(
        overrides=[
            ({"arm": "stable"}, {"lower": None, "upper": None, "status": "degenerate", "flags": "constant"})
        ]
    )
    assert re.search(
        r"stable +412 ms +none +10 runs +all runs equal: no interval", estimates_card(frame)["text/plain"]
    )


@pytest.mark.parametrize(
    "frame",
    [
        estimates_frame().iloc[:0],
        estimates_frame(
            arms=("x",),
            overrides=[
                ({}, {"arm": None, "estimate": None, "lower": None, "upper": None, "status": "no_data"})
            ],
        ),
        estimates_frame(overrides=[({}, {"estimate": math.inf, "lower": -math.inf, "upper": math.nan})]),
        estimates_frame(arms=(NASTY, "b" * 300)),
        estimates_frame(arms=tuple(f"arm {i}" for i in range(300))),
        pd.DataFrame(),
    ],
)
def test_every_frame_has_a_card(frame: pd.DataFrame) -> None:
    check(estimates_card(frame))


def test_markup_of_names_is_text() -> None:
    for bundle in (
        estimates_card(estimates_frame(arms=(NASTY, "b"))),
        running_card(state()),
        recordings_card(FakeRecordings()),
    ):  # pyright: ignore[reportArgumentType]
        html = check(bundle)
        assert "<script" not in html
        assert "$x_1$" not in html  # a notebook would read it as mathematics
        assert NASTY in bundle["text/plain"]


def test_more_rows_than_can_be_read_are_counted() -> None:
    bundle = estimates_card(estimates_frame(arms=tuple(f"arm {i}" for i in range(300))))
    assert "479 more rows are in the frame." in bundle["text/plain"]


def test_a_figure_is_inside_the_html_and_a_second_entry() -> None:
    bundle = estimates_card(estimates_frame(), figure=True)
    html = check(bundle)
    assert list(bundle) == ["text/plain", "text/html", "image/png"]
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert f"data:image/png;base64,{bundle['image/png']}" in html


def test_a_big_figure_stays_below_the_limit() -> None:
    frame = estimates_frame(
        arms=tuple(f"arm {i}" for i in range(12)), metrics=("TTFT", "CACHE_HIT_RATE", "COST")
    )
    bundle = estimates_card(frame, figure=True)
    assert len(check(bundle)) > 90_000
    assert "image/png" in bundle


def test_a_card_too_big_for_a_notebook_becomes_text() -> None:
    frame = estimates_frame(arms=tuple(f"{i} " + "&" * 300 for i in range(300)))
    assert check(estimates_card(frame)).startswith("<pre>")


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("card", [recordings_card, running_card, estimates_card])
@pytest.mark.parametrize("thing", [None, 3, "<b>", {}, {"folder": 1, "status": 2}, Broken()])
def test_a_card_never_raises(card, thing) -> None:
    bundle = card(thing)
    check(bundle)
    assert "no card" in bundle["text/plain"]


def test_whiskers_need_a_scale_and_a_point() -> None:
    assert markup.whisker(None, None, None, (0, 1)) == ""
    assert markup.whisker(1.0, None, None, (1, 1)) == ""
    assert markup.whisker(math.nan, None, None, (0, 1)) == ""
    hollow = markup.whisker(0.5, None, None, (0.0, 1.0))
    assert "left:50.0%" in hollow and "background-color:transparent" in hollow
    whole = markup.whisker(0.5, 0.25, None, (0.0, 1.0), baseline=0.0)
    assert "left:25.0%;top:6px;width:75.0%" in whole and "left:0.0%;top:0px;width:1px" in whole


def test_progress_never_overflows() -> None:
    assert "width:100.0%" in markup.progress(12, 0, 0, 10)
    assert markup.progress(0, 0, 0, 0).count("<span") == 0


def test_estimates_stay_estimates_while_they_have_what_a_card_needs() -> None:
    estimates = Estimates(estimates_frame())
    assert type(estimates) is Estimates
    for same in (
        estimates.query("kind == 'level'"),
        estimates.sort_values("estimate"),
        estimates.copy(),
        estimates[estimates["n_runs"] > 3],
    ):
        assert type(same) is Estimates
        assert same.attrs == estimates.attrs
    for plain in (estimates[["arm", "estimate"]], estimates.groupby("arm")[["estimate"]].mean(), estimates.T):
        assert type(plain) is pd.DataFrame
    assert type(estimates["estimate"]) is pd.Series
    assert type(pd.concat([estimates, estimates])) is Estimates


def test_estimates_show_a_card_and_keep_the_text_of_a_frame() -> None:
    estimates = Estimates(estimates_frame())
    assert check(estimates._repr_mimebundle_()).startswith("<div")
    assert repr(estimates) == repr(pd.DataFrame(estimates))


def test_estimates_survive_pickle_and_parquet(tmp_path) -> None:
    estimates = Estimates(estimates_frame())
    again = pickle.loads(pickle.dumps(estimates))
    assert type(again) is Estimates
    pd.testing.assert_frame_equal(again, estimates)
    estimates.to_parquet(tmp_path / "e.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "e.parquet"), pd.DataFrame(estimates))


def test_a_card_that_is_asked_for_loads_no_matplotlib() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from agentlab.testing.estimates import estimates_frame\n"
        "from agentlab.widgets.cards import estimates_card; estimates_card(estimates_frame())\n"
        "assert 'matplotlib' not in sys.modules and 'ipywidgets' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_detached_study_says_how_to_find_it_again() -> None:
    detached = state() | {"until_unix_ns": 1_000_000_000 * 10**9}
    plain = running_card(detached)["text/plain"]
    assert "It goes on by itself, until 2001-09-" in plain and "agentlab.attach(" in plain
    assert "attach" not in running_card(detached | {"status": "deadline"})["text/plain"]
    assert "ended by its deadline" in running_card(detached | {"status": "deadline"})["text/plain"]
