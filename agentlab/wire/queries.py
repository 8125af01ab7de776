"""What a program asks its terminal, and what ours says of itself.

The answers are those of a modest terminal in the manner of xterm (its ``ctlseqs`` document defines the
forms): 256 colours, no graphics, no keyboard protocol beyond the common one. What such a terminal would not
know it does not answer; the question is counted as unanswered, so that a program that waits for it is seen.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal

from .pty import CELL
from .screen import Screen
from .vtparse import StringKind

#: TERM of a program on this terminal.
TERM = "xterm-256color"

_NAME = "agentlab 1"
_COLOURS = {10: "d0d0d0", 11: "101010", 12: "d0d0d0"}  # foreground, background, cursor
#: The sixteen colours of xterm; the cube and the greys follow.
_SIXTEEN = (
    *("000000", "cd0000", "00cd00", "cdcd00", "0000ee", "cd00cd", "00cdcd", "e5e5e5"),
    *("7f7f7f", "ff0000", "00ff00", "ffff00", "5c5cff", "ff00ff", "00ffff", "ffffff"),
)
_STEPS = (0, 95, 135, 175, 215, 255)
_PALETTE = (
    *_SIXTEEN,
    *(f"{r:02x}{g:02x}{b:02x}" for r in _STEPS for g in _STEPS for b in _STEPS),
    *(f"{v:02x}" * 3 for v in range(8, 248, 10)),
)
#: Terminal capabilities (terminfo names) that are told when asked for by XTGETTCAP.
_CAPABILITIES = {"TN": TERM, "Co": "256", "colors": "256", "RGB": "8/8/8"}

#: Control sequences whose answer is always the same.
_FIXED = {
    ("", "c"): ("DA1", "\x1b[?62;22c"),  # VT220 with colour
    (">", "c"): ("DA2", "\x1b[>1;10;0c"),
    ("=", "c"): ("DA3", "\x1bP!|00000000\x1b\\"),
    (">", "q"): ("XTVERSION", f"\x1bP>|{_NAME}\x1b\\"),
    ("?", "u"): ("kitty keyboard", ""),
}
#: XTWINOPS that ask for something: state, position, sizes, titles. A title is never told: it would be typed.
_WINDOW = (11, 13, 14, 15, 16, 18, 19, 20, 21)
#: OSC that ask without a question mark.
_ASKING_OSC = {"99": ":p=?", "1337": "Capabilities", "66": ""}
#: OSC whose question mark is text: titles, folder, link, notification.
_FREE_TEXT_OSC = ("0", "1", "2", "7", "8", "9", "777")
_NAMES_KEPT = 64
_HEX = "([0-9a-f]{2})(?:[0-9a-f]{2})?"
_COLOUR = re.compile(rf"#([0-9a-f]{{6}})|rgb:{_HEX}/{_HEX}/{_HEX}", re.IGNORECASE)


class Queries:
    r"""Recognise questions in a program's output, answer them, and count them.

    It is asked about each sequence before the screen sees it, so that the cursor it tells is the one of that
    place in the stream. Each occurrence gets an answer of its own, in order.

    Parameters
    ----------
    screen : Screen
        Whose cursor, modes, margins and size are told.

    Attributes
    ----------
    seen, unanswered : collections.Counter
        Questions by name: ``DA1``, ``CPR``, ``DECRQM ?2026``, ``OSC 11`` ... and those without an answer.

    Examples
    --------
    >>> queries = Queries(Screen(cols=80, rows=24))
    >>> queries.csi("", "6", "", "n"), queries.csi("?", "", "", "u"), queries.csi("", "1", "", "m")
    (True, True, False)
    >>> queries.take(), dict(queries.seen), dict(queries.unanswered)
    (b'\x1b[1;1R', {'CPR': 1, 'kitty keyboard': 1}, {'kitty keyboard': 1})
    """

    def __init__(self, screen: Screen) -> None:
        self.seen: Counter[str] = Counter()
        self.unanswered: Counter[str] = Counter()
        self._screen = screen
        self._answers: list[str] = []
        self._colours = dict(_COLOURS)
        self._palette = dict(enumerate(_PALETTE))

    def take(self) -> bytes:
        """Return the answers since the last call, to be written to the program."""
        answers, self._answers = "".join(self._answers).encode(), []
        return answers

    def csi(self, private: str, params: str, intermediates: str, final: str) -> bool:
        """Take a control sequence.

        Returns
        -------
        bool
            Whether it was a question.
        """
        if not intermediates and (fixed := _FIXED.get((private, final))):
            if params.strip("0"):
                return False
            self._say(*fixed)
        elif final == "n" and not intermediates and private in ("", "?"):
            self._status(private, params)
        elif final == "p" and intermediates == "$" and private in ("", "?"):
            self._mode(f"{private}{params.lstrip('0') or '0'}")
        elif final == "t" and not intermediates and not private:
            return self._window(params.partition(";")[0])
        elif final == "S" and private == "?" and not intermediates:
            item, _, action = params.partition(";")
            if action.partition(";")[0] not in ("1", "4"):  # read, read the maximum
                return False
            self._say(f"XTSMGRAPHICS {item}", f"\x1b[?{item};3S")  # failure: no graphics
        elif final == "x" and not private and not intermediates and params in ("", "0", "1"):
            self._say("DECREQTPARM")
        else:
            return False
        return True

    def escape(self, intermediates: str, final: str) -> bool:
        """Take an escape sequence; ``ESC Z`` asks as DA1 does."""
        if intermediates or final != "Z":
            return False
        self._say(*_FIXED["", "c"])
        return True

    def string(self, kind: StringKind, payload: str, end: str) -> bool:
        """Take a control string; the answer to an OSC ends as the question did."""
        before = self.seen.total()
        if kind == "OSC":
            self._osc(payload, end)
        elif kind == "DCS" and payload.startswith("+q"):
            for name in payload[2:].split(";"):
                self._capability(name)
        elif kind == "DCS" and payload.startswith("$q"):
            top, bottom = self._screen.margins
            what = payload[2:]
            self._say(
                f"DECRQSS {what}", f"\x1bP1$r{top};{bottom}r\x1b\\" if what == "r" else "\x1bP0$r\x1b\\"
            )
        elif kind == "APC" and payload.startswith("G") and "a=q" in payload[1:].partition(";")[0].split(","):
            self._say("kitty graphics")
        return self.seen.total() > before

    def control(self, char: str) -> bool:
        """Take a C0 control; ENQ asks for an answerback message, which is empty in xterm too."""
        if char != "\x05":
            return False
        self._say("ENQ")
        return True

    def _say(self, name: str, answer: str = "") -> None:
        known = name in self.seen or len(self.seen) < _NAMES_KEPT
        name = "".join(c for c in name[:40] if c.isprintable()) if known else "others"
        self.seen[name] += 1
        if answer:
            self._answers.append(answer)
        else:
            self.unanswered[name] += 1

    def _status(self, private: str, params: str) -> None:
        row, col = self._screen.cursor
        answers = {
            "5": ("DSR", "\x1b[0n"),
            "6": ("CPR", f"\x1b[{row};{col}R"),
            "?6": ("DECXCPR", f"\x1b[?{row};{col}R"),
        }
        self._say(*answers.get(f"{private}{params}", (f"DSR {private}{params}", "")))

    def _mode(self, mode: str) -> None:
        state = self._screen.modes.get(mode)
        value: Literal[0, 1, 2] = 0 if state is None else 1 if state else 2
        private, number = ("?", mode[1:]) if mode.startswith("?") else ("", mode)
        self._say(f"DECRQM {mode}", f"\x1b[{private}{number};{value}$y")

    def _window(self, operation: str) -> bool:
        number = int(operation) if operation.isdecimal() and len(operation) < 4 else 0
        if number not in _WINDOW:
            return False
        cols, rows = self._screen.cols, self._screen.rows
        sizes = {
            14: f"\x1b[4;{rows * CELL[1]};{cols * CELL[0]}t",
            16: f"\x1b[6;{CELL[1]};{CELL[0]}t",
            18: f"\x1b[8;{rows};{cols}t",
        }
        self._say(f"XTWINOPS {number}", sizes.get(number, ""))
        return True

    def _capability(self, name: str) -> None:
        try:
            plain = bytes.fromhex(name).decode("ascii")
        except ValueError:
            plain = "?"
        if plain in _CAPABILITIES:
            self._say(f"XTGETTCAP {plain}", f"\x1bP1+r{name}={_CAPABILITIES[plain].encode().hex()}\x1b\\")
        else:
            self._say(f"XTGETTCAP {plain}", "\x1bP0+r\x1b\\")

    def _osc(self, payload: str, end: str) -> None:
        number, _, rest = payload.partition(";")
        if number == "4":
            parts = rest.split(";")
            for index, value in zip(parts[::2], parts[1::2], strict=False):
                if index.isdecimal() and len(index) < 4:
                    self._colour("4;", int(index), self._palette, value, end)
        elif number in ("10", "11", "12", "13", "14", "15", "16", "17", "18", "19"):
            for i, value in enumerate(rest.split(";")):
                self._colour("", int(number) + i, self._colours, value, end)
        elif number in ("104", "110", "111", "112"):
            self._reset_colours(number)
        elif number in _ASKING_OSC:
            if _ASKING_OSC[number] in rest:
                self._say(f"OSC {number}")
        elif number.isdecimal() and number not in _FREE_TEXT_OSC and rest.split(";")[-1] == "?":
            self._say(f"OSC {number}")

    def _colour(self, space: str, index: int, table: dict[int, str], value: str, end: str) -> None:
        """Tell a colour, or take one that the program sets."""
        if value == "?":
            name = "OSC 4" if space else f"OSC {index}"
            h = table.get(index)
            full = h and f"rgb:{h[:2] * 2}/{h[2:4] * 2}/{h[4:] * 2}"
            self._say(name, f"\x1b]{space}{index};{full}{end}" if full else "")
        elif index in table and (found := _COLOUR.fullmatch(value)):
            table[index] = "".join(part for part in found.groups() if part).lower()

    def _reset_colours(self, number: str) -> None:
        if number == "104":
            self._palette = dict(enumerate(_PALETTE))
        else:
            self._colours[int(number) - 100] = _COLOURS[int(number) - 100]
