"""A terminal without a device: bytes of a program in, a screen and the terminal's answers out."""

from __future__ import annotations

from .queries import Queries
from .screen import Screen
from .vtparse import StringKind, VTParser


class Emulator:
    r"""Parser, screen and answers in one; it knows no clock and no file.

    Any cutting of the same bytes gives the same screen, the same counts and the same answers.

    Parameters
    ----------
    cols, rows : int
        Size in characters.

    Attributes
    ----------
    screen : Screen
        What is shown.
    queries : Queries
        What was asked.

    Examples
    --------
    >>> terminal = Emulator(cols=80, rows=24)
    >>> terminal.feed(b"\x1b]11;?\x07hello\x1b[6"), terminal.feed(b"n")
    (b'\x1b]11;rgb:1010/1010/1010\x07', b'\x1b[1;6R')
    >>> terminal.screen.lines()[0]
    'hello'
    """

    def __init__(self, *, cols: int = 120, rows: int = 40) -> None:
        self.screen = Screen(cols=cols, rows=rows)
        self.queries = Queries(self.screen)
        self.parser = VTParser(self)

    def feed(self, data: bytes) -> bytes:
        """Take output of the program.

        Parameters
        ----------
        data : bytes
            One read, or any other piece.

        Returns
        -------
        bytes
            Answers to what it asked, to be written to it; often empty.
        """
        self.parser.feed(data)
        return self.queries.take()

    def text(self, text: str) -> None:
        """Draw."""
        self.screen.text(text)

    def control(self, char: str) -> None:
        """Answer or carry out a control."""
        if not self.queries.control(char):
            self.screen.control(char)

    def escape(self, intermediates: str, final: str) -> None:
        """Answer or carry out an escape sequence."""
        if not self.queries.escape(intermediates, final):
            self.screen.escape(intermediates, final)

    def csi(self, private: str, params: str, intermediates: str, final: str) -> None:
        """Answer or carry out a control sequence."""
        if not self.queries.csi(private, params, intermediates, final):
            self.screen.csi(private, params, intermediates, final)

    def string(self, kind: StringKind, payload: str, end: str) -> None:
        """Answer a control string, or keep the title that it sets."""
        if not self.queries.string(kind, payload, end):
            self.screen.string(kind, payload, end)
