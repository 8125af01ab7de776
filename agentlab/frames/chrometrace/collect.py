"""Turn the events that are not slices into rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from .arguments import (
    AnimationArgs,
    CounterArgs,
    FrameArgs,
    InputArgs,
    InputData,
    MarkArgs,
    Number,
    Reporter,
    ScriptInfo,
    ShiftArgs,
    TimingInfo,
)
from .events import Event, as_ns
from .kinds import AnimationFrame, Counter, EventTiming, Frame, LayoutShift, Mark, Script
from .profiles import ProfileParts
from .threads import Threads

_MARKS = "blink.user_timing"
_INT = 2**63


class Piece(NamedTuple):
    """A begin, an end or an instant of something asynchronous."""

    t_ns: int
    key: tuple[object, ...]
    ph: str
    name: str
    pid: int | None
    thread: int
    args: Any


class Rows(NamedTuple):
    """Everything beside the slices, each kind in the order of time."""

    marks: tuple[Mark, ...]
    frames: tuple[Frame, ...]
    animation_frames: tuple[AnimationFrame, ...]
    event_timings: tuple[EventTiming, ...]
    layout_shifts: tuple[LayoutShift, ...]
    counters: tuple[Counter, ...]
    n_screenshots: int


_Decode = Callable[[msgspec.Raw], Any]
_Into = Callable[[Event, int, Any], None]


def _decoder(kind: Any) -> _Decode:  # noqa: ANN401
    return msgspec.json.Decoder(kind).decode


def _same(args: msgspec.Raw) -> msgspec.Raw:
    return args


class Collector:
    """Collect rows while a trace is read.

    Attributes
    ----------
    profiles : ProfileParts
        CPU profiles inside the trace.
    n_unparsable : int
        Events of a known name whose arguments are not what they should be.
    """

    def __init__(self, threads: Threads) -> None:
        self.profiles = ProfileParts()
        self.n_unparsable = 0
        self._threads = threads
        self._marks: list[Mark] = []
        self._shifts: list[LayoutShift] = []
        self._counters: list[Counter] = []
        self._pieces: dict[str, list[Piece]] = {"frame": [], "animation": [], "input": []}
        self._screenshots = 0
        self._mark_of: tuple[_Decode, _Into] = _decoder(MarkArgs), self._mark
        animation, profile = (_decoder(AnimationArgs), self._animation), (_same, self._profile)
        self._wanted: dict[str, tuple[_Decode, _Into]] = {
            "PipelineReporter": (_decoder(FrameArgs), self._frame),
            "AnimationFrame": animation,
            "AnimationFrame::Render": animation,
            "AnimationFrame::StyleAndLayout": animation,
            "AnimationFrame::Presentation": animation,
            "AnimationFrame::FirstUIEvent": animation,
            "AnimationFrame::Script::Execute": animation,
            "EventTiming": (_decoder(InputArgs), self._input),
            "LayoutShift": (_decoder(ShiftArgs), self._shift),
            "UpdateCounters": (_decoder(CounterArgs), self._counter),
            "Profile": profile,
            "ProfileChunk": profile,
            "Screenshot": (_same, self._screenshot),
        }

    def add(self, event: Event) -> None:
        """Take an event; those of no kind wanted are passed over."""
        wanted = self._wanted.get(event.name)
        if wanted is None:
            self.add_mark(event)
        else:
            self._take(event, *wanted)

    def add_mark(self, event: Event) -> None:
        """Take an event if it is a mark."""
        if event.cat is not None and _MARKS in event.cat and event.ph in ("I", "i", "R"):
            self._take(event, *self._mark_of)

    def finish(self, places: list[int]) -> Rows:
        """Return all rows.

        Parameters
        ----------
        places : list of int
            Place of each thread's number.

        Returns
        -------
        Rows
        """

        def placed(rows: Sequence[Any]) -> tuple[Any, ...]:
            found = (row._replace(thread=places[row.thread]) for row in rows)
            return tuple(sorted(found, key=lambda row: row.t_ns))

        pieces = {kind: placed(found) for kind, found in self._pieces.items()}
        return Rows(
            placed(self._marks),
            _frames(pieces["frame"]),
            _animation_frames(pieces["animation"]),
            _event_timings(pieces["input"]),
            placed(self._shifts),
            placed(self._counters),
            self._screenshots,
        )

    def _take(self, event: Event, decode: _Decode, take: _Into) -> None:
        at = as_ns(event.ts)
        try:
            args = decode(event.args)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            args = None
        if at is None or args is None:
            self.n_unparsable += 1
        else:
            take(event, at, args)

    def _mark(self, event: Event, at: int, args: MarkArgs) -> None:
        thread = self._threads.code(event.pid, event.tid)
        self._marks.append(Mark(event.name, at, thread, args.data.startTime))

    def _shift(self, event: Event, at: int, args: ShiftArgs) -> None:
        data, thread = args.data, self._threads.code(event.pid, event.tid)
        self._shifts.append(
            LayoutShift(
                at,
                thread,
                data.score,
                data.weighted_score_delta,
                data.cumulative_score,
                data.had_recent_input,
                data.is_main_frame,
            )
        )

    def _counter(self, event: Event, at: int, args: CounterArgs) -> None:
        data, thread = args.data, self._threads.code(event.pid, event.tid)
        counts = (data.jsHeapSizeUsed, data.nodes, data.documents, data.jsEventListeners)
        self._counters.append(Counter(at, thread, *map(_whole, counts)))

    def _piece(self, kind: str, event: Event, at: int, args: object) -> None:
        if event.ph not in ("b", "e", "n"):
            return  # an arrow from one to another
        thread = self._threads.code(event.pid, event.tid)
        pid = _whole(event.pid) if isinstance(event.pid, (int, float)) else None
        self._pieces[kind].append(Piece(at, event.key, event.ph, event.name, pid, thread, args))

    def _frame(self, event: Event, at: int, args: FrameArgs) -> None:
        self._piece("frame", event, at, args.frame_reporter or args.chrome_frame_reporter)

    def _animation(self, event: Event, at: int, args: AnimationArgs) -> None:
        self._piece("animation", event, at, args)

    def _input(self, event: Event, at: int, args: InputArgs) -> None:
        self._piece("input", event, at, args.data)

    def _profile(self, event: Event, at: int, args: msgspec.Raw) -> None:
        if not self.profiles.add(event, args):
            self.n_unparsable += 1

    def _screenshot(self, event: Event, at: int, args: object) -> None:
        self._screenshots += 1


def _pairs(pieces: Iterable[Piece]) -> list[tuple[Piece, Piece | None]]:
    """Match begins with the next end of their key, in the order of time; instants have none."""
    found: list[tuple[Piece, Piece | None]] = []
    waiting: dict[tuple[object, ...], list[int]] = {}
    for piece in pieces:
        stack = waiting.setdefault((*piece.key, piece.name), [])
        if piece.ph == "b":
            stack.append(len(found))
        if piece.ph != "e":
            found.append((piece, None))
        elif stack:
            place = stack.pop()
            found[place] = (found[place][0], piece)
    return found


def _frames(pieces: Sequence[Piece]) -> tuple[Frame, ...]:
    rows: list[Frame] = []
    for begin, end in _pairs(pieces):
        about: Reporter = begin.args or (end.args if end is not None else None) or Reporter()
        rows.append(
            Frame(
                begin.t_ns,
                None if end is None else end.t_ns,
                begin.pid,
                _without(about.state, "STATE_"),
                about.affects_smoothness,
                about.has_missing_content,
                _whole(about.frame_sequence),
                _whole(about.frame_source),
                _without(about.scroll_state, "SCROLL_"),
            )
        )
    return tuple(rows)


def _animation_frames(pieces: Sequence[Piece]) -> tuple[AnimationFrame, ...]:
    """Build animation frames; their stages name the frame by its key, and the last one by its id."""
    rows: list[AnimationFrame] = []
    current: dict[tuple[object, ...], AnimationFrame] = {}
    by_id: dict[object, AnimationFrame] = {}
    for begin, end in _pairs(pieces):
        args: AnimationArgs = begin.args
        end_ns = None if end is None else end.t_ns
        frame = current.get(begin.key)
        if begin.name == "AnimationFrame":
            about = args.animation_frame_timing_info or TimingInfo()
            frame = AnimationFrame(
                begin.t_ns,
                end_ns,
                begin.thread,
                about.duration_ms,
                about.blocking_duration_ms,
                _whole(about.num_scripts),
            )
            rows.append(frame)
            current[begin.key] = by_id[args.id] = frame
        elif begin.name == "AnimationFrame::Presentation":
            frame = by_id.get(args.id, frame)
            if frame is not None:
                frame.presentation_ns = begin.t_ns
        elif frame is None:
            continue
        elif begin.name == "AnimationFrame::FirstUIEvent":
            frame.first_ui_event_ns = begin.t_ns
        elif begin.name == "AnimationFrame::Render":
            frame.render_ns = begin.t_ns
        elif begin.name == "AnimationFrame::StyleAndLayout":
            frame.style_layout_ns = begin.t_ns
        elif begin.name == "AnimationFrame::Script::Execute":
            frame.scripts += (_script(begin.t_ns, end_ns, args.animation_frame_script_timing_info),)
    return tuple(rows)


def _script(begin_ns: int, end_ns: int | None, about: ScriptInfo | None) -> Script:
    about = about or ScriptInfo()
    return Script(
        begin_ns,
        end_ns,
        about.invoker_type,
        about.class_like_name,
        about.property_like_name,
        about.source_location_url,
        about.source_location_function_name,
        _whole(about.source_location_char_position),
        about.style_duration_ms,
        about.layout_duration_ms,
        about.pause_duration_ms,
    )


def _event_timings(pieces: Sequence[Piece]) -> tuple[EventTiming, ...]:
    rows: list[EventTiming] = []
    for begin, end in _pairs(pieces):
        data: InputData = begin.args
        rows.append(
            EventTiming(
                begin.t_ns,
                None if end is None else end.t_ns,
                begin.thread,
                data.type,
                _whole(data.interactionId) or None,
                data.duration,
                data.timeStamp,
                data.processingStart,
                data.processingEnd,
                data.commitFinishTime,
            )
        )
    return tuple(rows)


def _whole(value: Number) -> int | None:
    """Return a whole number of 64 bits; a wrapped or fractional one is unknown."""
    if value is None or value != int(value) or not -_INT <= value < _INT:
        return None
    return int(value)


def _without(text: str | None, prefix: str) -> str | None:
    return None if not text else text.removeprefix(prefix)
