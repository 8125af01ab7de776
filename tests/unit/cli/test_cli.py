"""The command line without agents: the study under `record` is a stand-in that shows what is passed on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

import agentlab
from agentlab import cli
from agentlab.cli import doctor
from agentlab.cli.scenarios import CACHE_PROBE
from agentlab.demo import NOTEBOOKS
from agentlab.errors import AgentlabError, ConfigError, InterruptedByUser, RecordingError, StartupError
from agentlab.testing.recordings import SyntheticArm, write_study


class _Recordings(list):
    def __repr__(self):
        return f"card of {len(self)} runs"


class _Run:
    def __init__(self, eligible):
        self.eligible = eligible


@pytest.fixture
def recorded(monkeypatch):
    """Replace `record` by one that notes its arguments and gives one run."""
    calls = []

    def use(*, eligible=True, error=None):
        class Running:
            def result(self):
                if error:
                    raise error
                return _Recordings([_Run(eligible)])

        def record(scenario, arms, **options):
            calls.append({"scenario": scenario, "arms": arms, **options})
            return Running()

        monkeypatch.setattr("agentlab.engine.record", record)
        return calls

    return use


def test_record_passes_everything_on(recorded, capsys):
    calls = recorded()
    code = cli.main(
        ["record", "opencode", "--gateway-script", "cache-probe", "--runs", "4", "--seed", "7", "--to", "x",
         "--order", "sequential", "--host", "process", "--exists", "refuse", "--keep", "content",
         "--progress", "none", "--agent", "plan", "--timeout", "90", "--stall", "9",
         "--arm", "stable", "--arm", "volatile", "system=Turn {turn}, of the day.", "snapshot=true"]
    )  # fmt: skip
    assert code == 0
    (call,) = calls
    assert (call["runs"], call["seed"], str(call["to"])) == (4, 7, "x")
    assert (call["order"], call["host"], call["exists"]) == ("sequential", "process", "refuse")
    assert (call["keep"], call["progress"]) == ("content", "none")
    assert call["gateway"].upstream.steps
    assert call["scenario"].timeouts.prompt == 90
    assert call["scenario"].timeouts.stall == 9
    assert call["scenario"].timeouts.start == 30
    stable, volatile = call["arms"]["stable"], call["arms"]["volatile"]
    assert (stable.agent, stable.system, stable.snapshot) == ("plan", None, False)
    assert (volatile.system, volatile.snapshot) == ("Turn {turn}, of the day.", True)
    out, err = capsys.readouterr()
    assert out == "card of 1 runs\n"
    assert err == ""


def test_nothing_eligible_is_3(recorded):
    recorded(eligible=False)
    assert cli.main(["record", "opencode", "--gateway-script", "cache-probe"]) == 3


@pytest.mark.parametrize(
    "error, code",
    [
        (ConfigError("bad setting"), 2),
        (RecordingError("disk is full"), 2),
        (StartupError("no start"), 1),
        (AgentlabError("odd"), 1),
        (ZeroDivisionError("a fault of ours"), 1),
        (InterruptedByUser("what was measured is kept"), 130),
        (KeyboardInterrupt(), 130),
    ],
)
def test_error_is_one_line_without_traceback(recorded, capsys, error, code):
    recorded(error=error)
    assert cli.main(["record", "opencode", "--gateway-script", "cache-probe"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("agentlab: ")
    assert (str(error) or "interrupted") in err


LONG = "x" * 300
CACHE = str(agentlab.example("cache"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", LONG],
        ["report", CACHE, "--to", f"{LONG}.html"],
        ["export", CACHE, "--to", LONG],
        ["check", CACHE, "--baseline", LONG],
        ["record", "opencode", "--gateway-script", LONG],
        ["record", "opencode", "--gateway-script", "cache-probe", "--to", LONG],
        ["record", "opencode", "--gateway-script", "cache-probe", "--arm", "a", f"workspace={LONG}"],
        ["record", "terminal", "codex", "--json-out", LONG],
    ],
)
def test_a_name_that_no_file_can_have_is_wrong_usage(arguments, capsys):
    assert cli.main(arguments) == 2
    err = capsys.readouterr().err
    assert "File name too long" in err and "unexpected" not in err


def test_debug_shows_the_traceback(recorded, capsys):
    recorded(error=ConfigError("bad\nsetting"))
    assert cli.main(["record", "opencode", "--gateway-script", "cache-probe", "--debug"]) == 2
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.endswith("agentlab: bad. setting\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_termination_cleans_up_like_an_interrupt(monkeypatch, number):
    before = signal.getsignal(number)

    def terminated(options):
        os.kill(os.getpid(), number)
        raise AssertionError("not interrupted")

    monkeypatch.setattr(doctor, "_run", terminated)
    assert cli.main(["doctor"]) == 130
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("arguments", [[], ["--model", "lab/scripted"]])
def test_model_that_nobody_answers(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        cli.main(["record", "opencode", *arguments])
    assert caught.value.code == 2
    assert "--gateway-script cache-probe" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [[], ["nope"], ["record"], ["compare"], ["compare", "x", "--inter", "auto"]]
)
def test_usage_of_argparse_is_2(arguments):
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2


def test_what_is_no_text_is_refused_and_not_shown(capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["record", "opencode", "--header", "X-Key:secret\udcff"])
    said = capsys.readouterr().err
    assert (caught.value.code, "argument 4 is no UTF-8 text" in said, "secret" in said) == (2, True, False)


def test_probe_is_that_of_the_notebook_so_that_one_name_means_one_study():
    turns = CACHE_PROBE.turns
    cells = json.loads((NOTEBOOKS / "10_cache.ipynb").read_text())["cells"]
    source = next("".join(cell["source"]) for cell in cells if "al.Scenario(" in "".join(cell["source"]))
    assert all(f'"{turn}"' in source for turn in turns) and source.count("{nonce}") == len(turns)


def test_lines_of_an_error_become_sentences(recorded, capsys):
    recorded(error=StartupError("It is not installed. Run: agentlab install opencode\nThe study ended."))
    assert cli.main(["record", "opencode", "--gateway-script", "cache-probe"]) == 1
    said = "It is not installed. Run: agentlab install opencode. The study ended."
    assert capsys.readouterr().err == f"agentlab: {said}\n"
    recorded(error=StartupError("Is it running?\nThe study ended."))
    cli.main(["record", "opencode", "--gateway-script", "cache-probe"])
    assert capsys.readouterr().err == "agentlab: Is it running? The study ended.\n"


def test_doctor_answers_by_exit_code(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    assert cli.main(["doctor"]) == 1
    assert "agentlab install opencode" in capsys.readouterr().out


def test_install_unknown(capsys):
    assert cli.main(["install", "codex9"]) == 2
    assert "agentlab install codex9: known" in capsys.readouterr().err


def test_compare_writes_results_to_stdout_and_csv(capsys, tmp_path):
    csv = tmp_path / "out.csv"
    study = str(agentlab.example("cache"))
    code = cli.main(["compare", study, "--metric", "ttft", "--reference", "stable", "--csv", str(csv)])
    assert code == 0
    out, err = capsys.readouterr()
    assert "time to first token, median" in out
    assert err == ""
    header, *rows = csv.read_text().splitlines()
    assert header.startswith("metric,unit,better,kind,arm,reference,estimate,lower,upper")
    assert {row.split(",")[3] for row in rows} >= {"level", "difference"}
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_compare_knows_the_original_four(capsys):
    code = cli.main(["compare", str(agentlab.example("cache")), "--metric", "CACHE_REPORT"])
    assert code == 0
    assert "promptLoopTtftMsP50" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["gone"], "gone does not exist"),
        (["EXAMPLE", "--metric", "SPEED"], "there is no metric"),
        (["EXAMPLE", "--reference", "nobody"], "nobody"),
        (["EXAMPLE", "--csv", "no/such/folder/x.csv"], "No such file"),
    ],
)
def test_compare_says_what_is_wrong(arguments, said, capsys):
    arguments = [str(agentlab.example("cache")) if a == "EXAMPLE" else a for a in arguments]
    assert cli.main(["compare", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_demo_without_runs_leaves_nothing(tmp_path, capsys):
    assert cli.main(["demo", "--runs", "0", "--to", str(tmp_path / "new")]) == 2
    assert "--runs 0: give a whole number from 1" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_demo_refuses_an_existing_folder(tmp_path, capsys):
    assert cli.main(["demo", "--to", str(tmp_path)]) == 2
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize(("rate", "code"), [(0.0, 0), (1.0, 3)])
def test_a_demo_that_measured_nothing_says_so_and_ends_with_3(rate, code, tmp_path, monkeypatch, capsys):
    def study(name, arm):
        def make(folder, **_):
            write_study(folder / "studies" / name, arms={"one": arm}, runs=2)
            return folder / "page.html"

        return make

    monkeypatch.setattr("agentlab.demo.make_report", study("cache", SyntheticArm()))
    monkeypatch.setattr("agentlab.demo.measure_memory", study("memory", SyntheticArm(discard_rate=rate)))
    monkeypatch.setattr("agentlab.demo.estimates_text", lambda folder: "estimates")
    assert cli.main(["demo", "--to", str(tmp_path / "new")]) == code
    said = capsys.readouterr().out
    assert ("Recordings of memory: 0 of 2 runs used" in said) == bool(
        code
    ) and "Recordings of cache" not in said


def test_the_parser_is_made_without_anything_heavy():
    """`agentlab --help` and each TAB wait for this."""
    heavy = [
        "numpy",
        "pandas",
        "pyarrow",
        "httpx",
        "aiohttp",
        "msgspec",
        "matplotlib",
        "asyncio",
        "argcomplete",
    ]
    code = "import sys; from agentlab.cli.commands import make_parser; make_parser(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(heavy) & set(done.stdout.split())
