"""Exec sessions on real shells, terminals and pipes."""

import asyncio
import os
import re
import signal
import statistics
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentlab.drivers.exec import ExecResult, ExecSessions, ExecutionControl, ladder
from agentlab.errors import ConfigError, DriverError, StartupError
from agentlab.wire.procid import ProcessId
from tests.waiting import n_open_files

BOTH = pytest.mark.parametrize("tty", [True, False], ids=["tty", "pipes"])


@pytest.fixture
async def sessions(tmp_path: Path) -> AsyncIterator[ExecSessions]:
    """A home without start-up files, so that a shell is there at once."""
    async with ExecSessions(env={"HOME": str(tmp_path)}) as made:
        yield made
    assert made.survivors == ()


def alive(pid: int) -> bool:
    return ProcessId.of(pid).alive()


async def gone(pid: int, within: float = 3.0) -> bool:
    end = time.monotonic() + within
    while alive(pid) and time.monotonic() < end:
        await asyncio.sleep(0.01)
    return not alive(pid)


async def printed(sessions: ExecSessions, result: ExecResult, what: bytes, within: float = 10.0) -> bytes:
    """Poll until something was printed; return all output."""
    output, end = result.read(), time.monotonic() + within
    while what not in output:
        assert time.monotonic() < end, output
        output += (await sessions.poll(result.session, yield_s=0.1)).read()
    return output


async def number(sessions: ExecSessions, result: ExecResult) -> int:
    """Wait for a line that is a process id."""
    output = await printed(sessions, result, b"\n")
    return int(re.findall(rb"^(\d+)\r?$", output, re.M)[0])


# -- results


@BOTH
async def test_output_and_exit_of_a_command_that_ends(sessions: ExecSessions, tmp_path: Path, tty: bool):
    result = await sessions.run("pwd; exit 3", cwd=tmp_path, tty=tty)
    assert (result.state, result.exit_code, result.ended_by, result.stopped) == ("exited", 3, "self", None)
    assert result.text().split() == [str(tmp_path)]
    assert result.wall_ms > 0
    assert sessions.list() == ()


async def test_cpu_time_is_that_of_the_command_and_its_children(sessions: ExecSessions):
    result = await sessions.run("for i in {1..20000}; do :; done; seq 300000 | tail -n 1; read", yield_s=0.1)
    assert (result.state, result.cpu_s) == ("running", None)
    result = await sessions.write(result.session, "\n")
    assert result.cpu_s is not None and result.cpu_s > 0.005


@BOTH
async def test_output_without_a_newline_at_the_end(sessions: ExecSessions, tty: bool):
    result = await sessions.run("printf 'no newline'", tty=tty)
    assert (result.preview, result.exit_code) == (b"no newline", 0)


@BOTH
async def test_each_byte_is_in_exactly_one_result(sessions: ExecSessions, tty: bool):
    result = await sessions.run(
        "for i in {1..400}; do echo $i; test $((i % 40)) != 0 || sleep 0.05; done", tty=tty, yield_s=0.1
    )
    results = [result]
    while results[-1].state == "running":
        results.append(await sessions.poll(result.session, yield_s=0.1))
    assert len(results) > 3
    assert b"".join(r.read() for r in results).split() == [b"%d" % i for i in range(1, 401)]
    assert [r.offset for r in results] == [sum(r.n_bytes for r in results[:i]) for i in range(len(results))]
    assert (await sessions.poll(result.session)).n_bytes == 0


@BOTH
async def test_a_wait_ends_with_the_command(sessions: ExecSessions, tty: bool):
    late: list[float] = []
    for _ in range(5):
        command = f"exec {sys.executable} -S -c 'import time; time.sleep(0.2); print(time.monotonic_ns())'"
        result = await sessions.run(command, tty=tty, yield_s=10)
        late.append(time.monotonic_ns() / 1e6 - int(result.preview) / 1e6)
        assert result.state == "exited"
    assert max(late) < 500
    assert statistics.median(late) < 100  # with the end of an interpreter in it


async def test_a_wait_ends_at_its_deadline(sessions: ExecSessions):
    begun = time.monotonic()
    result = await sessions.run("sleep 60", yield_s=0.3)
    assert 0.3 <= time.monotonic() - begun < 2
    assert (result.state, result.exit_code, result.ended_by) == ("running", None, None)
    assert [info.command for info in sessions.list()] == ["sleep 60"]


async def test_large_output_is_shown_in_part_and_there_as_a_whole(sessions: ExecSessions, tmp_path: Path):
    result = await sessions.run("seq 100000", tty=False)
    whole = b"".join(b"%d\n" % i for i in range(1, 100_001))
    assert result.cut and result.read() == whole and result.n_bytes == len(whole)
    assert result.preview == whole[:8192] + b"\n[... 572511 bytes ...]\n" + whole[-8192:]
    result.save(tmp_path / "saved")
    assert (tmp_path / "saved").read_bytes() == whole
    assert result.reads[-1][0] == len(whole)


