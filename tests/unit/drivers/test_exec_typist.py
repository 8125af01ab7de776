"""Lines that a terminal could not hold, what a command's environment holds, and settings that are refused."""

import os
import pty
import termios

import pytest

from agentlab.drivers.exec import ExecSessions
from agentlab.drivers.exec.environment import filtered
from agentlab.drivers.exec.typist import LINE_BYTES, Lines, end_of_file_of
from agentlab.errors import ConfigError, DriverError

EOF = b"\x04"


def test_short_lines_stay_as_they_are():
    lines = Lines()
    text = b"".join(b"line %d\n" % i for i in range(10_000))
    assert lines.cut(text, EOF) == text
    assert lines.cut(b"\r" * 9000, EOF) == b"\r" * 9000


def test_a_line_is_cut_over_several_calls():
    lines = Lines(flush_bytes=10)
    assert lines.cut(b"1234567", EOF) == b"1234567"
    assert lines.cut(b"890abc", EOF) == b"890\x04abc"
    assert lines.cut(b"\n1234567890", EOF) == b"\n1234567890\x04"


def test_a_line_is_cut_only_after_a_visible_character():
    """After a key that erases, nothing may be there, and the character would end the input."""
    assert Lines(flush_bytes=3).cut(b"ab\x15\x7fcd", EOF) == b"ab\x15\x7fc\x04d"


def test_an_end_of_file_of_the_users_begins_again():
    assert Lines(flush_bytes=4).cut(b"abc\x04defg", EOF) == b"abc\x04defg\x04"


def test_a_line_without_a_place_to_cut_is_refused_and_changes_nothing():
    lines = Lines()
    with pytest.raises(DriverError, match="4095 bytes of a line"):
        lines.cut(b"\x01" * LINE_BYTES, EOF)
    with pytest.raises(DriverError):
        lines.cut(b"x" * LINE_BYTES, b"\0")
    assert lines.cut(b"y" * 3000, EOF) == b"y" * 3000


def test_the_terminals_own_character_is_asked_for():
    master, slave = pty.openpty()
    try:
        assert end_of_file_of(master) == EOF
        mode = termios.tcgetattr(slave)
        mode[6][termios.VEOF] = b"\x1a"
        termios.tcsetattr(slave, termios.TCSANOW, mode)
        assert end_of_file_of(master) == b"\x1a"
        mode[3] &= ~termios.ICANON
        termios.tcsetattr(slave, termios.TCSANOW, mode)
        assert end_of_file_of(master) is None
    finally:
        os.close(master)
        os.close(slave)


def test_the_environment_is_built_from_nothing():
    own = {"PATH": "/bin", "OPENAI_API_KEY": "sk-1", "HOME": "/h", "PYTHONPATH": "/x", "LC_CTYPE": "C"}
    made = filtered(own, {"HOME": "/other", "MINE": "1"}, tty=True)
    assert made == {
        "PATH": "/bin",
        "HOME": "/other",
        "LC_CTYPE": "C",
        "TERM": "xterm-256color",
        "MINE": "1",
    }
    assert filtered({}, {}, tty=False) == {"PATH": os.defpath, "TERM": "dumb"}


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"preview_bytes": -1}, {"cols": 0}, {"rows": 70_000}, {"max_bytes": -1}]
)
def test_settings_out_of_range_are_named(wrong: dict[str, int]):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        ExecSessions(**wrong)  # pyright: ignore[reportArgumentType]


def test_an_archive_needs_a_folder():
    with pytest.raises(ConfigError, match="name the folder"):
        ExecSessions(archive=True)
