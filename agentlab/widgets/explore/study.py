"""Recordings as the view asks for them: estimates, the runs behind one, and what a filter leaves out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError, UnstableWarning
from ...stats.metrics import CACHE_REPORT, Metric, named, names
from .runs import Key, RunRow, run_values, runs_behind
from .view import View

if TYPE_CHECKING:
    import pandas as pd

    from ...recording import Recordings
    from ...stats.runs import Runs

_MOST_KEPT = 64


class Study:
    """Recordings and the metrics that can be shown; answers are kept, so a click costs no second estimate.

    Parameters
    ----------
    recs : Recordings
        What was recorded.
    metrics : sequence of Metric or str
        Shown first; by default those of :func:`agentlab.stats.first.first_metrics`, e.g. time to first token,
        latency, cached share and cost, or what each added session takes.
    """

    def __init__(self, recs: Recordings, metrics: Sequence[object] = ()) -> None:
        from ...stats.first import first_metrics, has_data

        self.recs = recs
        given = {metric.name: metric for metric in map(_metric, metrics)}
        for metric in map(_metric, metrics):
            if given[metric.name] != metric:
                raise ConfigError(f"two metrics have the name {metric.name!r}; give one of them another")
        self._kept: dict[Any, Any] = {}  # the oldest goes first
        report = {metric.name for metric in CACHE_REPORT}
        others = [named(name) for name in names() if name not in report]
        self.metrics = dict(given)
        self.metrics |= {m.name: m for m in others if m.name not in given and has_data(self._runs, m)}
        if not self.metrics:  # nothing was measured: the view says so of one metric
            self.metrics["TTFT"] = named("TTFT")
        self.first = tuple(given) or first_metrics(self._runs) or tuple(self.metrics)[:1]

    @property
    def codes(self) -> dict[str, int]:
        """Codes of issues that eligible runs have, and how many such runs."""
        issues = self.recs.issues
        doubtful = issues[issues["eligible"].fillna(value=False).astype(bool)]
        counts = doubtful.drop_duplicates(["study", "run_id", "code"])["code"].value_counts()
        return {str(code): int(n) for code, n in counts.items()}

    def left_out(self, without: tuple[str, ...]) -> dict[Key, tuple[str, ...]]:
        """Return the eligible runs that a filter leaves out, each with the codes that do it."""
        issues = self.recs.issues
        hit = issues[issues["eligible"].fillna(value=False).astype(bool) & issues["code"].isin(list(without))]
        found: dict[Key, tuple[str, ...]] = {}
        for study, run_id, code in zip(hit["study"], hit["run_id"], hit["code"], strict=True):
            key = (str(study), str(run_id))
            found[key] = tuple(dict.fromkeys([*found.get(key, ()), str(code)]))
        return found

    def filter_note(self, view: View) -> str:
        """Say which runs the filter leaves out, arm by arm; empty without a filter."""
        if not view.without:
            return ""
        by_arm = self.left_out_by_arm(view)
        counts = ", ".join(f"{arm} {by_arm.get(arm, 0)}" for arm in view.arms)
        return f"Filter: eligible runs with {' or '.join(view.without)} are left out ({counts})."

    def left_out_by_arm(self, view: View) -> dict[str, int]:
        """Count the runs of each arm that the view's filter leaves out."""
        out = self.left_out(view.without)
        counts: dict[str, int] = {}
        for run in self.recs:
            if (run.info.study, run.run_id) in out:
                counts[run.arm] = counts.get(run.arm, 0) + 1
        return counts

    def estimates(self, view: View) -> pd.DataFrame:
        """Compare what the view asks for; ``attrs["agentlab"]["notes"]`` says which filter is on."""
        return self.once(("estimates", view.metrics, view.question), lambda: self._join(view))

    def _join(self, view: View) -> pd.DataFrame:
        """Put metrics together; those that were estimated before are not estimated again."""
        import pandas as pd

        parts = {name: self._kept.get((name, view.question)) for name in view.metrics}
        new = [name for name, part in parts.items() if part is None]
        if new:
            frame = self._compare(new, view)
            for name in new:
                parts[name] = self._keep((name, view.question), frame[frame["metric"] == name])
        frame = pd.concat(parts.values(), ignore_index=True)
        about = {
            **parts[view.metrics[0]].attrs["agentlab"],
            "labels": {name: self.metric(name).title for name in view.metrics},
        }
        note = self.filter_note(view)
        frame.attrs["agentlab"] = {**about, "notes": [note]} if note else about
        return frame

    def _compare(self, metrics: list[str], view: View) -> pd.DataFrame:
        from ...stats.compare import compare

        with warnings.catch_warnings():  # the rows themselves say it
            warnings.simplefilter("ignore", UnstableWarning)
            return compare(
                self.once(("kept", view.arms, view.without), lambda: self._filtered(view)),
                *map(self.metric, metrics),
                reference=view.reference,
                paired=view.paired,
                level=view.level,
                interval=view.interval,  # pyright: ignore[reportArgumentType]
            )

    def _filtered(self, view: View) -> _Kept:
        return _Kept(self.recs, view.arms, self.left_out(view.without))

    def metric(self, name: str) -> Metric:
        """Find a metric by its name, those without data too."""
        return self.metrics.get(name) or named(name)

    def check(self, view: View) -> None:
        """Refuse a view of what is not there.

        Raises
        ------
        ConfigError
            A metric, arm, code, estimate or run is unknown; the message names those that are known.
        """
        for name in view.metrics:
            self.metric(name)
        for name, given, known in (
            ("arm", view.arms, self.recs.arms),
            ("issue on eligible runs", view.without, tuple(self.codes)),
        ):
            wrong = [one for one in given if one not in known]
            if wrong:
                raise ConfigError(f"there is no {name} {wrong[0]!r}; there are {', '.join(known) or 'none'}")
        if view.run is not None:
            self.key_of(view.run[1], study=view.run[0])

    def key_of(self, run_id: str, *, study: str | None = None) -> Key:
        """Find a run by its id.

        Raises
        ------
        ConfigError
            There is none, or several studies have one.
        """
        found = [
            run.info.study for run in self.recs if run.run_id == run_id and study in (None, run.info.study)
        ]
        if not found:
            raise ConfigError(f"there is no run {run_id!r}{f' in {study}' if study else ''}; see recs.runs")
        if len(found) > 1:
            raise ConfigError(
                f"several studies have a run {run_id!r}; say which: run=({found[0]!r}, {run_id!r})"
            )
        return found[0], run_id

    def runs(self, view: View) -> list[RunRow]:
        """List the runs behind the picked estimate, in the order that the view asks for."""
        if view.estimate is None:
            return []
        name, kind, arm = view.estimate
        arms = [arm] if kind == "level" or view.reference is None else [arm, view.reference]
        rows = runs_behind(
            self.recs,
            arms,
            values=self.once(("values", name), lambda: self._values(self.metric(name))),
            left_out=self.left_out(view.without),
            paired=kind != "level" and self._paired(view),
            discarded=self.metric(name).discarded,
        )
        if view.listed != "all":
            rows = [row for row in rows if (row.state == "used") == (view.listed == "used")]
        if view.order == "as recorded":
            return rows
        sign = -1 if (self.metric(name).better != "higher") == (view.order == "worst first") else 1
        return sorted(rows, key=lambda row: (row.value is None, sign * (row.value or 0.0)))

    def _paired(self, view: View) -> bool:
        """Say whether the picked difference was taken within blocks."""
        name, kind, arm = view.estimate or ("", "", "")
        frame = self.estimates(view)
        own = (frame["metric"] == name) & (frame["kind"] == kind) & (frame["arm"] == arm)
        return bool(frame["paired"][own].fillna(value=False).any())

    def _values(self, metric: Metric) -> dict[Key, float]:
        return run_values(self._runs, metric)

    @property
    def _runs(self) -> Runs:
        from ...stats.runs import Runs

        return self.once("runs", lambda: Runs(self.recs))

    def once(self, key: Any, make: Callable[[], Any]) -> Any:  # noqa: ANN401
        """Return what `make` gave for this key before, or let it make it."""
        return self._kept[key] if key in self._kept else self._keep(key, make())

    def _keep(self, key: Any, value: Any) -> Any:  # noqa: ANN401
        while len(self._kept) >= _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = value
        return value


def _metric(metric: object) -> Metric:
    if isinstance(metric, str):
        return named(metric)
    if isinstance(metric, Metric):
        return metric
    raise ConfigError(f"{metric!r} is no metric; use a Metric or one of the names {', '.join(names())}")


class _Kept:
    """Recordings less the runs of other arms and those left out; rows of tables follow their runs."""

    def __init__(self, recs: Recordings, arms: tuple[str, ...], out: Mapping[Key, object]) -> None:
        import numpy as np

        runs = recs.runs
        keys = zip(runs["study"], runs["run_id"], runs["arm"], strict=True)
        kept = [arm in arms and (str(study), str(run)) not in out for study, run, arm in keys]
        self.runs = runs[np.array(kept, dtype=bool)]
        self.table = recs.table
        self.arms = recs.arms
        self.studies = recs.studies
