"""The figure of long tasks: counts per run, the 50 ms line, wall and CPU, and what is left out."""

import numpy as np
import pandas as pd
import pytest

from agentlab.errors import ConfigError
from agentlab.plots.canvas import origin_of
from agentlab.plots.long_tasks import plot_long_tasks


def tasks_frame(durations, *, arms=("plain",), runs=2, **columns) -> pd.DataFrame:
    """Make tasks: the same durations in each run of each arm, half of it CPU."""
    rows = [
        {
            "study": "s", "arm": arm, "run_id": f"{arm}-{run}", "eligible": True, "phase": "stream",
            "duration_ms": duration, "cpu_ms": duration / 2, "open": False, **columns,
        }
        for arm in arms
        for run in range(runs)
        for duration in durations
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    return frame.astype(
        {"eligible": "boolean", "open": "boolean", "duration_ms": "Float64", "cpu_ms": "Float64"}
    )


def heights(ax, at: float) -> list[float]:
    """Return the height of each line at a duration: steps reach back from each point."""
    found = []
    for line in ax.lines:
        if len(line.get_xdata()) > 2 and line.get_drawstyle() == "steps-pre":
            x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
            found.append(float(y[np.searchsorted(x, at)]))
    return found


def test_a_line_stands_at_the_tasks_of_a_run_that_last_at_least_so_long(look) -> None:
    ax = plot_long_tasks(tasks_frame([2.0, 8.0, 50.0, 120.0]))
    assert heights(ax, 50.0) == [2.0, 1.0]  # wall; CPU: only the one of 60 ms
    assert heights(ax, 8.0) == [3.0, 2.0]
    assert "plain 2.00, plain 1.00 by CPU" in look.said(ax.figure)
    assert [50.0, 50.0] in [[float(x) for x in line.get_xdata()] for line in ax.lines]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_one_time_alone() -> None:
    frame = tasks_frame([2.0, 8.0, 50.0, 120.0])
    assert heights(plot_long_tasks(frame, time="wall"), 50.0) == [2.0]
    assert heights(plot_long_tasks(frame, time="cpu"), 50.0) == [1.0]
    with pytest.raises(ConfigError, match="time='both"):
        plot_long_tasks(frame, time="both of them")


def test_only_what_begins_while_the_answer_streams_counts_and_runs_without_it_stay() -> None:
    frame = tasks_frame([60.0, 70.0, 80.0], runs=2)
    frame.loc[frame["run_id"] == "plain-1", "phase"] = "tail"
    assert heights(plot_long_tasks(frame, time="wall"), 60.0) == [1.5]


def test_a_band_needs_runs_and_unknown_durations_are_said(look) -> None:
    frame = tasks_frame([2.0, 60.0, 90.0], runs=6)
    frame.loc[0, "duration_ms"] = pd.NA
    frame.loc[0, "open"] = True
    ax = plot_long_tasks(frame)
    assert len(ax.collections) == 1
    said = look.said(ax.figure)
    assert "plain 1 (wall)" in said and "Without an end in the trace: plain 1." in said
    few = plot_long_tasks(tasks_frame([2.0, 60.0, 90.0], runs=4))
    assert len(few.collections) == 0 and "No band, fewer than 5 runs: plain" in look.said(few.figure)


def test_nothing_and_one_task_are_drawn_too(look) -> None:
    none = plot_long_tasks(tasks_frame([1.0]).iloc[:0])
    assert "Nothing to draw" in look.said(none.figure)
    assert plot_long_tasks(tasks_frame([3.0], runs=1)).get_xlim()[1] >= 100
    zero = plot_long_tasks(tasks_frame([0.0], runs=1))
    look.said(zero.figure)


def test_many_arms_and_long_names_fit(look) -> None:
    arms = tuple(f"{'an arm with a rather long name ' * 2}{k}" for k in range(9))
    ax = plot_long_tasks(tasks_frame([2.0, 30.0, 60.0, 300.0], arms=arms))
    assert look.overlaps(ax.figure) == []


def test_it_remembers_where_it_comes_from_and_names_what_it_cannot_draw() -> None:
    ax = plot_long_tasks(tasks_frame([60.0, 1.0]))
    (drawn,) = origin_of(ax.figure)["drawn_by"]
    assert (drawn["function"], drawn["arms"], drawn["studies"]) == (
        "plot_long_tasks",
        ["plain"],
        [{"name": "s"}],
    )
    with pytest.raises(ConfigError, match="their table `tasks`"):
        plot_long_tasks(pd.DataFrame({"arm": ["a"]}))
