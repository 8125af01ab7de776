"""The lanes of a run's timeline: what each shows, from which table, and why one may be empty.

A lane is one function from :class:`RunTables` to a :class:`Lane`; :data:`LANES` is their order in the figure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import words
from .lane import Lane, spans_of
from .lanes_browser import PAGE, has_page, page_text, typing
from .lanes_browser import TONES as PAGE_TONES
from .lanes_exec import TONES as EXEC_TONES
from .lanes_exec import commands
from .lanes_terminal import TONES as TERMINAL_TONES
from .lanes_terminal import memory, started, terminals
from .marks import Marks, Tone, rows_of
from .runtables import RunTables, numbers, true
from .style import INK

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

TURN = Tone("prompt to reply", "#404040")
AFTER = Tone("reply to idle", "#b5b5b5", height=0.45)
WAIT = Tone("request to first chunk", "#b9d6ec")
STREAM = Tone("first to last chunk", "#0072b2")
TOOL = Tone("tool call", "#009e73")
FAILED = Tone("failed", "#f3b58d", hatch="/////")
OPEN = Tone("end not seen", "#ffffff", hatch=".....")
TEXT = Tone("text chunk", INK)
REASONING = Tone("reasoning chunk", "#cc79a7", height=0.62)
EVENT = Tone("event", "#595959")
KEPT = Tone("issue", "#e69f00")
DISCARDS = Tone("issue that discards the run", "#d55e00")

#: In the order of the legend.
TONES = (
    *(TURN, AFTER, WAIT, STREAM, FAILED, OPEN, TOOL, TEXT, REASONING),
    *PAGE_TONES,
    *TERMINAL_TONES,
    *EXEC_TONES,
    *(EVENT, KEPT, DISCARDS),
)

#: kind of event -> what it is called; all others are in other lanes, or too many to tell anything
_EVENTS = {
    "status": "retry",
    "agent.error": "error",
    "compacted": "compacted",
    "permission": "permission",
    "question": "question",
    "stream.end": "stream ended",
}


def _unless_foreign(tables: RunTables, why: str) -> str:
    """Say why a lane is empty; of what a file of another program does not tell, nothing is known."""
    return why if tables.run.path is not None else "not in this recording"


def _turns(tables: RunTables) -> Lane:
    """Show each prompt until its reply, and until the session's idle event."""
    import numpy as np

    turns = tables.turns
    sent = tables.seconds(turns["send_ns"])
    reply = sent + numbers(turns["latency_ms"]) / 1e3
    idle = sent + numbers(turns["idle_ms"]) / 1e3
    warm = true(turns["warmup"])
    labels = [f"{n}{' warm-up' if w else ''}" for n, w in zip(turns["turn"], warm, strict=True)]
    over = ~np.isnan(reply)
    closed = np.where(over, reply, _turn_ends(tables))
    is_open = np.isnan(closed)
    failed = ~is_open & (~over | turns["error"].notna().to_numpy(dtype=bool))
    end = np.where(is_open, tables.end, closed)
    row = rows_of(sent, np.fmax(end, idle))
    marks = (
        spans_of(AFTER, reply, idle, row),
        *(
            spans_of(tone, np.where(chosen, sent, np.nan), end, row, labels)
            for tone, chosen in ((TURN, ~failed & ~is_open), (FAILED, failed), (OPEN, is_open))
        ),
    )
    note = words.counted(
        len(turns), "turn", {"warm-up": int(warm.sum()), "without reply": int((~over).sum())}
    )
    why = "no prompt was sent" if not len(turns) else "this recording holds no times of its turns"
    return Lane("turns", marks, note, why=why)


def _turn_ends(tables: RunTables) -> Numbers:
    """Return when each turn was closed; NaN for one that never was."""
    import numpy as np

    ends = tables.events[tables.events["kind"] == "turn.end"]
    keys = zip(ends["session_id"], ends["turn"], strict=True)
    by_turn = dict(zip(keys, tables.seconds(ends["t_ns"]), strict=True))
    turns = zip(tables.turns["session_id"], tables.turns["turn"], strict=True)
    return np.array([by_turn.get(key, np.nan) for key in turns], dtype=float)


