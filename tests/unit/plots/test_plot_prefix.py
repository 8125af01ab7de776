"""What each request shares with the one before it: bars that add up, and what broke a prefix in words."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import agentlab as al
from agentlab.errors import ConfigError
from agentlab.testing.recordings import SyntheticStudy

SIZES = (1000, 1400, 1500, 2000)


def send(run, number, *, chain="main", **begin):
    run.emit_gateway(
        "request.begin", at_ms=100 * number, request=number, dialect="chat", chain=chain, **begin
    )
    run.emit_gateway("request.end", at_ms=100 * number + 9, request=number, status=200, terminal_seen=True,
                     input_total_tokens=begin.get("canonical_bytes", 0) // 4, output_tokens=1,
                     price={"input": "4", "cache_read": "0"})  # fmt: skip


@pytest.fixture
def recs(tmp_path):
    study = SyntheticStudy(tmp_path / "s", arms=("grows", "breaks"))
    for k in range(2):
        for arm in ("grows", "breaks"):
            with study.run(arm, run_index=k, block=k, issues=[]) as run:
                send(run, 1, canonical_bytes=SIZES[0], prefix_state="first")
                for number in (2, 3, 4):
                    size, before = SIZES[number - 1], SIZES[number - 2]
                    broken = arm == "breaks" and number == 3 and k == 0
                    send(run, number, canonical_bytes=size, prefix_bytes=300 if broken else before,
                         lost_bytes=before - 300 if broken else 0, follows=number - 1,
                         prefix_state="changed" if broken else "append_only",
                         **({"first_changed": "system"} if broken else {}))  # fmt: skip
                send(run, 5, chain="title", canonical_bytes=200, prefix_state="first")
    return al.load(study.path)


def bars(ax):
    """Give (y, left, width) of each bar that has a width, in kB."""
    found = [p for c in ax.containers if isinstance(c, BarContainer) for p in c if isinstance(p, Rectangle)]
    return [
        (round(p.get_y() + p.get_height() / 2), p.get_x(), round(p.get_width(), 6))
        for p in found
        if p.get_width()
    ]


def test_bars_are_shared_new_and_lost_bytes(recs):
    ax = al.plot_prefix(recs.where(arm="breaks")[0])
    assert bars(ax) == [
        (1, 0.0, 1.0),
        (2, 0.0, 1.0), (2, 1.0, 0.4),
        (3, 0.0, 0.3), (3, 0.3, 1.2), (3, 0.0, -1.1),
        (4, 0.0, 1.5), (4, 1.5, 0.5),
        (5, 0.0, 0.2),
    ]  # fmt: skip
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2", "3", "4", "title 1"]


def test_a_request_that_was_repeated_is_one_bar_and_still_shows_what_it_broke(tmp_path, look):
    study = SyntheticStudy(tmp_path / "s", arms=("a",))
    broken = {"prefix_bytes": 300, "lost_bytes": 700, "first_changed": "system", "prefix_state": "changed"}
    with study.run("a") as run:
        send(run, 1, canonical_bytes=1000, prefix_state="first")
        send(run, 2, canonical_bytes=1400, follows=1, **broken)
        send(run, 3, canonical_bytes=1400, follows=1, attempt=2, retry_of=2, **broken)
    ax = al.plot_prefix(al.load(study.path))
    assert bars(ax) == [(1, 0.0, 1.0), (2, 0.0, 0.3), (2, 0.3, 1.1), (2, 0.0, -0.7)]
    assert "changed: system" in look.texts(ax.figure)


def test_the_state_and_the_segment_are_said_once_each(recs, look):
    figure = al.plot_prefix(recs).figure
    said = look.texts(figure)
    assert "Bars: mean over runs." in look.said(figure)
    assert "Bars" not in look.said(al.plot_prefix(recs[0]).figure)
    assert "changed: system (1 of 2)" in said and said.count("first") == 4
    assert said.index("grows") < said.index("breaks")
    assert not look.overlaps(figure)


def test_the_caption_counts_what_was_lost(recs, look):
    said = look.said(al.plot_prefix(recs).figure)
    assert "grows: 79.6 % of the bytes shared, first requests left out; lost per run: 0 bytes." in said
    assert "lost per run: 550 bytes, about 138 tokens sent again, about 0.000550 USD." in said
    assert "4 runs of 4 drawn." in said


def test_moved_markers_and_the_same_meaning_have_words_of_their_own(tmp_path, look):
    study = SyntheticStudy(tmp_path / "s", arms=("a",))
    with study.run("a") as run:
        send(run, 1, canonical_bytes=100, prefix_state="first")
        send(run, 2, canonical_bytes=200, prefix_bytes=100, lost_bytes=0, prefix_state="same_meaning")
        send(run, 3, canonical_bytes=300, prefix_bytes=20, lost_bytes=180, prefix_state="same_meaning",
             first_changed="message 1")  # fmt: skip
    said = look.texts(al.plot_prefix(al.load(study.path)[0]).figure)
    assert "cache markers moved" in said and "same meaning, other bytes: message 1" in said


def test_many_requests_are_put_together_and_none_is_lost(tmp_path, look):
    study = SyntheticStudy(tmp_path / "s", arms=("a",))
    with study.run("a") as run:
        for number in range(1, 605):
            send(
                run,
                number,
                canonical_bytes=1000,
                **({} if number == 1 else {"prefix_bytes": 1000, "lost_bytes": 0}),
            )
    ax = al.plot_prefix(al.load(study.path)[0])
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len(labels) <= 84 and labels[0] == "1" and labels[-1].endswith("604")
    places = [(int(one), int(other or one)) for one, _, other in (label.partition("-") for label in labels)]
    assert [a for a, _ in places][1:] == [b + 1 for _, b in places][:-1]
    assert "Bars: mean over neighbours." in look.said(ax.figure)


def test_a_refused_request_and_a_discarded_run_are_left_out(tmp_path):
    study = SyntheticStudy(tmp_path / "s", arms=("a",))
    with study.run("a") as run:
        send(run, 1, canonical_bytes=100)
        run.emit_gateway(
            "request.begin", at_ms=500, request=2, dialect="chat", chain="main", canonical_bytes=900
        )
        run.emit_gateway("request.end", at_ms=501, request=2, status=400, refused=True, reason="limit")
    with study.run("a", run_index=1, status="failed") as run:
        send(run, 1, canonical_bytes=800)
    recs = al.load(study.path)
    assert bars(al.plot_prefix(recs)) == [(1, 0.0, 0.1)]
    assert bars(al.plot_prefix(recs[1])) == [(1, 0.0, 0.8)], "a single run is drawn in any case"


def test_without_a_gateway_it_says_so(tmp_path, look):
    study = SyntheticStudy(tmp_path / "s", arms=("a",))
    with study.run("a") as run:
        run.emit("session.open", session="s", role="main")
    assert "no request was seen by a gateway" in look.said(al.plot_prefix(al.load(study.path)).figure)


def test_it_draws_into_a_given_axes_and_takes_a_table(recs):
    figure = Figure(figsize=(9, 4))
    one, other = figure.subplots(1, 2)
    assert al.plot_prefix(recs.requests, ax=one) is one
    assert bars(one) == bars(al.plot_prefix(recs)) and not other.containers


@pytest.mark.parametrize("wrong", [None, "study", pd.DataFrame({"arm": ["a"]})])
def test_anything_else_is_refused(wrong):
    with pytest.raises(ConfigError, match="give Recordings, one run of them"):
        al.plot_prefix(wrong)


def test_no_two_kinds_of_bytes_look_alike_in_greyscale(recs):
    ax = al.plot_prefix(recs)
    legend = ax.get_legend()
    greys = [
        0.299 * r + 0.587 * g + 0.114 * b for r, g, b, _ in (p.get_facecolor() for p in legend.get_patches())
    ]
    hatched = [bool(p.get_hatch()) for p in legend.get_patches()]
    assert greys[1] - greys[0] > 0.3 and hatched == [False, False, True]
