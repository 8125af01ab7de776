"""The code cell that makes what a view shows."""

from __future__ import annotations

import dataclasses
import json
from functools import partial
from pathlib import Path

from ...errors import AgentlabError, ConfigError
from ...stats.metrics import Metric, named
from .study import Study
from .view import View

_OUT = 'out = recs.issues[recs.issues["eligible"] & recs.issues["code"].isin({codes})]'
_IN = 'recs.where(run_id=set(recs.runs["run_id"]) - set(out["run_id"]))'


def code_cell(study: Study, view: View) -> str:
    """Write the code that loads the recordings, filters, compares and draws as the view does.

    Parameters
    ----------
    study : Study
        Recordings and metrics.
    view : View
        What is looked at.

    Returns
    -------
    str
        Executed in the same folder, its ``estimates`` equal those of the view.
    """
    lines = ["import agentlab as al", ""]
    loads, codes = _loads(study), list(view.without)
    if codes and len(loads) > 1:  # run ids are told apart only inside a study
        lines += ["def quiet(recs):", f"    {_OUT.format(codes=_said(codes))}", f"    return {_IN}", ""]
        loads = [f"quiet({load})" for load in loads]
    lines.append(f"recs = {' + '.join(loads)}")
    if codes and len(loads) == 1:
        lines += [_OUT.format(codes=_said(codes)), f"recs = {_IN}"]
    if set(view.arms) != set(study.recs.arms):
        lines.append(f"recs = recs.where(arm={_said(view.arms)})")
    lines += ["", _compare(study, view)]
    note = study.filter_note(view)
    if note:
        lines.append(f'estimates.attrs["agentlab"]["notes"] = {_said([note])}')
    return "\n".join([*lines, "ax = al.plot_estimates(estimates)", ""])


def _loads(study: Study) -> list[str]:
    """Write how each study is loaded; a part of one is named run by run."""
    recs = study.recs
    found: list[str] = []
    for path, about in zip(recs.paths, recs.studies, strict=True):
        kept = [run.run_id for run in recs if run.info.study == about["name"]]
        there = study.once(("there", path), partial(_there, path))
        part = "" if there in (None, set(kept)) else f".where(run_id={_said(kept)})"
        found.append(f"al.load({_path(path)}){part}")
    return found


def _there(path: Path) -> set[str] | None:
    """Return the ids of a study's runs; None when it is gone, which the code will say itself."""
    from ...recording import load

    try:
        return {run.run_id for run in load(path)}
    except AgentlabError:
        return None


def _path(path: Path) -> str:
    """Write a path that works here without telling more of this machine than it must."""
    from ...recording import example

    full = path.expanduser().absolute()
    try:
        if full == example(full.name).absolute():
            return f"al.example({_said(full.name)})"
    except ConfigError:
        pass
    for base, prefix in ((Path.cwd(), ""), (Path.home(), "~/")):
        if full.is_relative_to(base) and full != base:
            return _said(prefix + str(full.relative_to(base)))
    return _said(str(full))


def _compare(study: Study, view: View) -> str:
    said = [_metric(study.metric(name)) for name in view.metrics]
    if view.reference is not None:
        said.append(f"reference={_said(view.reference)}")
    for name, usual in (("paired", "auto"), ("level", 0.95), ("interval", "auto")):
        value = getattr(view, name)
        if value != usual:
            said.append(f"{name}={_said(value) if isinstance(value, str) else value}")
    line = f"estimates = al.compare(recs, {', '.join(said)})"
    if len(line) <= 100:
        return line
    return "estimates = al.compare(\n    recs,\n" + "".join(f"    {one},\n" for one in said) + ")"


def _metric(metric: Metric) -> str:
    """Write a metric: the name of a named one, else its fields."""
    try:
        if named(metric.name) == metric:
            return _said(metric.name)
    except ConfigError:
        pass
    fields = dataclasses.fields(metric)
    given = [(field.name, getattr(metric, field.name)) for field in fields if _given(metric, field)]
    return f"al.Metric({', '.join(f'{name}={value!r}' for name, value in given)})"


def _given(metric: Metric, field: dataclasses.Field[object]) -> bool:
    return getattr(metric, field.name) != field.default


def _said(value: object) -> str:
    """Write a text, or a list of texts, with double quotes."""
    return json.dumps(value, ensure_ascii=False)