async def test_reads_are_stamped_between_print_and_return(sessions: ExecSessions):
    code = "import time\nfor _ in range(5): print(time.monotonic_ns(), flush=True); time.sleep(0.06)"
    result = await sessions.run(f"exec {sys.executable} -S -c '{code}'", yield_s=5)
    returned = time.monotonic_ns()
    at, prints = 0, [int(line) for line in result.preview.split()]
    for line, print_ns in zip(result.preview.splitlines(keepends=True), prints, strict=True):
        at += len(line)
        read_ns = next(t for end, t in result.reads if end >= at)
        assert print_ns <= read_ns <= returned
        assert read_ns - print_ns < 50_000_000
    assert len(result.reads) >= 5


@BOTH
async def test_nothing_is_missing_at_the_end(sessions: ExecSessions, tty: bool):
    for n_bytes in (1, 100, 4095, 4096, 4097, 20_480, 20_481, 65_536, 129_000):
        for _ in range(4):
            result = await sessions.run(f"head -c {n_bytes} /dev/zero | tr '\\0' x", tty=tty)
            assert result.n_bytes == n_bytes


async def test_what_cannot_be_kept_is_read_and_counted(tmp_path: Path):
    async with ExecSessions(env={"HOME": str(tmp_path)}, max_bytes=1000) as sessions:
        for tty in (True, False):
            result = await sessions.run("head -c 300000 /dev/zero", tty=tty)
            assert (result.n_bytes, result.lost_bytes, result.exit_code) == (1000, 299_000, 0)


async def test_a_full_disk_costs_output_and_not_the_command(tmp_path: Path):
    """The limit of a file's size stands for the disk."""
    script = """
    import asyncio, resource
    from agentlab import ExecSessions

    async def main():
        async with ExecSessions() as sessions:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
            for tty in (True, False):
                result = await sessions.run("head -c 3000000 /dev/zero; echo end >&2; exit 7", tty=tty)
                assert result.n_bytes == 100_000, result
                assert result.lost_bytes == 2_900_004 + tty, result
                assert result.exit_code == 7, result

    asyncio.run(main())
    """
    process = await _python(script, tmp_path)
    assert await process.wait() == 0


async def test_the_spool_is_private_and_has_no_name(tmp_path: Path):
    folder = tmp_path / "spools"
    async with ExecSessions(folder=folder) as sessions:
        result = await sessions.run("echo hello; sleep 60", yield_s=0.5)
        assert result.read() == b"hello\r\n"
        assert list(folder.iterdir()) == []
    async with ExecSessions(folder=folder, archive=True) as sessions:
        await sessions.run("echo hello; sleep 60", yield_s=0.5)
    (kept,) = folder.iterdir()
    assert kept.name == "exec-1.out" and kept.read_bytes() == b"hello\r\n"
    assert kept.stat().st_mode & 0o777 == 0o600


# -- what is typed


async def test_a_terminal_has_its_size_and_a_controlling_process(sessions: ExecSessions):
    result = await sessions.run("stty size; echo $TERM; echo direct > /dev/tty; ps -o tpgid=,pgid= -p $$")
    size, term, direct, groups = result.text().splitlines()
    assert (size, term, direct) == ("40 120", "xterm-256color", "direct")
    assert len(set(groups.split())) == 1  # in the foreground


@BOTH
async def test_control_c_interrupts(sessions: ExecSessions, tty: bool):
    result = await sessions.run("echo begun; exec sleep 60", tty=tty, yield_s=0.1)
    await printed(sessions, result, b"begun")
    result = await sessions.write(result.session, "\x03", yield_s=10)
    assert (result.state, result.exit_code, result.ended_by) == ("exited", -signal.SIGINT, "signal 2")


@BOTH
async def test_control_c_reaches_a_handler(sessions: ExecSessions, tty: bool):
    command = "trap 'echo caught; exit 5' INT; echo begun; while :; do sleep 0.02; done"
    result = await sessions.run(command, tty=tty, yield_s=0.1)
    await printed(sessions, result, b"begun")
    result = await sessions.write(result.session, "\x03", yield_s=10)
    assert (result.exit_code, result.ended_by) == (5, "self")
    assert b"caught" in result.read()


@BOTH
async def test_control_d_ends_the_input(sessions: ExecSessions, tty: bool):
    result = await sessions.run("cat; echo over", tty=tty, yield_s=0.2)
    first = await sessions.write(result.session, "abc\n", yield_s=0.2)
    assert first.state == "running"
    last = await sessions.write(result.session, "\x04", yield_s=10)
    assert last.exit_code == 0
    assert (first.read() + last.read()).replace(b"\r", b"").endswith(b"abc\nover\n")


