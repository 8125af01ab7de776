"""Commands that hand on to attach, report and export: what they pass, print and return."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

import agentlab as al
from agentlab import cli
from agentlab.errors import ConfigError, InterruptedByUser, MissingExtra
from agentlab.metrics import CACHE_REPORT, TTFT

CACHE = str(al.example("cache"))


class Running:
    def __init__(self, outcome):
        self.outcome, self.cancelled = outcome, False

    def cancel(self):
        self.cancelled = True

    def result(self):
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


@pytest.fixture
def attached(monkeypatch):
    """What attach() was called with, and the handle it gave."""

    def use(outcome):
        running, calls = Running(outcome), []

        def attach(folder, **options):
            calls.append((str(folder), options))
            return running

        monkeypatch.setattr("agentlab.host.attach.attach", attach)
        return running, calls

    return use


def test_attach_waits_and_shows(attached, capsys):
    running, calls = attached(al.load(CACHE))
    assert cli.main(["attach", "studies/x", "--progress", "none"]) == 0
    assert calls == [("studies/x", {"progress": "none"})] and not running.cancelled
    assert capsys.readouterr().out.startswith("Recordings of cache: 20 of 20 runs used")


def test_attach_can_cancel_and_says_when_nothing_is_eligible(attached):
    running, _ = attached(al.load(CACHE)[:0])
    assert cli.main(["attach", "studies/x", "--cancel"]) == 3
    assert running.cancelled


def test_an_interrupt_only_detaches(attached, capsys):
    said = "No longer waiting. agentlab.attach('studies/x') shows it again; Cancel or .cancel() ends it."
    attached(InterruptedByUser(said))
    assert cli.main(["attach", "studies/x"]) == 130
    expected = (
        "agentlab: No longer waiting. agentlab attach studies/x shows it again; with --cancel it is ended.\n"
    )
    assert capsys.readouterr().err == expected


def test_attach_to_what_is_no_study_or_has_ended(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["attach", "gone"]) == 2
    assert capsys.readouterr().err == "agentlab: agentlab attach gone: there is no study\n"
    shutil.copytree(CACHE, "ended")
    assert cli.main(["attach", "ended"]) == 0
    assert "agentlab: ended has ended: 20 of 20 runs are recorded" in capsys.readouterr().err
    study = json.loads((tmp_path / "ended" / "study.json").read_text())
    (tmp_path / "ended" / "study.json").write_text(json.dumps(study | {"runs": 12}))
    assert cli.main(["attach", "ended"]) == 2
    err = capsys.readouterr().err
    assert "20 of 24 runs are kept: agentlab compare ended. The same command resumes it" in err


@pytest.fixture
def reported(monkeypatch):
    def use(outcome):
        calls = []

        def report(studies, to=None, **options):
            calls.append((studies, to and str(to), options))
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr("agentlab.reporting.report", report)
        return calls

    return use


def test_report_passes_on_and_prints_its_files(reported, capsys, tmp_path):
    page = tmp_path / "x.html"
    calls = reported(page)
    assert cli.main(["report", "studies/x"]) == 0
    assert capsys.readouterr().out == f"{page}\n", "where no Chromium is there is no PDF"
    page.with_suffix(".pdf").touch()
    assert cli.main(["report", "studies/x"]) == 0
    assert capsys.readouterr().out == f"{page}\n{tmp_path / 'x.pdf'}\n"
    more = ["--to", "a.html", "--metric", "ttft", "--metric", "CACHE_REPORT", "--reference", "on"]
    assert cli.main(["report", "studies/x", "y", *more, "--no-pdf"]) == 0
    assert capsys.readouterr().out == f"{page}\n"
    assert cli.main(["report", "studies/x", "--pdf"]) == 0
    plain = {"metrics": [], "reference": None}
    chosen = {"metrics": [TTFT, *CACHE_REPORT], "reference": "on"}
    assert calls == [
        *[(["studies/x"], None, plain | {"pdf": "auto"})] * 2,
        (["studies/x", "y"], "a.html", chosen | {"pdf": False}),
        (["studies/x"], None, plain | {"pdf": True}),
    ]


@pytest.mark.parametrize("error", [ConfigError("report(to='x.txt'): no page"), MissingExtra("pip install x")])
def test_report_says_what_is_wrong(reported, capsys, error):
    reported(error)
    assert cli.main(["report", "studies/x"]) == 2
    assert capsys.readouterr().err in ("agentlab: --to 'x.txt': no page\n", "agentlab: pip install x\n")


@pytest.mark.parametrize("format, n", [("parquet", 11), ("csv", 11), ("schema2", 2)])
def test_export_prints_its_files(capsys, tmp_path, format, n):
    target = tmp_path / "out"
    assert cli.main(["export", CACHE, "--format", format, "--to", str(target)]) == 0
    names = capsys.readouterr().out.splitlines()
    assert sorted(names) == sorted(str(path) for path in target.iterdir())
    assert len(names) >= n
    assert cli.main(["export", CACHE, "--format", format, "--to", str(target)]) == 2
    assert "holds something already; give a new or empty folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["gone", "--to", "x"], "gone does not exist"),
        (["pyproject.toml", "--to", "x"], "pyproject.toml"),
    ],
)
def test_export_says_what_is_wrong(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[project]")
    assert cli.main(["export", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(capsys, shell):
    assert cli.main(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert "agentlab" in out and "_ARGCOMPLETE" in out


def test_lines_of_progress_come_in_the_words_of_the_shell(attached, capsys, monkeypatch):
    running, _ = attached(al.load(CACHE))

    def result():
        print("agentlab: 1 of 4 runs; agentlab.attach('s') shows it", file=sys.stderr)
        print("Traceback: record(to='x')", file=sys.stderr)
        return al.load(CACHE)

    monkeypatch.setattr(running, "result", result)
    before = sys.stderr
    assert cli.main(["attach", "s"]) == 0
    said = "agentlab: 1 of 4 runs; agentlab attach s shows it\nTraceback: record(to='x')\n"
    assert capsys.readouterr().err == said
    assert sys.stderr is before


def test_help_is_there_at_once_for_every_command(capsys):
    for command in (
        "demo",
        "doctor",
        "install",
        "record",
        "attach",
        "gateway",
        "compare",
        "report",
        "export",
        "completion",
    ):
        with pytest.raises(SystemExit) as caught:
            cli.main([command, "--help"])
        assert caught.value.code == 0
        assert f"usage: agentlab {command}" in capsys.readouterr().out
