"""What a program asks its terminal, and what it is told."""

import pytest

from agentlab.wire.emulator import Emulator


def ask(*reads: bytes, cols: int = 120, rows: int = 40) -> tuple[bytes, dict[str, int], dict[str, int]]:
    terminal = Emulator(cols=cols, rows=rows)
    answers = b"".join(terminal.feed(data) for data in reads)
    return answers, dict(terminal.queries.seen), dict(terminal.queries.unanswered)


ANSWERED = {
    b"\x1b[c": ("DA1", b"\x1b[?62;22c"),
    b"\x1b[0c": ("DA1", b"\x1b[?62;22c"),
    b"\x1bZ": ("DA1", b"\x1b[?62;22c"),
    b"\x1b[>c": ("DA2", b"\x1b[>1;10;0c"),
    b"\x1b[=0c": ("DA3", b"\x1bP!|00000000\x1b\\"),
    b"\x1b[>q": ("XTVERSION", b"\x1bP>|agentlab 1\x1b\\"),
    b"\x1b[>0q": ("XTVERSION", b"\x1bP>|agentlab 1\x1b\\"),
    b"\x1b[5n": ("DSR", b"\x1b[0n"),
    b"\x1b[6n": ("CPR", b"\x1b[1;1R"),
    b"\x1b[?6n": ("DECXCPR", b"\x1b[?1;1R"),
    b"\x1b[?2026$p": ("DECRQM ?2026", b"\x1b[?2026;0$y"),
    b"\x1b[?2004$p": ("DECRQM ?2004", b"\x1b[?2004;2$y"),
    b"\x1b[?25$p": ("DECRQM ?25", b"\x1b[?25;1$y"),
    b"\x1b[4$p": ("DECRQM 4", b"\x1b[4;2$y"),
    b"\x1b[99$p": ("DECRQM 99", b"\x1b[99;0$y"),
    b"\x1b]10;?\x07": ("OSC 10", b"\x1b]10;rgb:d0d0/d0d0/d0d0\x07"),
    b"\x1b]11;?\x1b\\": ("OSC 11", b"\x1b]11;rgb:1010/1010/1010\x1b\\"),
    b"\x1b]12;?\x07": ("OSC 12", b"\x1b]12;rgb:d0d0/d0d0/d0d0\x07"),
    b"\x1b]4;1;?\x07": ("OSC 4", b"\x1b]4;1;rgb:cdcd/0000/0000\x07"),
    b"\x1b]4;16;?\x07": ("OSC 4", b"\x1b]4;16;rgb:0000/0000/0000\x07"),
    b"\x1b]4;255;?\x07": ("OSC 4", b"\x1b]4;255;rgb:eeee/eeee/eeee\x07"),
    b"\x1bP+q544e\x1b\\": ("XTGETTCAP TN", b"\x1bP1+r544e=787465726d2d323536636f6c6f72\x1b\\"),
    b"\x1bP+q4d73\x1b\\": ("XTGETTCAP Ms", b"\x1bP0+r\x1b\\"),
    b"\x1bP+qzz\x1b\\": ("XTGETTCAP ?", b"\x1bP0+r\x1b\\"),
    b"\x1bP$qr\x1b\\": ("DECRQSS r", b"\x1bP1$r1;40r\x1b\\"),
    b"\x1bP$qm\x1b\\": ("DECRQSS m", b"\x1bP0$r\x1b\\"),
    b"\x1b[14t": ("XTWINOPS 14", b"\x1b[4;640;960t"),
    b"\x1b[16t": ("XTWINOPS 16", b"\x1b[6;16;8t"),
    b"\x1b[18t": ("XTWINOPS 18", b"\x1b[8;40;120t"),
    b"\x1b[?2;1;0S": ("XTSMGRAPHICS 2", b"\x1b[?2;3S"),
}
UNANSWERED = {
    b"\x1b[?u": "kitty keyboard",
    b"\x1b_Gi=31337,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\": "kitty graphics",
    b"\x1b_Ga=q,i=1;AAAA\x1b\\": "kitty graphics",
    b"\x1b]99;i=opentui-notifications:p=?;\x1b\\": "OSC 99",
    b"\x1b]1337;Capabilities\x1b\\": "OSC 1337",
    b"\x1b]66;w=1; \x1b\\": "OSC 66",
    b"\x1b]7501;?\x1b\\": "OSC 7501",
    b"\x1b]17;?\x07": "OSC 17",
    b"\x1b]4;999;?\x07": "OSC 4",
    b"\x1b]52;c;?\x07": "OSC 52",
    b"\x1b[?996n": "DSR ?996",
    b"\x1b[21t": "XTWINOPS 21",
    b"\x05": "ENQ",
    b"\x1b[x": "DECREQTPARM",
}
NO_QUESTION = (
    b"\x1b[1c\x1b[?2026h\x1b[22;2t\x1b[>4;2m\x1b[!p\x1b[0 q\x1b[=1;1u\x1b[>5u\x1b[u\x1b[?1;1;0r\x1b[3S"
    b"\x1b]0;?\x07\x1b]2;who?\x07\x1b]8;;http://x/?\x07\x1b]8;;?\x07\x1b]9;really?\x07\x1b]11;#0D1117\x07"
    b"\x1b_Gi=1,a=T;AAAA\x1b\\\x1bPq#0\x1b\\\x1b^?\x1b\\\x1bX?\x1b\\"
)