async def test_control_d_inside_a_line_only_flushes_it(sessions: ExecSessions):
    result = await sessions.run("stty -echo; cat; echo over", yield_s=0.3)
    result = await sessions.write(result.session, "abc\x04", yield_s=0.3)
    assert (result.state, result.read()) == ("running", b"abc")
    result = await sessions.write(result.session, "\n\x04", yield_s=10)
    assert result.read() == b"\r\nover\r\n"


async def test_control_d_over_pipes_comes_after_what_was_typed_before(sessions: ExecSessions):
    result = await sessions.run("sleep 0.3; wc -c", tty=False, yield_s=0.1)
    result = await sessions.write(result.session, "x" * 500_000 + "\x04", yield_s=10)
    assert (result.read(), result.unsent_bytes) == (b"500000\n", 0)


async def test_nothing_can_be_typed_after_the_end_of_the_input(sessions: ExecSessions):
    result = await sessions.run("sleep 60", tty=False, yield_s=0.1)
    await sessions.write(result.session, "\x04", yield_s=0.1)
    with pytest.raises(DriverError, match="has closed the input") as caught:
        await sessions.write(result.session, "more\n")
    assert caught.value.code == "stdin_closed"
    assert (await sessions.write(result.session, "\x03")).ended_by == "signal 2"


async def test_what_is_typed_after_a_control_d_is_refused_also_before_it_is_taken(sessions: ExecSessions):
    result = await sessions.run("sleep 0.5; wc -c", tty=False, yield_s=0.1)
    with pytest.raises(DriverError, match="after it"):
        await sessions.write(result.session, "a\x04b")
    await sessions.write(result.session, "x" * 500_000 + "\x04\x04", yield_s=0.1)
    with pytest.raises(DriverError, match="after it"):
        await sessions.write(result.session, "more")
    assert (await sessions.poll(result.session)).read() == b"500000\n"


READ_WHOLE = "import sys; d = sys.stdin.buffer.readline(); print(len(d), d.count(b'y'), d.count(b'\\4'))"


@BOTH
async def test_a_long_line_arrives_whole(sessions: ExecSessions, tty: bool):
    for n_bytes in (4094, 4095, 4096, 10_000, 100_000):
        result = await sessions.run(f'echo go; {sys.executable} -S -c "{READ_WHOLE}"', tty=tty, yield_s=0.1)
        await printed(sessions, result, b"go")
        result = await sessions.write(result.session, "y" * n_bytes + "\n", yield_s=10)
        assert result.read().split()[-3:] == [b"%d" % (n_bytes + 1), b"%d" % n_bytes, b"0"]


async def test_a_long_line_arrives_whole_byte_by_byte_and_typed_in_pieces(sessions: ExecSessions):
    """A shell's read takes one byte at a time, so that each cut is at the end of a read."""
    result = await sessions.run("stty -echo; echo go; read line; echo ${#line}", yield_s=0.1)
    await printed(sessions, result, b"go")
    for _ in range(4):
        assert (await sessions.write(result.session, "z" * 2500, yield_s=0.1)).state == "running"
    assert (await sessions.write(result.session, "\n", yield_s=10)).read() == b"10000\r\n"


async def test_many_lines_are_not_cut(sessions: ExecSessions):
    text = "".join(f"line {i}\n" for i in range(5000))
    result = await sessions.run("stty -echo; echo go; head -n 5000 | cksum", yield_s=0.1)
    await printed(sessions, result, b"go")
    result = await sessions.write(result.session, text, yield_s=10)
    expected = await sessions.run(f"printf 'line %s\\n' $(seq 0 4999) | cksum", tty=False)  # noqa: F541
    assert result.read().split() == expected.read().split()


async def test_a_line_that_cannot_be_cut_is_an_error(sessions: ExecSessions):
    result = await sessions.run("stty eof undef; echo go; sleep 60", yield_s=0.1)
    await printed(sessions, result, b"go")
    with pytest.raises(DriverError, match="4095 bytes of a line") as caught:
        await sessions.write(result.session, "y" * 5000 + "\n")
    assert caught.value.code == "line_too_long"
    assert (await sessions.write(result.session, "short\n", yield_s=0.3)).read() == b"short\r\n"


async def test_a_terminal_that_passes_everything_on_gets_it_as_it_is(sessions: ExecSessions):
    result = await sessions.run("stty raw -echo; echo go; head -c 20000 | cksum", yield_s=0.1)
    await printed(sessions, result, b"go")
    result = await sessions.write(result.session, "w" * 20_000, yield_s=10)
    expected = await sessions.run("head -c 20000 /dev/zero | tr '\\0' w | cksum", tty=False)
    assert result.read().split() == expected.read().split()


