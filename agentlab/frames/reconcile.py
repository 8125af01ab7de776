"""How an agent's counts are to be read: what its input holds, what is a running total, what is repeated.

Read rightly, a source's counts are those of the gateway; each reading that is possible is tried, exactly
first. Without a gateway the counts themselves have to tell.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from .reports import Report

CONVENTIONS = ("inclusive", "exclusive")
#: Counts this close are the same: a source may leave out what it did not stream to its end.
TOLERANCE = 0.005
_PLACEHOLDER, _TIMES = 1, 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Target:
    """What a gateway counted for some of a run's requests.

    Parameters
    ----------
    name : {"all", "without_titles", "main"}
        Which requests.
    n_requests : int
        How many.
    fresh, input, output, reasoning : int
        Uncached and whole input, output, and the reasoning in it, in tokens.
    """

    name: str
    n_requests: int
    fresh: int | None
    input: int
    output: int
    reasoning: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Totals:
    """What a source counts in all, under one reading.

    Parameters
    ----------
    accumulation : {"each", "cumulative"}
        Whether its reports are added, or each is a running total.
    convention : {"inclusive", "exclusive"}
        What its input holds.
    reasoning : {"inside", "outside", "left_out"}
        Whether its output holds its reasoning; left out: it is not counted at all.
    input, read, write, output : int or None
        In tokens.
    target : str or None
        Requests of the gateway that it agrees with.
    """

    accumulation: str
    convention: str
    reasoning: str
    input: int | None
    read: int | None
    write: int | None
    output: int | None
    target: str | None = None


def distinct(reports: Sequence[Report]) -> list[Report]:
    """Keep one report of each message: agents copy them into other sessions' files, and repeat them.

    Parameters
    ----------
    reports : sequence of Report
        Of one source.

    Returns
    -------
    list of Report
        In order; the last one of a message, whatever its file and session.
    """
    last = {report.message: at for at, report in enumerate(reports)}
    return [r for at, r in enumerate(reports) if r.message is None or last[r.message] == at]


def differences(values: Iterable[int]) -> list[int]:
    """Return what a running total grew by; one that falls began anew.

    Parameters
    ----------
    values : iterable of int
        The running total, in order.

    Returns
    -------
    list of int

    Examples
    --------
    >>> differences([16504, 85681, 103779]), differences([10, 30, 5])
    ([16504, 69177, 18098], [10, 20, 5])
    """
    grown: list[int] = []
    before = 0
    for value in values:
        grown.append(value - before if value >= before else value)
        before = value
    return grown


def readings(reports: Sequence[Report]) -> Iterator[Totals]:
    """Try every way to read a source, the likeliest first.

    Parameters
    ----------
    reports : sequence of Report
        Of one source, each once.

    Yields
    ------
    Totals
    """
    said = next((r.said for r in reports if r.said in CONVENTIONS), "exclusive")
    conventions = sorted(CONVENTIONS, key=lambda name: name != said)
    running = reports[0].scope == "session"
    for accumulation in sorted(("each", "cumulative"), key=lambda name: (name == "each") == running):
        for convention in conventions:
            for reasoning in ("inside", "outside"):
                yield _totals(reports, accumulation, convention, reasoning)


def fitting(reports: Sequence[Report], targets: Sequence[Target]) -> Totals | None:
    """Find the reading under which a source agrees with the gateway.

    Parameters
    ----------
    reports : sequence of Report
        Of one source, each once.
    targets : sequence of Target
        What the gateway counted, all requests first.

    Returns
    -------
    Totals or None
    """
    for tolerance in (0.0, TOLERANCE):
        for target in targets:
            for found in readings(reports):
                if _agrees(found, target.input, target.output, tolerance):
                    return dataclasses.replace(found, target=target.name)
    for target in targets:  # some count no reasoning at all
        for found in readings(reports) if target.reasoning else ():
            if _agrees(found, target.input, target.output - (target.reasoning or 0), 0.0):
                return dataclasses.replace(found, target=target.name, reasoning="left_out")
    return None


def _agrees(found: Totals, wanted_input: int, wanted_output: int, tolerance: float) -> bool:
    """Compare both sides of a source; one that it says nothing of cannot differ."""
    pairs = [(found.input, wanted_input), (found.output, wanted_output)]
    known = [(have, want) for have, want in pairs if have is not None]
    return bool(known) and all(abs(have - want) <= tolerance * want for have, want in known)


def by_itself(reports: Sequence[Report]) -> tuple[str | None, str | None]:
    """Say what a source's own counts tell of its convention and of a running total.

    Parameters
    ----------
    reports : sequence of Report
        Of one source, each once, in order.

    Returns
    -------
    tuple of (str or None, str or None)
        Convention and accumulation; None: they do not tell.
    """
    found = next((told for rule in _RULES if (told := rule(reports)) is not None), None)
    if len(reports) < 2 or reports[0].scope == "request":
        return found, None
    grows = all(
        b >= a
        for one, other in pairwise(reports)
        for a, b in ((one.input, other.input), (one.output, other.output))
        if a is not None and b is not None
    )
    return found, "cumulative" if grows else "each"


def placeholders(reports: Sequence[Report], target: Target | None) -> tuple[bool, bool]:
    """Say whether a source's input and output are placeholders: 0 or 1 in most reports, and far too few.

    Parameters
    ----------
    reports : sequence of Report
        Of one source, each once.
    target : Target or None
        What the gateway counted; without it nothing is called a placeholder.

    Returns
    -------
    tuple of (bool, bool)
        Input, output.
    """
    if target is None:
        return False, False
    fresh = target.input if target.fresh is None else target.fresh
    return _empty([r.input for r in reports], fresh), _empty([r.output for r in reports], target.output)


def _empty(values: Iterable[int | None], seen: int) -> bool:
    known = [value for value in values if value is not None]
    n_empty = sum(value <= _PLACEHOLDER for value in known)
    return 0 < len(known) <= 2 * n_empty and seen >= _TIMES * max(len(known), sum(known))


def _totals(reports: Sequence[Report], accumulation: str, convention: str, reasoning: str) -> Totals:
    def total(value: Callable[[Report], int | None]) -> int | None:
        groups: dict[tuple[str | None, int | None], list[int]] = {}
        for report in reports:
            found = value(report)
            if found is not None:
                groups.setdefault((report.session, report.file), []).append(found)
        if not groups:
            return None
        every = groups.values()
        return sum(sum(differences(g)) if accumulation == "cumulative" else sum(g) for g in every)

    def spoken(report: Report) -> int | None:
        if report.output is None or reasoning == "inside":
            return report.output
        return report.output + (report.reasoning or 0)

    return Totals(
        accumulation=accumulation,
        convention=convention,
        reasoning=reasoning,
        input=total(lambda report: report.whole(convention)),
        read=total(lambda report: report.read),
        write=total(lambda report: report.write),
        output=total(spoken),
    )


def _by_total(reports: Sequence[Report]) -> str | None:
    """Tell by the source's own total, where anything was cached."""
    for r in reports:
        if r.input is None or r.output is None or r.total is None or not r.cached:
            continue
        if r.total == r.input + r.output:
            return "inclusive"
        if r.total in (r.input + r.cached + r.output, r.input + r.cached + r.output + (r.reasoning or 0)):
            return "exclusive"
    return None


def _by_size(reports: Sequence[Report]) -> str | None:
    """More from the cache than all input: it is beside it."""
    return "exclusive" if any(r.input is not None and r.cached > r.input for r in reports) else None


def _by_jump(reports: Sequence[Report]) -> str | None:
    """Where the cache begins to serve, an exclusive input falls by as much and an inclusive one stays."""
    if reports[0].scope != "request":
        return None
    for one, other in pairwise(reports):
        if one.input and other.input and not one.read and other.read and 2 * other.read >= one.input:
            return "exclusive" if other.input < one.input - other.read / 2 else "inclusive"
    return None


_RULES = (_by_total, _by_size, _by_jump)