@pytest.mark.parametrize("question", ANSWERED)
def test_each_question_has_its_answer_whole_cut_and_repeated(question: bytes) -> None:
    name, answer = ANSWERED[question]
    assert ask(question) == (answer, {name: 1}, {})
    for at in range(1, len(question)):
        assert ask(question[:at], question[at:]) == (answer, {name: 1}, {})
    assert ask(question * 7) == (answer * 7, {name: 7}, {})


@pytest.mark.parametrize("question", UNANSWERED)
def test_what_such_a_terminal_does_not_know_is_counted_as_unanswered(question: bytes) -> None:
    name = UNANSWERED[question]
    assert ask(question) == (b"", {name: 1}, {name: 1})
    assert ask(*(bytes([byte]) for byte in question)) == (b"", {name: 1}, {name: 1})


def test_what_is_no_question_is_not_counted() -> None:
    assert ask(NO_QUESTION) == (b"", {}, {})


def test_the_cursor_is_that_of_the_place_in_the_stream() -> None:
    """A program measures the window by going far away, and the width of a character by drawing it."""
    answers, seen, _ = ask(
        b"\x1b[999;999f\x1b[6", b"n\x1b[H\xe6\xbc\xa2\x1b[6n\x1b]66;w=1; \x1b\\\x1b[6nabc\x1b[6n"
    )
    assert answers == b"\x1b[40;120R\x1b[1;3R\x1b[1;3R\x1b[1;6R"
    assert seen["CPR"] == 4


def test_answers_come_in_the_order_of_the_questions() -> None:
    answers, seen, unanswered = ask(b"\x1b[?u\x1b[c\x1b]11;?\x07\x1b[c\x1b[?2031h\x1b[?2031$p\x1b[c")
    assert answers == (b"\x1b[?62;22c\x1b]11;rgb:1010/1010/1010\x07\x1b[?62;22c\x1b[?2031;0$y\x1b[?62;22c")
    assert (seen["DA1"], unanswered) == (3, {"kitty keyboard": 1})


def test_modes_are_told_as_the_program_set_them() -> None:
    answers, _, _ = ask(
        b"\x1b[?2004h\x1b[?2004$p\x1b[?25l\x1b[?25$p\x1b[?1049h\x1b[?1049$p\x1b[?1049l\x1b[?1049$p"
    )
    assert answers == b"\x1b[?2004;1$y\x1b[?25;2$y\x1b[?1049;1$y\x1b[?1049;2$y"


def test_colours_are_told_as_the_program_set_them() -> None:
    answers, _, _ = ask(
        b"\x1b]11;#0D1117\x07\x1b]11;?\x07\x1b]111\x07\x1b]11;?\x07\x1b]4;1;rgb:12/3456/78;1;?\x07\x1b]104\x07"
    )
    assert answers == (
        b"\x1b]11;rgb:0d0d/1111/1717\x07\x1b]11;rgb:1010/1010/1010\x07\x1b]4;1;rgb:1212/3434/7878\x07"
    )


def test_one_string_may_ask_several_times() -> None:
    answers, seen, unanswered = ask(b"\x1b]10;?;?;?;?\x07\x1b]4;0;?;1;?\x07\x1bP+q436f;4d73\x1b\\")
    assert seen == {
        "OSC 10": 1, "OSC 11": 1, "OSC 12": 1, "OSC 13": 1, "OSC 4": 2, "XTGETTCAP Co": 1, "XTGETTCAP Ms": 1,
    }  # fmt: skip
    assert unanswered == {"OSC 13": 1}
    assert answers.count(b"rgb:") == 5 and b"\x1bP1+r436f=323536\x1b\\" in answers


def test_a_flood_of_made_up_questions_stays_small() -> None:
    _, seen, _ = ask(b"".join(b"\x1b[?%d$p" % mode for mode in range(5000)))
    assert len(seen) < 100 and sum(seen.values()) == 5000