def _agent(tables: RunTables) -> Lane:
    """Show the model requests as the agent tells of them."""
    import numpy as np

    requests = tables.requests[tables.requests["source"].isin(["agent", "both"])]
    begin = tables.seconds(requests["agent_begin_ns"])
    arrived = tables.seconds(tables.chunks["arrive_ns"])
    first, last = _extent(numbers(requests["request"]), numbers(tables.chunks["request"]), arrived)
    # what streamed nothing that the agent passes on shows its first sign with its tool call
    tools = tables.tools.groupby("message_id")["first_seen_ns"].min()
    done = tables.seconds(requests["agent_end_ns"])
    sign = np.fmin(tables.seconds(requests["message_id"].map(tools)), done)
    first = np.where(np.isnan(first), sign, first)
    last = np.where(np.isnan(last), first, last)
    why = "no model request is told of" if len(tables.requests) else "no model request"
    return _requests("requests:\nagent", tables, requests, begin, first, last, done, why)


def _gateway(tables: RunTables) -> Lane:
    """Show the model requests as the gateway saw them."""
    import numpy as np

    requests = tables.requests[tables.requests["source"].isin(["gateway", "both"])]
    begin = tables.seconds(requests["send_ns"])
    first = begin + numbers(requests["first_chunk_ms"]) / 1e3
    last = begin + numbers(requests["latency_ms"]) / 1e3
    ends = tables.events[tables.events["kind"] == "request.end"]
    by_number = dict(zip(ends["gateway_request"], tables.seconds(ends["t_ns"]), strict=True))
    done = np.array([by_number.get(n, np.nan) for n in requests["gateway_request"]], dtype=float)
    path = tables.run.path
    had = path is not None and (path / "gateway.jsonl").exists()
    why = "no request of this run reached the gateway" if had else _unless_foreign(tables, "no gateway")
    return _requests("requests:\ngateway", tables, requests, begin, first, last, done, why)


def _requests(
    name: str, tables: RunTables, requests: pd.DataFrame, begin: Numbers, first: Numbers, last: Numbers,
    done: Numbers, why: str,
) -> Lane:  # fmt: skip
    """Tell the wait for the first chunk from the stream; failed ones and those without an end apart."""
    import numpy as np

    failed = requests["status"].isin(["failed", "aborted"]).to_numpy(dtype=bool)
    ended = np.fmax(last, np.where(failed, done, np.nan))
    ended = np.where(np.isnan(ended), done, ended)
    is_open = np.isnan(ended)
    ended = np.where(is_open, tables.end, ended)
    row = rows_of(begin, ended)
    good = ~failed & ~is_open
    first = np.where(np.isnan(first), ended, first)
    marks = (
        spans_of(WAIT, np.where(good, begin, np.nan), first, row),
        spans_of(STREAM, np.where(good & (last > first), first, np.nan), last, row),
        spans_of(FAILED, np.where(failed & ~is_open, begin, np.nan), ended, row),
        spans_of(OPEN, np.where(is_open, begin, np.nan), ended, row),
    )
    chains = requests["chain"].fillna("no session").value_counts()
    parts = {str(chain): int(n) for chain, n in chains.items() if chain != "main"}
    parts |= {"failed": int(failed.sum()), "without times": int(np.isnan(begin).sum())}
    note = words.counted(len(requests), "request", parts)
    if len(requests) and all(not len(mark) for mark in marks):
        why = "this recording holds no times of its requests"
    return Lane(name, marks, note, why=why)


def _extent(wanted: Numbers, owner: Numbers, stamps: Numbers) -> tuple[Numbers, Numbers]:
    """Return the first and the last known stamp of each wanted owner; NaN for one without any."""
    import numpy as np

    known = np.isfinite(stamps) & np.isfinite(owner)
    at = owner[known].astype(np.intp)
    size = int(max(wanted.max(initial=0), at.max(initial=0))) + 1
    first, last = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(first, at, stamps[known])
    np.maximum.at(last, at, stamps[known])
    chosen = wanted.astype(np.intp)
    return tuple(np.where(np.isfinite(x), x, np.nan)[chosen] for x in (first, last))  # type: ignore[return-value]


def _tools(tables: RunTables) -> Lane:
    """Show the tool calls by the agent's stamps, else by its reports."""
    import numpy as np

    tools = tables.tools
    start = tables.seconds(tools["start_ns"])
    begin = np.where(np.isnan(start), tables.seconds(tools["first_seen_ns"]), start)
    end = start + numbers(tools["duration_ms"]) / 1e3
    failed, unknown = true(tools["failed"]), tools["failed"].isna().to_numpy(dtype=bool)
    is_open = np.isnan(end) & unknown
    end = np.where(np.isnan(end), np.where(is_open, tables.end, begin), end)
    row = rows_of(begin, end)
    labels = [str(name) for name in tools["name"].fillna("?")]
    marks = tuple(
        spans_of(tone, np.where(chosen, begin, np.nan), end, row, labels)
        for tone, chosen in ((TOOL, ~failed & ~is_open), (FAILED, failed), (OPEN, is_open))
    )
    note = words.counted(len(tools), "call", {"failed": int(failed.sum())})
    return Lane("tools", marks, note, why=_unless_foreign(tables, "no tool call"))