@BOTH
async def test_a_program_that_does_not_read_its_input_can_be_interrupted(sessions: ExecSessions, tty: bool):
    result = await sessions.run("stty -echo 2>&-; echo go; exec sleep 60", tty=tty, yield_s=0.1)
    await printed(sessions, result, b"go")
    result = await sessions.write(result.session, "line\n" * 300_000, yield_s=0.2)
    assert (result.state, result.unsent_bytes > 1_000_000) == ("running", True)
    assert (await sessions.write(result.session, "\x03", yield_s=10)).ended_by == "signal 2"


async def test_a_program_that_has_closed_its_input_does_not_lose_its_output(sessions: ExecSessions):
    result = await sessions.run("exec <&-; echo go; sleep 0.4; echo end", tty=False, yield_s=0.1)
    await printed(sessions, result, b"go")
    result = await sessions.write(result.session, "nobody reads this", yield_s=10)
    assert (result.read(), result.exit_code, result.unsent_bytes) == (b"end\n", 0, 17)


# -- after the end


@BOTH
async def test_typing_into_an_ended_session_does_nothing(sessions: ExecSessions, tty: bool):
    for code in (0, 28):
        first = await sessions.run(f"exit {code}", tty=tty)
        again = await sessions.write(first.session, "\x03")
        polled = await sessions.poll(first.session, yield_s=30)
        assert [r.state for r in (first, again, polled)] == ["exited", "already_exited", "already_exited"]
        assert {(r.exit_code, r.ended_by, r.wall_ms) for r in (first, again, polled)} == {
            (code, "self", first.wall_ms)
        }


async def test_only_numbers_that_were_never_given_out_are_unknown(sessions: ExecSessions):
    with pytest.raises(DriverError, match="none was started yet") as caught:
        await sessions.poll(1)
    assert caught.value.code == "unknown_session"
    await sessions.run("true")
    assert (await sessions.poll(1)).state == "already_exited"
    for call in (sessions.poll(2), sessions.write(2, "x"), sessions.close(2)):
        with pytest.raises(DriverError, match="numbers 1 to 1 were given out"):
            await call


@BOTH
async def test_what_the_background_prints_later_is_kept(sessions: ExecSessions, tty: bool):
    result = await sessions.run("(sleep 0.2; echo late) & echo now", tty=tty, yield_s=10)
    assert (result.state, result.text().split(), result.background >= 1) == ("exited", ["now"], True)
    output = await printed(sessions, result, b"late")
    assert output.split() == [b"now", b"late"]
    assert (await sessions.poll(result.session)).n_bytes == 0


@BOTH
async def test_the_end_of_file_is_not_waited_for(sessions: ExecSessions, tty: bool):
    begun = time.monotonic()
    result = await sessions.run("sleep 60 & echo now", tty=tty, yield_s=10)
    assert time.monotonic() - begun < 3
    assert (result.state, result.background) == ("exited", 1)
    assert [info.state for info in sessions.list()] == ["background"]


FORMS = ["{} &", "{} & disown", "nohup {} >/dev/null &", "setsid {} &", "({} &)"]


@BOTH
async def test_what_was_started_on_purpose_lives_until_it_is_closed(
    sessions: ExecSessions, tmp_path: Path, tty: bool
):
    started: list[tuple[ExecResult, Path]] = []
    for i, form in enumerate(FORMS):
        server = f"bash -c 'echo $BASHPID > pid-{i}; exec sleep 60'"
        started.append(
            (await sessions.run(form.format(server), cwd=tmp_path, tty=tty), tmp_path / f"pid-{i}")
        )
    await asyncio.sleep(0.3)
    for result, path in started:
        while not (path.exists() and path.read_text()):
            await asyncio.sleep(0.01)
        assert result.state == "exited"
        assert alive(pid := int(path.read_text())), result
        closed = await sessions.close(result.session)
        assert not alive(pid)
        assert (closed.state, closed.survivors, closed.background) == ("already_exited", (), 0)
    assert sessions.list() == ()


@BOTH
async def test_ended_from_outside(sessions: ExecSessions, tty: bool):
    result = await sessions.run("echo $$; echo words; exec sleep 60", tty=tty, yield_s=0.1)
    pid = await number(sessions, result)
    os.kill(pid, signal.SIGTERM)
    result = await sessions.poll(result.session, yield_s=10)
    assert (result.state, result.exit_code, result.ended_by, result.stopped) == (
        "exited",
        -15,
        "signal 15",
        None,
    )


async def test_a_shell_tells_what_ended_its_command(sessions: ExecSessions):
    result = await sessions.run("sleep 60 & echo $!; wait $!; exit $?", tty=False, yield_s=0.1)
    os.kill(await number(sessions, result), signal.SIGTERM)
    result = await sessions.poll(result.session, yield_s=10)
    assert (result.exit_code, result.ended_by) == (143, "signal 15")


# -- ends


