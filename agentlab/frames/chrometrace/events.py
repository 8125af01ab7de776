"""The events of a trace, typed: what is not asked for is passed over unread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .parts import Part

#: Stands for an unknown number in arrays: no end, no CPU time.
UNKNOWN = -(2**63)
_LARGEST_US = (2**63 - 1) // 1000
_NOTHING = msgspec.Raw(b"{}")


class Id(msgspec.Struct, gc=False):
    """An id that counts inside one process (`local`) or everywhere."""

    local: str | int | None = None
    global_: str | int | None = msgspec.field(default=None, name="global")


class Event(msgspec.Struct, gc=False):
    """One event; times in µs."""

    name: str = ""
    ph: str = ""
    ts: int | float | None = None
    dur: int | float | None = None
    tdur: int | float | None = None
    tts: int | float | None = None
    pid: int | float | str | None = None
    tid: int | float | str | None = None
    cat: str | None = None
    id: str | int | float | None = None
    id2: Id | None = None
    args: msgspec.Raw = _NOTHING

    @property
    def key(self) -> tuple[object, ...]:
        """What its begin and its end have in common, when it is asynchronous."""
        if self.id2 is not None and self.id2.global_ is not None:
            return (self.id2.global_,)
        return self.pid, self.id if self.id2 is None else self.id2.local


_decode_list = msgspec.json.Decoder(list[Event]).decode
_decode_one = msgspec.json.Decoder(Event).decode


def decode(part: Part) -> tuple[list[Event], int]:
    """Decode all events of a part.

    Parameters
    ----------
    part : Part
        With one event at least.

    Returns
    -------
    list of Event
    int
        How many could not be decoded.
    """
    try:
        return _decode_list(part.listed()), 0
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return decode_each(part.events())


def decode_each(texts: Iterable[bytes]) -> tuple[list[Event], int]:
    """Decode events one by one.

    Parameters
    ----------
    texts : iterable of bytes
        Each an event.

    Returns
    -------
    list of Event
    int
        How many could not be decoded.
    """
    found: list[Event] = []
    lost = 0
    for text in texts:
        try:
            found.append(_decode_one(text))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            lost += 1
    return found, lost


def as_ns(us: float | None) -> int | None:
    """Convert µs.

    Parameters
    ----------
    us : float or None
        µs.

    Returns
    -------
    int or None
        Whole ns; None when it is unknown or beyond 64 bits.

    Examples
    --------
    >>> as_ns(8000.5), as_ns(None), as_ns(18446744073709541696)
    (8000500, None, None)
    """
    if us is None or not -_LARGEST_US < us < _LARGEST_US:
        return None
    return us * 1000 if isinstance(us, int) else round(us * 1000)
