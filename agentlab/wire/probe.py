"""Whether a terminal program takes input: type something harmless and see it on the rendered screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .vterm import VirtualTerminal, stamp

_BACKSPACE = "\x7f"
_KEY_S = 0.02  # between two keys, so that they are read one by one


@dataclass(frozen=True)
class Probed:
    """What became of a probe.

    Parameters
    ----------
    typed : tuple of int
        Stamp of each attempt, ns.
    echo_ns : int or None
        Stamp of the read that brought it onto the screen; None when it never came.
    erased : bool
        Whether the screen is without it again.
    """

    typed: tuple[int, ...] = field(default_factory=tuple)
    echo_ns: int | None = None
    erased: bool = False


async def probe(
    terminal: VirtualTerminal,
    text: str = "zx91q",
    *,
    timeout_s: float = 60.0,
    retype_s: float = 0.5,
    erase_s: float = 2.0,
    on_typed: Callable[[int, int], None] | None = None,
) -> Probed:
    """Type a probe until it stands on the rendered screen, then erase it again.

    It is typed only while the line discipline neither echoes nor edits: the kernel's own echo says nothing of
    the program. Programs drop what is typed while they start, so it is typed again; and some take all keys of
    one read for a single one, so it is erased key by key.

    Parameters
    ----------
    terminal : VirtualTerminal
        With a program started on it.
    text : str, default ``"zx91q"``
        Printable characters that no screen shows by itself.
    timeout_s : float, default 60
        Longest time in seconds, raw mode included.
    retype_s : float, default 0.5
        Seconds without it on the screen after which it is typed again. The stamp is late by up to this much
        for a program that drops what was typed before.
    erase_s : float, default 2
        How long it may take to go again, in seconds.
    on_typed : callable, optional
        Called with the number of the attempt (from 1) and its stamp.

    Returns
    -------
    Probed
    """
    deadline = time.monotonic() + timeout_s
    if await terminal.wait(terminal.raw, timeout_s=timeout_s) is None:
        return Probed()
    before = terminal.count(text)
    shown = terminal.when(lambda screen: screen.count(text) > before)
    typed: list[int] = []
    while not shown.done() and (left := deadline - time.monotonic()) > 0:
        if terminal.is_raw():
            typed.append(terminal.type(text))
            if on_typed is not None:
                on_typed(len(typed), typed[-1])
            await terminal.wait(shown, timeout_s=min(retype_s, left))
        else:  # back in cooked mode, as launchers do for a moment
            await asyncio.sleep(min(0.02, left))
    echo_ns = stamp(shown)
    shown.cancel()
    if echo_ns is None:
        return Probed(tuple(typed))
    return Probed(tuple(typed), echo_ns, await _erase(terminal, text, before, erase_s))


async def _erase(terminal: VirtualTerminal, text: str, before: int, timeout_s: float) -> bool:
    """Press Backspace for each character, and on while some of the probe is there."""
    deadline = time.monotonic() + timeout_s
    pressed = 0
    # Two of its characters: some programs draw each step of the erasing.
    while (left := terminal.count(text[:2]) > before) or pressed < len(text):
        if terminal.ended.done() or time.monotonic() > deadline:
            break
        terminal.type(_BACKSPACE)
        pressed += 1
        await asyncio.sleep(_KEY_S)
    return not left
