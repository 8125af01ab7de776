r"""The grammar of terminal output: bytes into text, controls, escape sequences and control strings.

As in ECMA-48 and the parser of the DEC VT500 family: a control sequence is CSI, parameter bytes ``0`` to
``?``, intermediate bytes (space to ``/``) and a final byte (``@`` to ``~``); OSC, DCS, APC, PM and SOS begin
strings that end in ST. Like xterm in UTF-8 mode it decodes first, so C1 controls count as characters U+0080
to U+009F. More lenient than xterm: BEL ends every kind of string, not only an OSC. Any cutting of the same
bytes gives the same calls, except that text comes in as many pieces.
"""

from __future__ import annotations

import codecs
import re
from typing import Literal, Protocol

StringKind = Literal["OSC", "DCS", "APC", "PM", "SOS"]

_TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")
#: A whole control sequence: the usual case, taken in one step.
_PARTS = r"([<-?]{0,4})([0-9:;]{0,240})([ -/]{0,4})"
_CSI = re.compile(rf"(?:\x1b\[|\x9b){_PARTS}([@-~])")
_CSI_PARTS = re.compile(_PARTS)
#: What stands in a string until something ends or breaks it off.
_INSIDE = re.compile(r"[^\x07\x18\x1a\x1b\x9c]+")
_BEGINS: dict[str, StringKind] = {"]": "OSC", "P": "DCS", "_": "APC", "^": "PM", "X": "SOS"}
#: C1 controls are an escape and the letter 0x40 below.
_C1 = {chr(code): chr(code - 0x40) for code in range(0x80, 0xA0)}
_LONGEST_SEQUENCE = 256


class Handler(Protocol):
    """What the parser calls, in the order of the stream."""

    def text(self, text: str) -> None:
        """Printable characters."""

    def control(self, char: str) -> None:
        """One C0 control, U+0000 to U+001F without ESC."""

    def escape(self, intermediates: str, final: str) -> None:
        """An escape sequence that is neither CSI nor a string."""

    def csi(self, private: str, params: str, intermediates: str, final: str) -> None:
        """A control sequence; ``private`` is its leading ``<``, ``=``, ``>`` or ``?``, usually empty."""

    def string(self, kind: StringKind, payload: str, end: str) -> None:
        """A control string; ``end`` is what ended it: BEL, or ST as an escape and a backslash."""


class VTParser:
    r"""Turn the output of a program into calls of a handler.

    Parameters
    ----------
    handler : Handler
        Whom to call.
    string_limit : int, default 4096
        Characters of a control string that are kept; the rest is passed over (an image may be large).

    Attributes
    ----------
    n_cut, n_broken : int
        Strings longer than the limit; sequences and strings that were broken off, by ESC, CAN, SUB or a
        byte that cannot stand in them.

    Examples
    --------
    >>> class Printed:
    ...     def text(self, text): print("text", text)
    ...     def csi(self, *parts): print("csi", *parts)
    ...     def string(self, *parts): print(*map(repr, parts))
    >>> VTParser(Printed()).feed(b"\x1b]0;title\x07hi\x1b[?25l")
    'OSC' '0;title' '\x07'
    text hi
    csi ? 25  l
    """

    def __init__(self, handler: Handler, *, string_limit: int = 4096) -> None:
        self.n_cut = self.n_broken = 0
        self._handler = handler
        self._limit = string_limit
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._state: Literal["ground", "escape", "csi", "string", "string escape"] = "ground"
        self._held = ""  # of the sequence under way
        self._kind: StringKind = "OSC"
        self._pieces: list[str] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Take one read.

        Parameters
        ----------
        data : bytes
            Any cut is fine, also inside a character.
        """
        text = self._decode(data)
        at, end = 0, len(text)
        while at < end:
            if self._state == "ground":
                at = self._ground(text, at)
            elif self._state == "string":
                at = self._string(text, at)
            else:
                self._step(text[at])
                at += 1

    def _ground(self, text: str, at: int) -> int:
        if found := _TEXT.match(text, at):
            self._handler.text(found.group())
        elif found := _CSI.match(text, at):
            self._dispatch_csi(found)
        else:
            self._control(text[at])
            return at + 1
        return found.end()

    def _dispatch_csi(self, found: re.Match[str]) -> None:
        private, params, intermediates, final = found.groups()
        self._handler.csi(private, params, intermediates, final)

    def _control(self, char: str) -> None:
        """Take a control character, in ground or inside an escape or control sequence."""
        if char == "\x1b":
            self._begin("escape")
        elif char in _C1:
            self._begin("escape")
            self._step(_C1[char])
        elif char != "\x7f":
            self._handler.control(char)

    def _begin(self, state: Literal["escape", "csi"]) -> None:
        self._state, self._held = state, ""

    def _step(self, char: str) -> None:
        """Take one character of a sequence that is not whole in this read, or is no usual one."""
        if self._state == "string escape":
            self._after_escape_in_string(char)
        elif char in "\x1b\x18\x1a" or char in _C1:
            self.n_broken += 1
            self._state = "ground"
            self._control(char)
        elif char < " " or char == "\x7f":
            self._control(char)  # carried out as if it stood before the sequence
        elif char > "~":  # no such character in a sequence: it is text
            self.n_broken += 1
            self._state = "ground"
            self._handler.text(char)
        elif self._state == "csi":
            self._in_csi(char)
        else:
            self._in_escape(char)

    def _in_escape(self, char: str) -> None:
        if char < "0":
            self._held = (self._held + char)[:_LONGEST_SEQUENCE]
            return
        if not self._held and char == "[":
            self._begin("csi")
            return
        self._state = "ground"
        if not self._held and char in _BEGINS:
            self._kind, self._pieces, self._size, self._state = _BEGINS[char], [], 0, "string"
        else:
            self._handler.escape(self._held, char)

    def _in_csi(self, char: str) -> None:
        if char < "@":
            self._held = (self._held + char)[:_LONGEST_SEQUENCE]  # one so long fits no pattern
            return
        self._state = "ground"
        parts = _CSI_PARTS.fullmatch(self._held)
        if parts is None:
            self.n_broken += 1
        else:
            self._handler.csi(parts[1], parts[2], parts[3], char)

    def _string(self, text: str, at: int) -> int:
        if found := _INSIDE.match(text, at):
            room = self._limit - self._size
            if room > 0:
                self._pieces.append(found.group()[:room])
            self._size += found.end() - at
            return found.end()
        char = text[at]
        if char == "\x1b":
            self._state = "string escape"
        elif char in "\x07\x9c":
            self._end_string("\x07" if char == "\x07" else "\x1b\\")
        else:  # CAN, SUB
            self.n_broken += 1
            self._state = "ground"
        return at + 1

    def _after_escape_in_string(self, char: str) -> None:
        if char == "\\":
            self._end_string("\x1b\\")
            return
        # Any other sequence breaks the string off: a program that forgot its end is not lost for ever.
        self.n_broken += 1
        self._begin("escape")
        self._step(char)

    def _end_string(self, end: str) -> None:
        self._state = "ground"
        self.n_cut += self._size > self._limit
        self._handler.string(self._kind, "".join(self._pieces), end)
