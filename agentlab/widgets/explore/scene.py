"""What a view shows, as plain values: a pure function of recordings and view."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from ...plots import words
from ...plots.captions import estimates_caption, noted
from ...plots.rows import Row, read_rows
from .runs import RunRow
from .study import Study
from .view import View

if TYPE_CHECKING:
    import pandas as pd

    from ...recording import Recording

#: Rows of the list of runs that are seen at once.
PAGE = 10
#: Metrics and rows (levels and differences) of the figure: a larger one is slow to draw and too long to read.
_MOST_DRAWN = 8
_MOST_ROWS = 96


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scene:
    """Everything that is shown.

    Parameters
    ----------
    view : View
        What is looked at.
    title : str
        Which studies, how many runs are used.
    estimates : pandas.DataFrame
        As :func:`agentlab.compare` gives them, with the filter noted.
    groups : tuple of tuple of Row
        The rows to show, metric by metric; ratios are left to the frame.
    stands_on : dict
        What stands beside each number: (metric, kind, arm) -> runs used, discarded, left out.
    drawn : tuple of str
        Metrics that stand in the figure: the first ones.
    notes : tuple of str
        How the estimates were made, the filter, and which metrics are drawn where not all are.
    runs : tuple of RunRow
        Runs behind the estimate that is picked out; all pages.
    about_runs : str
        What they are.
    run : Recording or None
        The run that is picked out.
    """

    view: View
    title: str
    estimates: pd.DataFrame
    groups: tuple[tuple[Row, ...], ...]
    stands_on: dict[tuple[str, str, str], str]
    drawn: tuple[str, ...]
    notes: tuple[str, ...]
    runs: tuple[RunRow, ...]
    about_runs: str
    run: Recording | None

    @property
    def asked(self) -> tuple[object, ...]:
        """What the estimates, and so their figure and code, depend on."""
        return self.view.metrics, self.view.question

    @property
    def page(self) -> tuple[RunRow, ...]:
        """The runs of the view's page."""
        return self.runs[self.first : self.first + PAGE]

    @property
    def first(self) -> int:
        """0-based place of the first run of the page; the last page when the view's is beyond it."""
        last = max(0, (len(self.runs) - 1) // PAGE)
        return PAGE * min(max(0, self.view.page), last)


def compose(study: Study, view: View) -> Scene:
    """Work out what a view shows.

    Parameters
    ----------
    study : Study
        Recordings and metrics.
    view : View
        What is looked at.

    Returns
    -------
    Scene
    """
    frame = study.estimates(view)
    rows = [row for row in read_rows(frame) if row.kind != "ratio"]
    left_out = study.left_out_by_arm(view)
    runs = tuple(study.runs(view))
    groups = tuple(
        tuple(row for row in rows if row.metric == metric)
        for metric in dict.fromkeys(row.metric for row in rows)
    )
    drawn = _drawn(groups)
    return Scene(
        view=view,
        title=_title(study),
        estimates=frame,
        groups=groups,
        stands_on={key(row): _stands_on(row, left_out) for row in rows},
        drawn=drawn,
        notes=(*noted(frame), *estimates_caption(rows, drawn=False), *_not_drawn(groups, drawn)),
        runs=runs,
        about_runs=_about(view, runs),
        run=_run(study, view),
    )


def key(row: Row) -> tuple[str, str, str]:
    """Return what tells an estimate from the others: metric, kind, arm."""
    return row.metric, row.kind, row.arm


def _title(study: Study) -> str:
    recs = study.recs
    used = sum(run.eligible for run in recs)
    names = ", ".join(dict.fromkeys(str(about["name"]) for about in recs.studies)) or "nothing"
    return f"{names}: {used:,} of {words.count(len(recs), 'run')} eligible"


def _drawn(groups: tuple[tuple[Row, ...], ...]) -> tuple[str, ...]:
    fit = max(1, _MOST_ROWS // max((len(group) for group in groups), default=1))
    return tuple(group[0].metric for group in groups[: min(fit, _MOST_DRAWN)])


def _not_drawn(groups: tuple[tuple[Row, ...], ...], drawn: tuple[str, ...]) -> list[str]:
    if len(drawn) == len(groups):
        return []
    return [f"In the figure: the first {len(drawn)} of {len(groups)} metrics. The one that is saved has all."]


def _stands_on(row: Row, left_out: dict[str, int]) -> str:
    arms = {row.arm} if row.kind == "level" else {row.arm, row.reference or ""}
    out = sum(left_out.get(arm, 0) for arm in arms)
    return words.coverage(row) + (f", {out:,} left out" if out else "")


def _about(view: View, runs: tuple[RunRow, ...]) -> str:
    if view.estimate is None:
        return ""
    metric, kind, arm = view.estimate
    of = arm if kind == "level" else f"{arm} and {view.reference}"
    used = sum(row.state == "used" for row in runs)
    listed = "" if view.listed == "all" else f", only those {view.listed}"
    return f"{words.metric_label(metric)} of {of}: {words.count(len(runs), 'run')}{listed}, {used:,} used"


def _run(study: Study, view: View) -> Recording | None:
    return next((run for run in study.recs if (run.info.study, run.run_id) == view.run), None)
