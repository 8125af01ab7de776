"""How a turn ended: by the gateway first, then by the agent's own events; never by the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ...agents.base import Outcome

Status = Literal["answered", "error", "budget", "balance", "limit", "stopped", "timeout"]
Cut = Literal["timeout", "stall", "cancelled"]


class Verdict(NamedTuple):
    """Hold how a turn ended.

    Parameters
    ----------
    status : str
        ``answered``, ``error``, ``budget``, ``balance``, ``limit``, ``stopped`` or ``timeout``.
    reason : str or None
        A code; None: answered.
    """

    status: Status
    reason: str | None

    @property
    def ended(self) -> str:
        """The ``reason`` of ``turn.end``."""
        return {"answered": "complete", "timeout": self.reason or "timeout", "stopped": "cancelled"}.get(
            self.status, "error"
        )


def judge(
    outcome: Outcome,
    *,
    ending: str | None,
    cut: Cut | None,
    exit_code: int | None,
    requests: Sequence[Mapping[str, Any]],
) -> Verdict:
    """Judge one turn.

    Parameters
    ----------
    outcome : Outcome
        What the agent says itself.
    ending : str or None
        How the gateway ended the run: ``budget``, ``balance``, ``limit``, ``upstream`` or ``error``.
    cut : {"timeout", "stall", "cancelled"} or None
        Why it was ended from here.
    exit_code : int or None
        Of its process; negative: the signal. It explains an error and decides nothing.
    requests : sequence of mapping
        The turn's requests, as the gateway recorded them.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> judge(Outcome(True, "stop", "ok"), ending="budget", cut=None, exit_code=0, requests=())
    Verdict(status='budget', reason='budget')
    """
    if ending == "budget" or ending == "balance" or ending == "limit":
        return Verdict(ending, ending)
    if ending is not None:
        return Verdict("error", "ledger" if ending == "error" else _why(outcome, exit_code, requests))
    if cut is not None:
        return Verdict("stopped" if cut == "cancelled" else "timeout", cut)
    if outcome.answered:
        return Verdict("answered", None)
    return Verdict("error", _why(outcome, exit_code, requests))


def doubts(requests: Sequence[Mapping[str, Any]], *, retried: bool) -> list[tuple[str, str]]:
    """Doubt an answer that came without a request, or in spite of a failed one.

    Parameters
    ----------
    requests : sequence of mapping
        The turn's requests, as the gateway recorded them.
    retried : bool
        Whether the agent itself said that it asked again; not all that do so say it.

    Returns
    -------
    list of (str, str)
        Code and detail of each issue.

    Examples
    --------
    >>> again = {"request": 2, "retry_of": 1, "terminal_seen": True}
    >>> doubts([{"request": 1, "status": 500}, again], retried=False)
    [('retry', '1 requests were sent again')]
    """
    if not requests:
        return [("turn_unproven", "it answered without a request to the gateway")]
    found: list[tuple[str, str]] = []
    broken = {row["request"]: row for row in requests if not row.get("terminal_seen")}
    again = broken.keys() & {row.get("retry_of") for row in requests}
    if again or retried:
        found.append(("retry", f"{len(again)} requests were sent again" if again else "the agent said so"))
    for number in sorted(broken.keys() - again):
        row = broken[number]
        if number == requests[-1]["request"]:
            found.append(("turn_unproven", "the last model request ended without its end"))
        elif not (row.get("refused") or row.get("fault") == "client_gone"):
            found.append(("gateway_fault", f"{_failure(row)}; the agent went on"))
    return found


def _failure(row: Mapping[str, Any]) -> str | None:
    """Name how a request failed; None: it did not."""
    status = row.get("status")
    if isinstance(status, int) and status >= 400:
        return f"http_{status}"
    return None if row.get("terminal_seen") else str(row.get("fault") or "cut")


def _why(outcome: Outcome, exit_code: int | None, requests: Sequence[Mapping[str, Any]]) -> str:
    """Find the code of an error: how its last request failed, else how it says that it stopped."""
    last = requests[-1] if requests else {}
    if exit_code is not None and exit_code < 0:
        return f"signal_{-exit_code}"
    if last.get("refused") and last.get("reason"):
        return str(last["reason"]).partition(":")[0]
    if last and (failure := _failure(last)) is not None:
        return failure
    if not requests:
        return "no_request"
    return outcome.stop or "no_answer"
