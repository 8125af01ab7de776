"""The grammar of terminal output, sequence by sequence, whole and cut at every byte."""

import pytest

from agentlab.wire.vtparse import VTParser


class Seen:
    """Handler that keeps calls; runs of text are joined, as the parser may cut them anywhere."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []

    def text(self, text: str) -> None:
        if self.calls and self.calls[-1][0] == "text":
            text = self.calls.pop()[1] + text
        self.calls.append(("text", text))

    def control(self, char: str) -> None:
        self.calls.append(("control", char))

    def escape(self, intermediates: str, final: str) -> None:
        self.calls.append(("escape", intermediates, final))

    def csi(self, private: str, params: str, intermediates: str, final: str) -> None:
        self.calls.append(("csi", private, params, intermediates, final))

    def string(self, kind: str, payload: str, end: str) -> None:
        self.calls.append((kind, payload, end))


def parse(*reads: bytes, limit: int = 4096) -> tuple[list[tuple[str, ...]], int, int]:
    seen = Seen()
    parser = VTParser(seen, string_limit=limit)
    for data in reads:
        parser.feed(data)
    return seen.calls, parser.n_cut, parser.n_broken


CASES = {
    "text": (b"caf\xc3\xa9", [("text", "café")]),
    "cursor": (b"\x1b[2;4Hx", [("csi", "", "2;4", "", "H"), ("text", "x")]),
    "private": (b"\x1b[?25l", [("csi", "?", "25", "", "l")]),
    "keyboard": (b"\x1b[>7u\x1b[=1;1u\x1b[<u", [
        ("csi", ">", "7", "", "u"), ("csi", "=", "1;1", "", "u"), ("csi", "<", "", "", "u")]),
    "intermediate": (b"\x1b[?2026$p\x1b[0 q", [("csi", "?", "2026", "$", "p"), ("csi", "", "0", " ", "q")]),
    "colon": (b"\x1b[38:2::1:2:3m", [("csi", "", "38:2::1:2:3", "", "m")]),
    "osc bell": (b"\x1b]11;?\x07", [("OSC", "11;?", "\x07")]),
    "osc st": (b"\x1b]11;?\x1b\\", [("OSC", "11;?", "\x1b\\")]),
    "osc utf-8": ("\x1b]0;π > omp\x07".encode(), [("OSC", "0;π > omp", "\x07")]),
    "dcs": (b"\x1bP+q4d73\x1b\\", [("DCS", "+q4d73", "\x1b\\")]),
    "apc": (b"\x1b_Gi=1,a=q;AAAA\x1b\\", [("APC", "Gi=1,a=q;AAAA", "\x1b\\")]),
    "apc bell": (b"\x1b_G\x07x", [("APC", "G", "\x07"), ("text", "x")]),
    "pm sos": (b"\x1b^a\x1b\\\x1bXb\x1b\\", [("PM", "a", "\x1b\\"), ("SOS", "b", "\x1b\\")]),
    "c1": ("\x9b2Jx\x9d0;t\x9cy".encode(), [
        ("csi", "", "2", "", "J"), ("text", "x"), ("OSC", "0;t", "\x1b\\"), ("text", "y")]),
    "charset": (b"\x1b(0\x1b#8", [("escape", "(", "0"), ("escape", "#", "8")]),
    "keypad": (b"\x1b>\x1b=\x1b7", [("escape", "", ">"), ("escape", "", "="), ("escape", "", "7")]),
    "control inside": (b"\x1b[2\r;4H", [("control", "\r"), ("csi", "", "2;4", "", "H")]),
    "delete is nothing": (b"a\x7fb\x1b[\x7f2A", [("text", "ab"), ("csi", "", "2", "", "A")]),
    "broken character": (b"\xe2\x94\x1b[mx", [("text", "\ufffd"), ("csi", "", "", "", "m"), ("text", "x")]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_sequence_whole_and_cut_at_every_byte(name: str) -> None:
    data, calls = CASES[name]
    assert parse(data) == (calls, 0, 0)
    for at in range(1, len(data)):
        assert parse(data[:at], data[at:]) == (calls, 0, 0)
    assert parse(*(bytes([byte]) for byte in data)) == (calls, 0, 0)


BROKEN = {
    "a string without its end": (b"\x1b]0;title\x1b[2Jx", [("csi", "", "2", "", "J"), ("text", "x")], 1),
    "cancelled sequence": (b"\x1b[2\x18A", [("control", "\x18"), ("text", "A")], 1),
    "cancelled string": (b"\x1bPabc\x1aA", [("text", "A")], 1),
    "sequence in sequence": (b"\x1b[2\x1b[3A", [("csi", "", "3", "", "A")], 1),
    "prefix in the middle": (b"\x1b[1?2hx", [("text", "x")], 1),
    "no ascii": ("\x1b[1é2".encode(), [("text", "é2")], 1),
    "endless parameters": (b"\x1b[" + b"1;" * 500 + b"mx", [("text", "x")], 1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_malformed_is_counted_and_passed_over(name: str) -> None:
    data, calls, n_broken = BROKEN[name]
    assert parse(data) == (calls, 0, n_broken)
    assert parse(*(bytes([byte]) for byte in data)) == (calls, 0, n_broken)


def test_a_string_is_kept_up_to_its_limit_and_read_to_its_end() -> None:
    image = b"\x1bPq" + b"#" * 100_000 + b"\x1b\\after"
    assert parse(image, limit=8) == ([("DCS", "q#######", "\x1b\\"), ("text", "after")], 1, 0)
    assert parse(image[:50], image[50:], limit=8)[0] == parse(image, limit=8)[0]


def test_an_unfinished_sequence_is_not_text() -> None:
    for data in (b"\x1b", b"\x1b[38;2", b"\x1b]11;?", b"\x1bP+q", b"\x1b_G", b"\xe2\x94"):
        assert parse(data) == ([], 0, 0)
