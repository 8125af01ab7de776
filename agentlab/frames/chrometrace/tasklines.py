"""Tasks out of lines as Chromium writes them, a whole block at a time.

Keys stand in the alphabet's order and without white space, so that of a task's line only the stretch around
its name is looked at, as columns of numbers. Every character of that stretch is compared: whatever differs is
given back to be decoded, and so is each line whose name is not where it is looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .parts import Part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Bytes before a name that are looked at; a name nearer to the beginning of a block is decoded.
_BEFORE = 24
_ZEROS, _TENS, _HIGH = 0x3030303030303030, 0x7676767676767676, 0x8080808080808080


class TaskRows(NamedTuple):
    """What was found in a part.

    Parameters
    ----------
    start_us, duration_us, cpu_us, pid, tid : ndarray of int64
        Of each task; `cpu_us` is -1 where it is not given.
    others : list of bytes
        Events that have to be decoded.
    """

    start_us: NDArray[np.int64]
    duration_us: NDArray[np.int64]
    cpu_us: NDArray[np.int64]
    pid: NDArray[np.int64]
    tid: NDArray[np.int64]
    others: list[bytes]


def task_rows(part: Part, wanted: tuple[bytes, ...]) -> TaskRows:
    """Find the tasks of a part that consists of lines.

    Parameters
    ----------
    part : Part
        With ``lines``.
    wanted : tuple of bytes
        How the names of other events begin that are to be decoded, in 8 bytes at most.

    Returns
    -------
    TaskRows
    """
    import numpy as np

    size = int(part.ends[-1])
    words = np.ndarray((len(part.text) - 7,), np.uint64, part.text, strides=(1,))
    # the m of `"name":"` is rarer than its other characters
    at = np.flatnonzero(np.frombuffer(part.text, np.uint8, size) == ord("m"))
    at = at[np.searchsorted(at, 3) :] - 3
    at = at[words[at] == _word(b'"name":"')]
    names = words[at + 8]
    line = np.searchsorted(part.ends, at)
    count = np.bincount(line, minlength=len(part.ends))
    other = count == 0
    for name in wanted:
        other[line[names & _mask(len(name)) == _word(name)]] = True
    task = names == _word(b'RunTask"')
    other[line[task & ((count[line] > 1) | (at < _BEFORE))]] = True
    task &= ~other[line]
    columns, fit = _columns(words, at[task])
    other[line[task][~fit]] = True
    picked = np.flatnonzero(other)
    pairs = zip(part.starts[picked].tolist(), part.ends[picked].tolist(), strict=True)
    others = [bytes(part.text[start:end]) for start, end in pairs]
    start, duration, cpu, pid, tid = (column[fit] for column in columns)
    return TaskRows(start, duration, cpu, pid, tid, others)


def _columns(
    words: NDArray[np.uint64], name: NDArray[np.int64]
) -> tuple[list[NDArray[np.int64]], NDArray[np.bool_]]:
    """Read ``,"dur":N,"name":"RunTask","ph":"X","pid":N[,"tdur":N],"tid":N,"ts":N`` around each name."""
    import numpy as np

    duration, digits = _number_before(words, name - 1)
    fit = (digits > 0) & (digits < 8) & _is(words[name - 8 - digits], b',"dur":') & _is(words[name - 1], b",")
    at = name + 16
    fit &= _is(words[at], b',"ph":"X') & _is(words[at + 8], b'","pid":')
    pid, digits = _number(words, at + 16)
    fit &= (digits > 0) & (digits < 8)
    at = at + 16 + digits
    has_cpu = _is(words[at], b',"tdur":')
    cpu, digits = _number(words, at + 8)
    fit &= ~has_cpu | ((digits > 0) & (digits < 8))
    at = np.where(has_cpu, at + 8 + digits, at)
    fit &= _is(words[at], b',"tid":')
    tid, digits = _number(words, at + 7)
    fit &= (digits > 0) & (digits < 8)
    at = at + 7 + digits
    fit &= _is(words[at], b',"ts":')
    start, digits = _long_number(words, at + 6)
    end = words[at + 6 + digits]
    fit &= (digits > 0) & (digits < 16) & (_is(end, b",") | _is(end, b"}"))
    return [start, duration, np.where(has_cpu, cpu, -1), pid, tid], fit


def _word(text: bytes) -> np.uint64:
    import numpy as np

    return np.uint64(int.from_bytes(text, "little"))


def _mask(length: int) -> np.uint64:
    import numpy as np

    return np.uint64((1 << 8 * length) - 1)


def _is(words: NDArray[np.uint64], text: bytes) -> NDArray[np.bool_]:
    return (words & _mask(len(text))) == _word(text)


def _number(words: NDArray[np.uint64], at: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers that begin there, and how many digits each has, up to 8."""
    word = words[at]
    digits = _count(word)
    return _value(word, digits), digits


def _long_number(
    words: NDArray[np.uint64], at: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers that begin there, and how many digits each has, up to 16."""
    import numpy as np

    high, n_high = _number(words, at)
    low, n_low = _number(words, at + 8)
    n_low[n_high < 8] = 0
    return high * (10 ** np.arange(9))[n_low] + np.where(n_low, low, 0), n_high + n_low


def _number_before(
    words: NDArray[np.uint64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers that end there, and how many digits each has, up to 8."""
    digits = _count(words[end - 8].byteswap())
    return _value(words[end - digits], digits), digits


def _count(word: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Count the digits that words begin with."""
    import numpy as np

    other = word ^ np.uint64(_ZEROS)
    other |= other + np.uint64(_TENS)
    other &= np.uint64(_HIGH)
    lowest = other & -other
    lowest -= np.uint64(1)
    return (np.bitwise_count(lowest) >> np.uint8(3)).astype(np.int64)


def _value(word: NDArray[np.uint64], digits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Read the number that words begin with, all its digits at once.

    Pairs of digits are joined to numbers, then pairs of those, by one multiplication each.
    """
    import numpy as np

    value = (word ^ np.uint64(_ZEROS)) << (64 - 8 * digits).view(np.uint64)
    value *= np.uint64(2561)
    value >>= np.uint64(8)
    value &= np.uint64(0x00FF00FF00FF00FF)
    value *= np.uint64(6553601)
    value >>= np.uint64(16)
    value &= np.uint64(0x0000FFFF0000FFFF)
    value *= np.uint64(42949672960001)
    value >>= np.uint64(32)
    return value.view(np.int64)