@BOTH
async def test_a_timeout_ends_all_of_it(sessions: ExecSessions, tty: bool):
    command = "(setsid bash -c 'trap \"\" TERM; echo $BASHPID; while :; do sleep 1; done' &); sleep 60"
    result = await sessions.run(command, tty=tty, timeout_s=1.0, yield_s=10)
    assert (result.state, result.stopped, result.ended_by) == ("exited", "timeout", "timeout")
    assert (result.exit_code, result.background, result.survivors) == (-15, 0, ())
    assert not alive(int(result.preview.split()[0]))
    assert 1000 <= result.wall_ms < 3000


@BOTH
async def test_a_timeout_that_is_ignored_is_followed_by_a_kill(sessions: ExecSessions, tty: bool):
    result = await sessions.run("trap '' TERM; while :; do sleep 1; done", tty=tty, timeout_s=0.3)
    assert (result.exit_code, result.ended_by, result.stopped) == (-9, "timeout", "timeout")
    assert result.wall_ms > 450


async def test_a_timeout_leaves_alone_what_outlived_its_command(sessions: ExecSessions):
    result = await sessions.run("sleep 60 & echo $!", timeout_s=0.5)
    await asyncio.sleep(0.8)
    assert alive(int(result.preview))
    assert (await sessions.close(result.session)).stopped is None


@pytest.mark.parametrize("shell", ["set -m", "exec bash -i", "exec bash --norc -i"])
async def test_groups_of_job_control_end_too(sessions: ExecSessions, shell: str):
    result = await sessions.run("echo go; " + (shell if shell != "set -m" else "exec bash -m"), yield_s=0.1)
    await printed(sessions, result, b"go")
    result = await sessions.write(result.session, "sleep 61 & echo =$!=; (sleep 62 & echo =$!=)\n", yield_s=1)
    pids = [int(n) for n in re.findall(rb"=(\d+)=", result.read())]
    assert len(pids) == 2 and all(map(alive, pids))
    assert os.getpgid(pids[0]) != os.getpgid(pids[1])
    closed = await sessions.close(result.session)
    assert (closed.state, closed.ended_by) == ("exited", "close")
    assert not any(map(alive, pids))


async def test_stopped_processes_end_too(sessions: ExecSessions):
    result = await sessions.run("sleep 60 & echo $!; kill -STOP $!; exec sleep 60", yield_s=0.5)
    pid = await number(sessions, result)
    assert (await sessions.close(result.session)).exit_code == -15
    assert not alive(pid)


ESCAPE = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        code = "import os, time; print(os.getpid(), flush=True); os.closerange(0, 3); time.sleep(60)"
        os.execve(sys.executable, [sys.executable, "-S", "-c", code], {})
    os._exit(0)
