"""The usage auditor: the gateway's counts against the agent's own report and against its transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ConfigError
from .reading import Reading
from .reconcile import (
    TOLERANCE,
    Target,
    Totals,
    by_itself,
    distinct,
    fitting,
    placeholders,
    readings,
)
from .reports import Report, reports_of
from .values import as_int, as_text

if TYPE_CHECKING:
    import pandas as pd

#: finding -> meaning.
FINDINGS: dict[str, str] = {
    "agrees": "read rightly it says what the gateway says",
    "omits_requests": "it says what the gateway says of all requests but titles, or of the main chain only",
    "omits_reasoning": "its output lacks the reasoning, which is billed as output",
    "differs": "no reading agrees with the gateway",
    "placeholder": "its input or output is 0 or 1 in most reports: the source is unusable for it",
    "implausible": "its parts contradict its own input: more cached tokens than input in an inclusive source",
    "schema_unknown": "a transcript's format is not known, so nothing in it was counted",
    "no_counts": "the agent gives no counts",
    "no_gateway": "nothing to compare it with",
    "gateway_unknown": "the gateway itself lacks the usage of some requests",
}


class _Tables(Protocol):
    def table(self, name: str) -> pd.DataFrame: ...


def audit(recs: _Tables) -> pd.DataFrame:
    """Compare what an agent counts of its own tokens and money with what the gateway saw.

    Each source is read in every way that is possible (input with or without the cached tokens, reports to be
    added or running totals, repeats of a message in several files, reasoning inside or beside the output);
    the reading that agrees with the gateway is the right one, and the factors say what another one costs.

    Parameters
    ----------
    recs : Recordings or Recording
        What was recorded.

    Returns
    -------
    pandas.DataFrame
        The table ``audit``, one row per run and source: ``finding``, ``flags``, ``detail`` and the counts of
        both sides, tokens and USD; see ``docs/tables.md``. Runs without any counts have one row.

    Raises
    ------
    ConfigError
        It is none of them.

    Examples
    --------
    >>> import agentlab as al
    >>> found = audit(al.load(al.example("cache")))
    >>> sorted(set(found["finding"]))
    ['agrees']
    """
    if not hasattr(recs, "table"):
        raise ConfigError(f"audit({type(recs).__name__}): give Recordings, e.g. audit(load('studies/cache'))")
    return recs.table("audit")


def build_audit(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    groups: dict[tuple[str, str], list[Report]] = {}
    for report in reports_of(read):
        groups.setdefault((report.source, report.scope), []).append(report)
    seen = _gateway(read)
    files = [event for event in read.events if event["kind"] == "transcript"]
    rows = [_row(reports, seen, files) for reports in groups.values()]
    if _unread(files) and not any(source == "transcript" for source, _ in groups):
        rows.append(_empty("transcript", "request", "schema_unknown", files))
    if not rows:
        rows.append(_empty("none", "request", "no_counts", files))
    return [{**read.run.key(), **seen.columns(), **row} for row in rows]


class _Gateway:
    """What the gateway counted in a run."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.rows = rows
        self.known = [
            r for r in rows if r["input_total_tokens"] is not None and r["output_tokens"] is not None
        ]
        costs = [row["cost_usd"] for row in rows]
        self.cost = sum(costs) if costs and None not in costs else None
        self.targets = list(self._targets())

    def _targets(self) -> list[Target]:
        chosen = {
            "all": self.known,
            "without_titles": [row for row in self.known if row["chain"] != "title"],
            "main": [row for row in self.known if row["chain"] in ("main", None)],
        }
        return [
            Target(
                name=name,
                n_requests=len(rows),
                fresh=_sum(rows, "input_uncached_tokens"),
                input=_sum(rows, "input_total_tokens") or 0,
                output=_sum(rows, "output_tokens") or 0,
                reasoning=_sum(rows, "reasoning_tokens"),
            )
            for name, rows in chosen.items()
            if rows
        ]

    def columns(self) -> dict[str, Any]:
        if not self.rows:
            return {}
        return {
            "gateway_requests": len(self.rows),
            "gateway_unknown": len(self.rows) - len(self.known),
            "gateway_input_total_tokens": _sum(self.known, "input_total_tokens"),
            "gateway_cache_read_tokens": _sum(self.known, "cache_read_tokens"),
            "gateway_output_tokens": _sum(self.known, "output_tokens"),
            "gateway_cost_usd": self.cost,
        }


def _gateway(read: Reading) -> _Gateway:
    return _Gateway([row for row in read.request_rows if row["counted"] and row["source"] != "agent"])


def _row(reports: list[Report], seen: _Gateway, files: Sequence[dict[str, Any]]) -> dict[str, Any]:
    once = distinct(reports)
    target = seen.targets[0] if seen.targets else None
    empty = placeholders(once, target)
    found = fitting(once, seen.targets) if not any(empty) else None
    hint, running = by_itself(once)
    right = found or _likeliest(once, hint, running, reports[0].scope)
    convention = right.convention if found is not None else hint
    if not any(report.cached for report in once):
        convention = None
    accumulation = None if len(once) < 2 else right.accumulation
    cost, rising = _cost(once, seen.cost)
    said = reports[0].said
    plain = sum(report.whole(right.convention) or 0 for report in reports)
    finding = _finding(once, right, found, empty, seen)
    row: dict[str, Any] = {
        "source": reports[0].source,
        "scope": reports[0].scope,
        "finding": finding,
        "convention_said": said,
        "convention": convention,
        "accumulation": accumulation,
        "n_reports": len(reports),
        "n_distinct": len(once),
        "n_files": len(files) if reports[0].source == "transcript" and files else None,
        "input_total_tokens": None if empty[0] else right.input,
        "cache_read_tokens": right.read,
        "cache_write_tokens": right.write,
        "output_tokens": None if empty[1] else right.output,
        "cost_usd": cost,
        "input_factor": _ratio(right.input, target.input if target else None),
        "output_factor": _ratio(right.output, target.output if target else None),
        "cost_factor": _ratio(cost, seen.cost),
        "sum_factor": None if empty[0] else _ratio(plain, right.input),
        "misread_factor": None if convention is None else _ratio(_misread(once, right).input, right.input),
    }
    flags = [
        *([convention] if convention else []),
        *(["misdeclared"] if convention and said and convention != said else []),
        *(["cumulative"] if accumulation == "cumulative" else []),
        *(["duplicated"] if len(once) < len(reports) else []),
        *(["reasoning_outside"] if found and found.reasoning == "outside" else []),
        *(["placeholder_input"] if empty[0] else []),
        *(["placeholder_output"] if empty[1] else []),
        *(["cost_cumulative"] if rising else []),
        *(["unread_files"] if reports[0].source == "transcript" and _unread(files) else []),
    ]
    row |= {"flags": ",".join(flags) or None}
    return row | {"detail": _detail(row, found)}


