"""Start-up of sessions on terminals."""

import agentlab as al


def start(run, session="s1", at=100, **fields):
    run.emit("session.open", at_ms=at - 1, session=session, role="main", agent="codex", version="0.171.0")
    run.emit("terminal.start", at_ms=at, session=session, pid=7, cols=120, rows=40, home="cold", **fields)


def test_stamps_become_times_since_the_start(study):
    with study.run("a") as run:
        start(run, daemon="shared", n_arguments=0)
        run.emit("terminal.raw", at_ms=150, session="s1", cpu_s=0.03)
        run.emit("terminal.paint", at_ms=180, session="s1", cpu_s=0.06)
        run.emit("terminal.probe", at_ms=190, session="s1", attempt=1)
        run.emit("terminal.probe", at_ms=400, session="s1", attempt=2)
        run.emit("terminal.echo", at_ms=420, session="s1", attempt=2, cpu_s=0.21)
        run.emit(
            "terminal.queries", at_ms=900, session="s1", seen={"DA1": 1, "CPR": 3}, unanswered={"kitty": 1}
        )
        run.emit("terminal.output", at_ms=900, session="s1", n_bytes=5000, n_reads=12)
        run.emit("terminal.exit", at_ms=950, session="s1", exit_code=-15, ended_by="signal 15")
        run.emit_memory("memory.sample", at_ms=500, lane="slow", processes=[])
        run.emit_memory("memory.sample", at_ms=600, lane="slow", processes=[])
        run.emit_memory("memory.plateau", at_ms=700, reached=True, since=run.ns(600), until=run.ns(700))
    row = al.load(study.path).sessions.iloc[0]
    assert (row["agent"], row["version"], row["home"], row["daemon"]) == (
        "codex",
        "0.171.0",
        "cold",
        "shared",
    )
    assert row["spawn_ns"] == run.ns(100)
    assert (row["raw_ms"], row["paint_ms"], row["first_input_ms"]) == (50, 80, 320)
    assert (row["raw_cpu_s"], row["paint_cpu_s"], row["first_input_cpu_s"]) == (0.03, 0.06, 0.21)
    assert (row["n_probes"], row["age_ms"]) == (2, 500)
    assert (row["n_queries"], row["n_unanswered"], row["output_bytes"]) == (4, 1, 5000)
    assert (row["exit_code"], row["ended_by"]) == (-15, "signal 15")


def test_what_was_not_seen_is_unknown(study):
    with study.run("a") as run:
        start(run)
        run.emit("terminal.paint", at_ms=180, session="s1")
        run.emit("terminal.probe", at_ms=190, session="s1", attempt=1)
    row = al.load(study.path).sessions.iloc[0]
    assert row["paint_ms"] == 80
    assert row["n_probes"] == 1
    unknown = (
        "paint_cpu_s",
        "raw_ms",
        "first_input_ms",
        "first_input_cpu_s",
        "age_ms",
        "daemon",
        "n_queries",
    )
    assert row[[*unknown, "n_unanswered", "output_bytes", "exit_code", "ended_by"]].isna().all()


def test_a_session_without_a_terminal_has_none_of_it(study):
    with study.run("a") as run:
        run.emit("session.open", session="s1", role="main")
        run.emit("session.info", session="s1", agent="build", version="1")
    row = al.load(study.path).sessions.iloc[0]
    assert (row["agent"], row["version"]) == ("build", "1")
    assert row[["spawn_ns", "paint_ms", "n_probes", "n_queries"]].isna().all()


def test_each_session_has_its_own_clock(study):
    with study.run("a", n_sessions=2) as run:
        for session, at in (("s1", 100), ("s2", 130)):
            start(run, session, at)
            run.emit("terminal.paint", at_ms=at + 40, session=session)
    assert al.load(study.path).sessions["paint_ms"].tolist() == [40, 40]
