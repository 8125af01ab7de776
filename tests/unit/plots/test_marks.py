"""Marks by the million: counted by pixel, and not one is lost."""

import io
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from agentlab.plots.lanes import Lane
from agentlab.plots.marks import (
    HEIGHT,
    MANY,
    Marks,
    Tone,
    busy,
    counts,
    draw_bars,
    draw_counts,
    draw_shares,
    rows_of,
)
from agentlab.plots.timeline import draw_lane

TASK = Tone("task", "#0072b2")


def axes(width=6.0, seconds=60.0):
    ax = Figure(figsize=(width, 1.5), dpi=100).add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_axis_off()
    ax.set_xlim(0.0, seconds)
    ax.set_ylim(0.2, -HEIGHT - 0.2)
    return ax


def pixels(ax):
    sink = io.BytesIO()
    ax.figure.savefig(sink, format="rgba")
    width, height = (round(size * 100) for size in ax.figure.get_size_inches())
    return np.frombuffer(sink.getvalue(), np.uint8).reshape(height, width, 4)[..., :3].astype(int)


def dark_height(image):
    """Count the pixels of each column that are not white."""
    return (image.sum(axis=2) < 700).sum(axis=0)


@given(
    st.lists(st.tuples(st.floats(-5, 65), st.floats(0, 20)), min_size=1, max_size=40),
    st.integers(1, 50),
)
def test_busy_equals_a_naive_count(spans, n):
    start = np.array([a for a, _ in spans])
    end = start + np.array([d for _, d in spans])
    share, touched = busy(start, end, 0.0, 60.0, n)
    edges = np.linspace(0.0, 60.0, n + 1)
    for i, (low, high) in enumerate(pairwise(edges)):
        under = np.clip(np.minimum(end, high) - np.maximum(start, low), 0.0, None).sum() / (high - low)
        assert share[i] == pytest.approx(min(under, 1.0), abs=1e-6)
        if under > 1e-6:
            assert touched[i] > 0
    assert touched.max() <= len(spans)


def test_every_mark_is_counted_once_also_at_the_ends():
    ax = axes()
    at = np.array([0.0, 0.0, 30.0, 60.0])
    count = counts(ax, Marks(TASK, at, at))
    assert count.sum() == 4
    assert (count[0], count[-1]) == (2, 1)


@pytest.mark.parametrize("n", [0, 1_000_000])
def test_one_long_task_is_seen_among_a_million_short_ones(n):
    rng = np.random.default_rng(1)
    start = rng.random(n) * 60
    short = rng.exponential(2e-6, n)
    plain, marked = axes(), axes()
    draw_shares(plain, 0.0, [Marks(TASK, start, start + short)])
    draw_shares(marked, 0.0, [Marks(TASK, np.r_[start, 40.0], np.r_[start + short, 40.05])])
    before, after = dark_height(pixels(plain)), dark_height(pixels(marked))
    changed = np.flatnonzero(after > before + 20)
    assert 1 <= len(changed) <= 3, "a pixel, and what antialiasing lends its neighbours"
    assert 400 in changed


def test_one_instant_alone_is_seen():
    ax = axes()
    draw_shares(ax, 0.0, [Marks(TASK, np.array([30.0]), np.array([30.0]))])
    assert dark_height(pixels(ax))[298:303].max() >= 8


def test_few_are_drawn_one_by_one_and_many_are_counted():
    few, many = axes(), axes()
    at = np.linspace(0.0, 59.0, MANY)
    draw_lane(few, 0.0, Lane("tasks", (Marks(TASK, at, at + 0.01),)))
    more = np.linspace(0.0, 59.0, MANY + 1)
    draw_lane(many, 0.0, Lane("tasks", (Marks(TASK, more, more + 0.01),)))
    assert len(few.collections[0].get_paths()) == MANY
    assert len(many.collections[0].get_paths()) < 700
    assert "busy share" in many.texts[-1].get_text()


def test_overlapping_ones_get_rows_of_their_own_up_to_four():
    start = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    assert list(rows_of(start, start + 0.5)) == [0] * 6
    assert list(rows_of(start, start + 1.5)) == [0, 1, 0, 1, 0, 1]
    assert list(rows_of(start, start + 100)) == [0, 1, 2, 3, 3, 3]
    assert list(rows_of(np.array([]), np.array([]))) == []


def test_rows_lie_inside_their_lane():
    ax = axes()
    start = np.array([0.0, 1.0, 2.0])
    draw_bars(ax, 5.0, Marks(TASK, start, start + 10, row=rows_of(start, start + 10)), 3)
    ends = np.concatenate([path.vertices[:, 1] for path in ax.collections[0].get_paths()])
    assert ends.min() >= 5.0 - HEIGHT and ends.max() <= 5.0


def test_marks_that_do_not_fit_each_other_are_refused():
    with pytest.raises(ValueError, match="differ in number"):
        Marks(TASK, np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="differ in number"):
        Marks(TASK, np.zeros(2), np.zeros(2), labels=("a",))


def test_dense_tones_stand_on_each_other_on_one_scale():
    ax = axes()
    one, two = np.repeat(30.0, 30), np.repeat(30.0, 10)
    most = draw_counts(ax, 0.0, [Marks(TASK, one, one), Marks(Tone("other", "#cc79a7"), two, two)])
    assert most == 40
    whole, part = (-collection.get_paths()[0].vertices[:, 1].min() / HEIGHT for collection in ax.collections)
    assert whole == pytest.approx(1.0)
    assert part == pytest.approx(0.16 + 0.84 * 0.25)