time.sleep(60)
"""


@BOTH
async def test_whoever_runs_away_ends_too(sessions: ExecSessions, tmp_path: Path, tty: bool):
    (tmp_path / "escape.py").write_text(ESCAPE)
    result = await sessions.run(f"exec {sys.executable} escape.py", cwd=tmp_path, tty=tty, yield_s=0.1)
    pid = await number(sessions, result)
    await sessions.close(result.session)
    assert not alive(pid)


async def test_what_cannot_be_ended_is_named(sessions: ExecSessions, monkeypatch: pytest.MonkeyPatch):
    """Signals that go nowhere stand for a process that hangs in the kernel."""
    result = await sessions.run("exec sleep 60", yield_s=0.2)
    with monkeypatch.context() as patch:
        patch.setattr(ladder, "_send", lambda *_: None)
        patch.setattr(ladder, "_KILL_S", 0.05)
        result = await sessions.close(result.session)
        assert (result.state, [name.split()[1] for name in result.survivors]) == ("running", ["sleep"])
    result = await sessions.close(result.session)
    assert (result.state, result.ended_by, result.survivors) == ("exited", "close", ())


async def test_closing_twice_and_after_the_end(sessions: ExecSessions):
    result = await sessions.run("sleep 60", yield_s=0.1)
    both = await asyncio.gather(sessions.close(result.session), sessions.close(result.session))
    assert sorted(r.state for r in both) == ["already_exited", "exited"]
    assert (await sessions.close(result.session)).ended_by == "close"


@BOTH
async def test_a_command_whose_leader_is_killed_is_ended_and_its_code_unknown(
    sessions: ExecSessions, tty: bool
):
    result = await sessions.run("echo $$; trap '' HUP; sleep 60; sleep 61", tty=tty, yield_s=0.1)
    pid = await number(sessions, result)
    os.kill(int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]), signal.SIGKILL)
    result = await sessions.poll(result.session, yield_s=10)
    assert (result.state, result.exit_code, result.ended_by) == ("exited", None, None)
    assert await gone(pid)


async def test_without_the_starting_process_what_runs_is_still_heard(sessions: ExecSessions):
    result = await sessions.run("echo $PPID; sleep 0.5; exit 4", yield_s=0.1)
    leader = await number(sessions, result)
    os.kill(int(Path(f"/proc/{leader}/stat").read_text().rpartition(")")[2].split()[1]), signal.SIGKILL)
    assert (await sessions.poll(result.session)).exit_code == 4
    with pytest.raises(StartupError, match="has ended"):
        await sessions.run("true")


async def refused(sessions: ExecSessions) -> None:
    """Nothing is started any more that would outlive this process."""
    end = time.monotonic() + 5.0
    while time.monotonic() < end:
        await sessions.run("true")
        await asyncio.sleep(0.01)


async def test_without_the_watchdog_sessions_end_all_the_same(tmp_path: Path):
    async with ExecSessions(env={"HOME": str(tmp_path)}) as sessions:
        first = await sessions.run("echo $$; exec sleep 60", yield_s=0.1)
        second = await sessions.run("echo $$; exec sleep 60", tty=False, yield_s=0.1)
        pids = [await number(sessions, first), await number(sessions, second)]
        os.kill(sessions.pid, signal.SIGKILL)
        with pytest.raises(StartupError, match="watchdog"):
            await refused(sessions)
        assert (await sessions.close(first.session)).exit_code == -15
        assert not alive(pids[0])
        assert alive(pids[1])
    assert sessions.survivors == ()
    assert await gone(pids[1])


async def test_without_the_watchdog_whoever_hides_its_marker_ends_too(tmp_path: Path):
    async with ExecSessions(env={"HOME": str(tmp_path)}) as sessions:
        result = await sessions.run("env -i setsid sleep 60 & echo $!", yield_s=0.5)
        pid = await number(sessions, result)
        os.kill(sessions.pid, signal.SIGKILL)
    assert await gone(pid)


async def test_nothing_stays_open(tmp_path: Path):
    before = n_open_files()
    async with ExecSessions(env={"HOME": str(tmp_path)}) as sessions:
        open_ = n_open_files()
        for tty in (True, False):
            for command in ("true", "seq 10000", "(sleep 0.05; echo late) &", "sleep 60"):
                result = await sessions.run(command, tty=tty, yield_s=0.1)
                await sessions.close(result.session)
        del result
        assert n_open_files() == open_
        await sessions.run("sleep 60", yield_s=0.1)
        await sessions.run("sleep 60", tty=False, yield_s=0.1)
    assert list(tmp_path.glob("agentlab-*")) == []
    assert threading.active_count() == 1 or "agentlab-exec" not in {t.name for t in threading.enumerate()}
    assert n_open_files() <= before + 2  # spools of what nobody asked for


# -- limits and refusals


async def test_one_too_many_is_refused_and_told_what_runs(tmp_path: Path):
    async with ExecSessions(env={"HOME": str(tmp_path)}, limit=2) as sessions:
        first = await sessions.run("sleep 60", yield_s=0.1)
        await sessions.run("sleep 61 & true")
        with pytest.raises(DriverError) as caught:
            await sessions.run("true")
        assert caught.value.code == "session_limit"
        assert "1: 'sleep 60' (running," in str(caught.value)
        assert "2: 'sleep 61 & true' (background," in str(caught.value)
        await sessions.close(first.session)
        assert (await sessions.run("true")).session == 3


async def test_an_end_that_nobody_asked_for_keeps_its_place(tmp_path: Path):
    async with ExecSessions(env={"HOME": str(tmp_path)}, limit=1) as sessions:
        first = await sessions.run("sleep 0.3", yield_s=0.1)
        while [info.state for info in sessions.list()] != ["exited"]:
            await asyncio.sleep(0.02)
        with pytest.raises(DriverError, match="Poll those that have ended"):
            await sessions.run("true")
        assert (await sessions.poll(first.session)).state == "exited"
        assert (await sessions.run("true")).state == "exited"


async def test_late_output_of_long_ago_is_lost_and_counted(tmp_path: Path):
    async with ExecSessions(env={"HOME": str(tmp_path)}, limit=1) as sessions:
        for _ in range(3):
            await sessions.run("(sleep 0.1; echo late) &", tty=False)
            while sessions.list():
                await asyncio.sleep(0.02)
        oldest, latest = await sessions.poll(1), await sessions.poll(3)
        assert (oldest.n_bytes, oldest.lost_bytes) == (0, 5)
        assert (latest.n_bytes, latest.lost_bytes) == (5, 0)
        assert (await sessions.poll(1)).lost_bytes == 0


async def test_wrong_values_are_named(sessions: ExecSessions, tmp_path: Path):
    for wrong in (0.0, 0.05, 31.0, float("nan")):
        with pytest.raises(ConfigError, match="yield_s"):
            await sessions.run("true", yield_s=wrong)
        with pytest.raises(ConfigError, match="yield_s"):
            await sessions.poll(1, yield_s=wrong)
    for wrong in (0.0, -1.0):
        with pytest.raises(ConfigError, match="timeout_s"):
            await sessions.run("true", timeout_s=wrong)
    for command in ("a\0b", "\ud800", 3):
        with pytest.raises(ConfigError, match="the command is"):
            await sessions.run(command)  # pyright: ignore[reportArgumentType]
    with pytest.raises(StartupError, match="No such file or directory"):
        await sessions.run("true", cwd=tmp_path / "none")
    with pytest.raises(StartupError, match="Argument list too long"):
        await sessions.run("true " + "x" * 200_000)
    with pytest.raises(StartupError, match=re.escape(f"{str(tmp_path / 'none')!r}: No such file")):
        await sessions.run("true", cwd=tmp_path / "none")
    for cwd in ("/tmp\0", 5):
        with pytest.raises(ConfigError, match="cwd"):
            await sessions.run("true", cwd=cwd)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="yield_s"):
        await sessions.run("true", yield_s="5")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="timeout_s"):
        await sessions.run("true", timeout_s=True)
    assert sessions.list() == ()
    result = await sessions.run("cat", yield_s=0.1)
    for chars in (5, None, "\udc80"):
        with pytest.raises(ConfigError, match="chars"):
            await sessions.write(result.session, chars)  # pyright: ignore[reportArgumentType]
    await sessions.write(result.session, memoryview(b"\x04"))  # pyright: ignore[reportArgumentType]
    for unknown in (True, [1], None):
        with pytest.raises(DriverError, match="unknown"):
            await sessions.poll(unknown)  # pyright: ignore[reportArgumentType]
    assert (await sessions.run("true")).exit_code == 0


@pytest.mark.parametrize(
    "env", [{"A": 1}, {"A": None}, {"A": "a\0"}, {"A=B": "x"}, {"": "x"}, {1: "x"}, {"A": "\ud800"}, ["A"]]
)
def test_an_environment_that_no_command_can_have_is_refused(env: dict[str, str]):
    with pytest.raises(ConfigError, match="env="):
        ExecSessions(env=env)


@pytest.mark.parametrize(
    "setting", [{"limit": 1.5}, {"limit": True}, {"max_bytes": 1.5}, {"cols": None}, {"preview_bytes": "1"}]
)
def test_settings_are_whole_numbers(setting: dict[str, int]):
    with pytest.raises(ConfigError, match="whole number"):
        ExecSessions(**setting)  # pyright: ignore[reportArgumentType]


async def test_an_archive_is_not_written_over(tmp_path: Path):
    for said in ("first", "second"):
        async with ExecSessions(folder=tmp_path, archive=True, env={"HOME": str(tmp_path)}) as sessions:
            if said == "first":
                await sessions.run("echo first")
            else:
                with pytest.raises(StartupError, match=r"exec-1\.out: File exists.*folder of its own"):
                    await sessions.run("echo second")
    assert (tmp_path / "exec-1.out").read_bytes() == b"first\r\n"
    with pytest.raises(ConfigError, match="File exists"):
        await ExecSessions(folder=tmp_path / "exec-1.out").open()


async def test_nothing_works_before_and_after(tmp_path: Path):
    sessions = ExecSessions()
    with pytest.raises(DriverError, match="async with"):
        await sessions.run("true")
    assert await sessions.aclose() == ()
    async with sessions:
        result = await sessions.run("sleep 60", yield_s=0.1)
    assert await sessions.aclose() == ()
    with pytest.raises(DriverError, match="async with"):
        await sessions.run("true")
    ended = await sessions.poll(result.session)  # closed with all the others
    assert (ended.state, ended.ended_by) == ("exited", "close")
    with pytest.raises(DriverError, match="make new ones"):
        await sessions.open()


async def test_no_key_crosses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("SOME_API_KEY", "sk-must-not-cross")
    monkeypatch.setenv("LC_TIME", "C")
    async with ExecSessions(env={"HOME": str(tmp_path), "MINE": "1"}, tty=False) as sessions:
        names = {line.partition("=")[0] for line in (await sessions.run("env")).text().splitlines()}
        seen = (await sessions.run("cat /proc/*/environ 2>/dev/null | grep -c must-not-cross")).text()
    assert {"MINE", "LC_TIME", "PATH", "TERM"} <= names
    assert "SOME_API_KEY" not in names
    assert int(seen) <= 1 + sum(b"must-not-cross" in env for env in _environments())


def _environments() -> list[bytes]:
    found: list[bytes] = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            found.append(path.read_bytes())
        except OSError:
            continue
    return found


# -- threads, loops, cancellation


async def test_a_busy_loop_does_not_stop_the_reading(sessions: ExecSessions):
    """Nobody awaits anything while five megabytes go through a terminal that holds 20 kB."""
    result = await sessions.run(
        "echo go; sleep 0.2; seq 600000 > /dev/tty; touch over", yield_s=0.1, cwd=sessions._env["HOME"]
    )
    await printed(sessions, result, b"go")
    over, end = Path(sessions._env["HOME"]) / "over", time.monotonic() + 20
    while not over.exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert over.exists()
    assert (await sessions.poll(result.session)).n_bytes > 4_000_000


def test_several_loops_one_after_another(tmp_path: Path):
    sessions = ExecSessions(env={"HOME": str(tmp_path)})
    asyncio.run(sessions.__aenter__())
    result = asyncio.run(sessions.run("cat", tty=False, yield_s=0.1))
    asyncio.run(sessions.write(result.session, "one\n", yield_s=0.1))
    answers: list[ExecResult] = []
    other = threading.Thread(
        target=lambda: answers.append(asyncio.run(sessions.write(result.session, "\x04")))
    )
    other.start()
    other.join()
    assert answers[0].exit_code == 0
    assert asyncio.run(sessions.aclose()) == ()


async def test_a_cancelled_wait_takes_no_bytes_and_ends_nothing(sessions: ExecSessions):
    waiting = asyncio.create_task(sessions.run("echo hello; cat", tty=False, yield_s=30))
    while not (sessions.list() and sessions.list()[0].unread_bytes):
        await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    (info,) = sessions.list()
    waiting = asyncio.create_task(sessions.poll(info.session, yield_s=30))
    await asyncio.sleep(0.1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    result = await sessions.write(info.session, "\x04")
    assert (result.read(), result.state, result.exit_code) == (b"hello\n", "exited", 0)


async def test_sixteen_at_once(sessions: ExecSessions):
    async def talk(i: int) -> tuple[bytes, int | None]:
        result = await sessions.run("stty -echo; echo go; cat", yield_s=0.1, tty=True)
        await printed(sessions, result, b"go")
        first = await sessions.write(result.session, f"{i}\n" * 2000, yield_s=0.5)
        last = await sessions.write(result.session, "\x04", yield_s=10)
        return first.read() + last.read(), last.exit_code

    for i, (output, code) in enumerate(await asyncio.gather(*map(talk, range(16)))):
        assert (output, code) == (b"%d\r\n" % i * 2000, 0)


async def test_a_quarter_gigabyte_through_a_pipe_stays_out_of_memory(sessions: ExecSessions):
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = resident()
    result = await sessions.run("head -c 268435456 /dev/zero", tty=False, yield_s=30)
    assert (result.n_bytes, result.exit_code) == (1 << 28, 0)
    assert resident() - before < 40 << 20
    assert sum(map(len, result.pieces())) == 1 << 28


# -- whatever happens to the owner

OWNER = """
    import asyncio, sys, time
    from agentlab import ExecSessions

    async def main():
        sessions = await ExecSessions().__aenter__()
        for tty in (True, False):
            command = "echo $$; setsid env -i sleep 61 & echo $!; sleep 62 & echo $!; sleep 60"
            result = await sessions.run(command, tty=tty, yield_s=0.1)
            output = result.read()
            while output.count(b"\\n") < 3:
                output += (await sessions.poll(result.session, yield_s=0.1)).read()
            print(*output.split(), sep=" ", end=" ")
        print(sessions.pid, flush=True)
        {then}

    asyncio.run(main())