def _likeliest(reports: list[Report], hint: str | None, running: str | None, scope: str) -> Totals:
    """Read a source that no reading makes agree: by what it tells itself, else as it is known for."""
    wanted = running or ("cumulative" if scope == "session" else "each")
    said = hint or reports[0].said or "exclusive"
    return next(r for r in readings(reports) if (r.accumulation, r.convention) == (wanted, said))


def _misread(reports: list[Report], right: Totals) -> Totals:
    """Return the same reading but for the convention of its input."""
    return next(
        r
        for r in readings(reports)
        if r.accumulation == right.accumulation and r.convention != right.convention
    )


def _finding(
    reports: list[Report], right: Totals, found: Totals | None, empty: tuple[bool, bool], seen: _Gateway
) -> str:
    if any(empty):
        return "placeholder"
    if found is not None and found.reasoning == "left_out":
        return "omits_reasoning"
    if found is not None:
        whole = found.target == "all" or seen.targets[0].n_requests == _n_requests(seen, found)
        return "agrees" if whole else "omits_requests"
    if right.convention == "inclusive" and any(r.input is not None and r.cached > r.input for r in reports):
        return "implausible"
    if not seen.targets:
        return "gateway_unknown" if seen.rows else "no_gateway"
    return "differs" if len(seen.known) == len(seen.rows) else "gateway_unknown"


def _n_requests(seen: _Gateway, found: Totals) -> int:
    return next(target.n_requests for target in seen.targets if target.name == found.target)


def _cost(reports: list[Report], gateway: float | None) -> tuple[float | None, bool]:
    """Add the costs, or take the last where they are a running total; 0 is what an unknown price gives."""
    costs = [report.cost for report in reports if report.cost is not None]
    if not any(costs):
        return None, False
    added = sum(costs)
    grown = costs[-1] if costs == sorted(costs) else None
    if grown is None or len(costs) < 2:
        return added, False
    if gateway is None:  # of one process a cost that never falls is a running total as often as not
        return grown if reports[0].scope != "request" else added, reports[0].scope != "request"
    rising = abs(grown - gateway) < abs(added - gateway)
    return (grown, True) if rising else (added, False)


def _detail(row: dict[str, Any], found: Totals | None) -> str:
    """Say in words what was found; numbers and words of ours only."""
    parts = [FINDINGS[row["finding"]]]
    if row["finding"] == "placeholder":
        names = [n for n in ("input", "output") if f"placeholder_{n}" in (row["flags"] or "")]
        parts = [f"{row['source']} unusable for {' and '.join(names)}: 0 or 1 in most reports"]
    if found is not None and row["finding"] == "omits_requests":
        parts.append(f"input x{row['input_factor']:.3f}")
    elif row["finding"] == "omits_reasoning":
        parts.append(f"output x{row['output_factor']:.2f}")
    elif row["finding"] == "differs":
        sides = [(n, row[f"{n}_factor"]) for n in ("input", "output") if row[f"{n}_factor"] is not None]
        parts += [f"{name} x{value:.2f}" for name, value in sides]
    if row["misread_factor"] is not None and abs(row["misread_factor"] - 1) > TOLERANCE:
        other = "exclusive" if row["convention"] == "inclusive" else "inclusive"
        parts.append(f"x{row['misread_factor']:.2f} if its input is read as {other}")
    if row["sum_factor"] is not None and abs(row["sum_factor"] - 1) > TOLERANCE:
        parts.append(f"x{row['sum_factor']:.2f} if all its reports are added")
    if row["cost_factor"] is not None and abs(row["cost_factor"] - 1) > TOLERANCE:
        parts.append(f"cost x{row['cost_factor']:.3g}, the gateway's counts")
    return "; ".join(parts)


def _empty(source: str, scope: str, finding: str, files: Sequence[dict[str, Any]]) -> dict[str, Any]:
    unread = _unread(files)
    detail = FINDINGS[finding] + (f": file {', '.join(unread)}" if unread else "")
    about = {"source": source, "scope": scope, "finding": finding, "detail": detail}
    return {**about, "n_reports": 0, "n_distinct": 0, "n_files": len(files) or None}


def _unread(files: Sequence[dict[str, Any]]) -> list[str]:
    return [str(as_int(f.get("file"))) for f in files if as_text(f.get("schema")) == "unknown"]


def _sum(rows: Sequence[dict[str, Any]], name: str) -> int | None:
    values = [row[name] for row in rows]
    return sum(values) if values and None not in values else None


def _ratio(have: float | None, want: float | None) -> float | None:
    return None if have is None or not want else have / want
