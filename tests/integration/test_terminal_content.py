"""keep="content" keeps what went over a session's terminal, readable by its owner only."""

import sys

from agentlab import Scenario, Terminal, record
from agentlab.wire.ptyfile import read_pty

TUI = (
    "import sys, termios, tty; tty.setraw(0); sys.stdout.write('hello \u00e9'); sys.stdout.flush()\n"
    "while (c := sys.stdin.read(1)) not in ('\\x03', '\\x04'): sys.stdout.write(c); sys.stdout.flush()"
)


def test_terminal_bytes_are_kept_with_content_only(tmp_path):
    driver = Terminal(command=[sys.executable, "-c", TUI], settle=0.1, hold_s=0.1)
    for keep in ("numbers", "content"):
        study = record(
            Scenario("tui"), driver, runs=1, to=tmp_path / keep, host="inline", keep=keep, quiet=None
        )
        recs = study.result()
        assert recs[0].eligible, recs[0].issues
        files = sorted(recs[0].path.glob("pty*"))
        assert [file.name for file in files] == (["pty-s1.bin"] if keep == "content" else [])
    assert files[0].stat().st_mode & 0o777 == 0o600
    read = b"".join(data for _, data in read_pty(files[0]).reads)
    assert "hello \u00e9".encode() in read