def _chunks(tables: RunTables) -> Lane:
    """Show what was streamed and can be read: text and reasoning, when it arrived."""
    import numpy as np

    chunks = tables.chunks
    arrived = tables.seconds(chunks["arrive_ns"])
    side = "agent"
    if len(chunks) and not np.isfinite(arrived).any():
        arrived, side = tables.seconds(chunks["gateway_ns"]), "gateway"
    visible = true(chunks["visible"]) & np.isfinite(arrived)
    marks: list[Marks] = []
    for tone, kind in ((TEXT, "text"), (REASONING, "reasoning")):
        stamps = arrived[visible & (chunks["kind"] == kind).to_numpy(dtype=bool, na_value=False)]
        marks.append(Marks(tone, stamps, stamps))
    why = "no visible text arrived" if len(chunks) else _unless_foreign(tables, "no chunk was streamed")
    note = words.count(sum(map(len, marks)), "chunk")
    return Lane(f"chunks:\n{side}", tuple(marks), note, ticks=True, why=why)


def _events(tables: RunTables) -> Lane:
    """Show retries, errors, compactions, refused permissions and a stream that broke."""
    events = tables.events
    state = events["state"].fillna("")
    quiet = ((events["kind"] == "status") & (state != "retry")) | (
        (events["kind"] == "stream.end") & state.isin(["closed", ""])
    )
    shown = events[events["kind"].isin(list(_EVENTS)) & ~quiet.fillna(value=False)]
    labels = [_EVENTS[str(kind)] for kind in shown["kind"]]
    at = tables.seconds(shown["t_ns"])
    note = ", ".join(f"{name} {labels.count(name):,}" for name in dict.fromkeys(labels))
    why = (
        "no retry, error, compaction or question"
        if events["t_ns"].notna().any()
        else "this recording holds no events"
    )
    return Lane("events", (spans_of(EVENT, at, at, labels=labels),), note, ticks=True, why=why)


def _issues(tables: RunTables) -> Lane:
    """Show the coded doubts."""
    import numpy as np

    issues = tables.issues
    at = tables.seconds(issues["t_ns"])
    discard = true(issues["discard"])
    labels = [str(code) for code in issues["code"]]
    marks = tuple(
        spans_of(tone, np.where(chosen, at, np.nan), at, labels=labels)
        for tone, chosen in ((KEPT, ~discard), (DISCARDS, discard))
    )
    parts = {"discarding": int(discard.sum()), "without a time": int(np.isnan(at).sum())}
    note = words.counted(len(issues), "issue", parts)
    why = "none" if not len(issues) else f"without a time: {', '.join(dict.fromkeys(labels))}"
    return Lane("issues", marks, note, ticks=True, why=why)


#: Of a conversation; a run on terminals or of commands has none.
TALK: tuple[Callable[[RunTables], Lane], ...] = (_turns, _agent, _gateway, _tools, _chunks)
LANES: tuple[Callable[[RunTables], Lane], ...] = (*TALK, *PAGE, terminals, commands, memory, _events, _issues)


def lanes_of(tables: RunTables) -> list[Lane]:
    """Make the lanes of one run; those of what it is not about are left out.

    Parameters
    ----------
    tables : RunTables
        The run.

    Returns
    -------
    list of Lane
        From the top. A run without prompts whose sessions were started on terminals, or that is of commands,
        has no lanes of a conversation, and neither has a trace alone; sessions on terminals, commands, memory
        and a page have some only where there are any.
    """
    on_terminals, on_page = len(started(tables)) > 0, has_page(tables)
    absent: set[Callable[[RunTables], Lane]] = set() if on_terminals else {terminals}
    if not len(tables.exec):
        absent |= {commands}
    if tables.n_prompts == 0 and (on_terminals or on_page or len(tables.exec)):
        absent |= {*TALK, page_text}
    if not on_page:
        absent |= set(PAGE)
    elif not len(tables.interactions):
        absent |= {typing}
    if not len(tables.memory):
        absent |= {memory}
    return [lane(tables) for lane in LANES if lane not in absent]
