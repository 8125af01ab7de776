"""What is told of a session in one call."""

from __future__ import annotations

from .result import ExecResult, State, bounded
from .session import Session


def reported(session: Session, *, preview_bytes: int) -> ExecResult:
    """Take what is new of a session; its end is news once.

    Parameters
    ----------
    session : Session
        May be looked at in any thread.
    preview_bytes : int
        Most bytes of output in the preview.

    Returns
    -------
    ExecResult
    """
    outcome = session.outcome  # first: whatever came before the end is then in what is taken
    state: State = "running"
    if outcome is not None:
        state = "already_exited" if session.reported else "exited"
        session.reported = True
    taken, spool = session.take()
    return ExecResult(
        session=session.number,
        state=state,
        exit_code=outcome and outcome.exit_code,
        ended_by=outcome and outcome.ended_by,
        stopped="timeout" if outcome and outcome.ended_by == "timeout" else None,
        wall_ms=session.wall_ms,
        cpu_s=outcome and outcome.cpu_s,
        offset=taken.offset,
        n_bytes=taken.n_bytes,
        lost_bytes=taken.lost_bytes,
        unsent_bytes=session.unsent_bytes,
        preview=bounded(spool, taken, preview_bytes),
        reads=taken.reads,
        background=session.processes() if outcome else 0,
        survivors=session.survivors,
        spool=spool if taken.n_bytes > preview_bytes else None,
    )