"""


async def _python(script: str, home: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "error",
        "-c",
        textwrap.dedent(script),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "HOME": str(home)},
    )


@pytest.mark.parametrize("then", ["time.sleep(60)", "pass", "raise SystemExit(3)"])
async def test_nothing_outlives_its_owner(tmp_path: Path, then: str):
    """Killed while it does something else, or ended without a close."""
    process = await _python(OWNER.replace("{then}", then), tmp_path)
    assert process.stdout is not None
    pids = [int(word.strip(b"b'").decode()) for word in (await process.stdout.readline()).split()]
    assert len(pids) == 7
    if "sleep" in then:
        assert all(map(alive, pids))
        process.kill()
    await process.wait()
    left = [pid for pid in pids if not await gone(pid, within=5)]
    assert left == []


async def test_the_cancellation_of_an_execution_ends_the_wait(sessions: ExecSessions):
    control = ExecutionControl()
    with control.admit() as execution:
        waiting = asyncio.create_task(sessions.run("cat", tty=False, yield_s=30, until=execution))
        while not sessions.list():
            await asyncio.sleep(0.01)
        control.cancel()
        result = await waiting
        assert result.state == "running"
        assert (await sessions.poll(result.session, yield_s=30, until=execution)).state == "running"
    assert (await sessions.write(result.session, "\x04", until=control.admit())).exit_code == 0
