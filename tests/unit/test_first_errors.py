"""What a newcomer does wrong in the first hour, and the words of each message that name the cure."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agentlab as al
from agentlab.errors import AgentlabError
from agentlab.notebook import check_parameters, run_notebook
from agentlab.testing.drivers import Toy

LONGEST = 1200  # a screen


@pytest.fixture(scope="module")
def recs():
    return al.load(al.example("cache"))


@pytest.fixture(scope="module")
def estimates(recs):
    return al.compare(recs, "TTFT", n_resamples=100)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An own folder with things that are no study."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "study.json").write_text("{nope")
    (tmp_path / "turns.csv").write_text("arm,ttft_ms\nstable,1\n")
    (tmp_path / "notes.ipynb").write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    return tmp_path


def hello(**options: Any) -> al.Scenario:  # noqa: ANN401
    return al.Scenario("hello", turns=["Say hello."], **options)


def scripted() -> al.ScriptedModel:
    return al.ScriptedModel.load("cache-probe")


def record(scenario: Any = None, arms: Any = None, **options: Any) -> Any:  # noqa: ANN401
    return al.record(scenario or hello(), arms or al.OpenCode("lab/scripted"), progress="none", **options)


class Mine:
    """A driver whose identify() forgets to return."""

    def identify(self) -> None: ...

    def open(self, arm: object) -> None: ...


#: What is done, and words of the message.
LOADING: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "a folder that is not there": (lambda: al.load("nowhere"), ("nowhere does not exist in",)),
    "the name of the example": (lambda: al.load("cache"), ("load(example('cache'))",)),
    "an empty folder": (lambda: al.load("empty"), ("study.json is missing", "record(..., to=)")),
    "a part of a study": (lambda: al.load(al.example("cache") / "runs"), ("load the study itself",)),
    "a damaged study": (lambda: al.load("bad"), ("bad/study.json is damaged",)),
    "a table": (lambda: al.load("turns.csv"), ("turns.csv: unknown format", "study folders")),
    "a notebook": (lambda: al.load("notes.ipynb"), ("unknown format", "study folders")),
    "a script that is no file": (lambda: al.ScriptedModel.load("mine.json"), ("'mine.json'", "no such file")),
    "nothing": (lambda: al.load(None), ("give a study's folder",)),  # pyright: ignore[reportArgumentType]
    "an example that is not there": (lambda: al.example("cahce"), ("there are: cache",)),
    "a report of nothing": (lambda: al.report("nowhere"), ("nowhere does not exist",)),
    "attach to nothing": (lambda: al.attach("nowhere"), ("there is no study",)),
}
SETTINGS: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "one prompt as text": (lambda: al.Scenario("x", turns="Say hello"), ("turns=", "give a list")),
    "a name with a slash": (lambda: al.Scenario("a/b", turns=["x"]), ("without slashes",)),
    "a misspelt need": (lambda: hello(require=("tol:read",)), ("'text' or 'tool:NAME'",)),
    "a number for timeouts": (lambda: hello(timeouts=30), ("Timeouts(prompt=",)),
    "a model without provider": (lambda: al.OpenCode("gpt-4o"), ("'provider/model'", "lab/scripted")),
    "no model": (lambda: al.OpenCode(None), ("'provider/model'",)),  # pyright: ignore[reportArgumentType]
    "an unknown plugin": (lambda: al.OpenCode("lab/x", plugins=["foo"]), ("'foo'", "known are", "path")),
    "a plugin as text": (lambda: al.OpenCode("lab/x", plugins="foo"), ("give a list",)),
    "no such workspace": (lambda: al.OpenCode("lab/x", workspace="gone"), ("no such folder",)),
    "an address without http": (lambda: al.OpenCode("lab/x", url="localhost:4096"), ("http://HOST:PORT",)),
    "a script's name for a gateway": (lambda: al.Gateway("cache-probe"), ("ScriptedModel.load", "https://")),
    "a path for a gateway": (lambda: al.Gateway(Path("x.json")), ("ScriptedModel.load",)),  # pyright: ignore[reportArgumentType]
    "a budget without a price": (
        lambda: al.Gateway("https://x.example/v1", budget_usd=1),
        ("without a price", "price="),
    ),
    "a number for a price": (lambda: al.Gateway("https://x.example/v1", price=3), ("Price(input=",)),  # pyright: ignore[reportArgumentType]
    "a key in the source": (
        lambda: al.Gateway("https://x.example/v1", key_env="sk-abc"),
        ("name of an environment variable", "not the key"),
    ),
    "a script that is not there": (lambda: al.ScriptedModel.load("cache-prob"), ("'cache-probe'", ".json")),
    "texts for steps": (lambda: al.ScriptedModel(["hi"]), ("Step(text=",)),  # pyright: ignore[reportArgumentType]
    "an agent that is not known": (lambda: al.install("opencod"), ("known are", "opencode")),
    "a word for a version": (lambda: al.install("opencode", version="latest"), ("exact version such as 1.",)),
}
RECORDING: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "arguments in the other order": (
        lambda: record(al.OpenCode("lab/x"), hello()),
        ("the first argument is the Scenario", "the second the arms"),
    ),
    "text for a scenario": (lambda: record("hello"), ("Scenario(", "turns=[")),
    "a list of arms": (lambda: record(arms=[Toy(), Toy()]), ("name each driver", "{'plain'")),
    "no arms": (lambda: al.record(hello(), {}), ("give a driver, or {name: driver}",)),
    "a model's name for a driver": (
        lambda: record(arms={"a": "lab/scripted"}),
        ("OpenCode('provider/model')",),
    ),
    "a class for a driver": (
        lambda: record(arms={"a": al.OpenCode}),
        ("is a class; call it: OpenCode(...)",),
    ),
    "a lambda for a driver": (
        lambda: record(arms={"a": lambda: Toy()}),
        ('"module:function"', 'host="inline"'),
    ),
    "a driver of the notebook": (lambda: record(arms={"a": Mine()}), ('"module:function"', 'host="inline"')),
    "a driver that says nothing": (
        lambda: record(arms={"a": Mine()}, host="inline"),
        ("Mine.identify() returned None", "Identity(driver="),
    ),
    "a model for a gateway": (lambda: record(gateway=scripted()), ("Gateway(ScriptedModel.load",)),
    "an address for a gateway": (lambda: record(gateway="https://x.example/v1"), ("Gateway('https://",)),
    "no runs": (lambda: record(runs=0), ("runs=0", "from 1")),
    "runs as text": (lambda: record(runs="2"), ("runs='2'", "whole number")),
    "a misspelt host": (lambda: record(host="kernl"), ("'kernel'",)),
    "a misspelt order": (lambda: record(order="random"), ("'interleaved', 'sequential'",)),
    "a misspelt kernel": (lambda: record(kernel="pyhton3"), ("no such kernelspec", "python3")),
    "a budget without a gateway": (lambda: record(budget_usd=1), ("has no gateway", "Price(")),
    "detach without a deadline": (lambda: record(detach=True), ("give the seconds",)),
    "a file in the way": (lambda: record(to="turns.csv"), ("is a file", "to=")),
    "a folder of other things": (lambda: record(to="."), ("holds no study", "to=")),
    "a study of another scenario": (
        lambda: record(to=al.example("cache")),
        ("another study", "scenario.name is 'cache-probe' there, 'hello' here", "to="),
    ),
    "a study that is there": (
        lambda: record(to=al.example("cache"), exists="refuse"),
        ("holds a study already", "exists='resume'"),
    ),
    "a folder that cannot be made": (lambda: record(to="/proc/x/y"), ("cannot be made", "to=")),
}


def _message(call: Callable[[], object]) -> str:
    with pytest.raises(AgentlabError) as caught:
        call()
    said = str(caught.value)
    assert len(said) <= LONGEST, said
    # What was before is not the reader's business, unless it says more.
    assert caught.value.__cause__ is None or caught.value.__suppress_context__
    return said


@pytest.mark.parametrize("name", [*LOADING, *SETTINGS, *RECORDING])
def test_message_names_the_cure(name, here):
    call, words = {**LOADING, **SETTINGS, **RECORDING}[name]
    said = _message(call)
    for word in words:
        assert word in said
    assert not (here / "studies").exists()  # nothing was begun


def test_load_says_where_it_looked_and_what_is_there(here):
    (here / "studies" / "mine").mkdir(parents=True)
    (here / "studies" / "mine" / "study.json").write_text("{}")
    said = _message(lambda: al.load("studies/min"))
    assert here.name in said and "studies/mine" in said


COMPARING: dict[str, tuple[Callable[..., object], tuple[str, ...]]] = {
    "a misspelt arm": (
        lambda r, e: al.compare(r, "TTFT", reference="stabel"),
        ("'stabel'", "stable, volatile"),
    ),
    "a misspelt metric": (lambda r, e: al.compare(r, "TFTT"), ("Did you mean 'TTFT'?", "CACHE_HIT_RATE")),
    "a metric in small letters": (lambda r, e: al.compare(r, "ttft"), ("Did you mean 'TTFT'?",)),
    "no metric": (lambda r, e: al.compare(r), ("at least one metric", "TTFT")),
    "percent for a level": (lambda r, e: al.compare(r, "TTFT", level=95), ("0.95",)),
    "a path for recordings": (lambda r, e: al.compare("studies/cache", "TTFT"), ("compare(load(",)),
    "a table for recordings": (lambda r, e: al.compare(r.turns, "TTFT"), ("the Recordings it came from",)),
    "one run": (lambda r, e: al.compare(r[0], "TTFT"), ("one run cannot be compared",)),
    "a misspelt column": (lambda r, e: r.where(armm="stable"), ("armm", "Did you mean 'arm'?")),
    "an arm for a number": (lambda r, e: r["stable"], ("recs.where(arm=...)",)),
    "runs of a misspelt arm": (lambda r, e: r.where(arm="stabel"), ("Did you mean 'stable'?",)),
    "a misspelt table": (lambda r, e: r.table("turn"), ("'turn'", "turns, requests")),
    "a plot of estimates as ttft": (lambda r, e: al.plot_ttft(e), ("Recordings", "turns")),
    "a plot of turns as estimates": (lambda r, e: al.plot_estimates(r.turns), ("compare(recs, ...)",)),
    "a timeline of all": (lambda r, e: al.plot_timeline(r), ("draws one", "recs[0]")),
    "a misspelt kind": (lambda r, e: al.plot_ttft(r, kind="cdf"), ("'ladder' or 'ecdf'",)),
    "explore estimates": (lambda r, e: al.explore(e), ("explore(load(",)),
    "explore a misspelt metric": (lambda r, e: al.explore(r, "TFTT"), ("Did you mean 'TTFT'?",)),
    "save estimates": (lambda r, e: al.save(e, "fig"), ("Axes of a plot_* function",)),
    "save with an ending": (
        lambda r, e: al.save(al.plot_estimates(e), "fig.png"),
        ("without '.png'", "PDF, SVG and PNG are written"),
    ),
    "save as a picture for pages": (
        lambda r, e: al.save(al.plot_estimates(e), "fig.jpg"),
        ("without '.jpg'", "e.g. 'fig'"),
    ),
    "export as Excel": (lambda r, e: al.export(r, "x", format="xlsx"), ("'parquet', 'csv', 'schema2'",)),
    "export a path": (lambda r, e: al.export("studies/cache", "x"), ("load(",)),
    "several metrics in a list": (lambda r, e: al.compare(r, ["TTFT"]), ("is a list", "unpack it")),
    "a path for a baseline": (
        lambda r, e: al.compare(r, "TTFT", baseline="before"),
        ("compare(baseline=str)", "compare(baseline=load("),
    ),
    "load estimates": (lambda r, e: al.load(e), ("load(Estimates)", "study's folder")),
    "report estimates": (lambda r, e: al.report(e), ("report(Estimates)", "or Recordings")),
    "audit estimates": (lambda r, e: al.audit(e), ("audit(Estimates)", "audit(load(")),
    "attach to recordings": (lambda r, e: al.attach(r), ("attach(Recordings)", "study's folder")),
    "recordings for a tape": (lambda r, e: al.Tape(r), ("Tape(Recordings)", "study's folder")),
    "budgets without limits": (lambda r, e: al.check(r, ["TBT"]), ("limit to each metric", '{"')),
    "a report as Word": (lambda r, e: al.report(r, "r.docx"), (".html",)),
}


@pytest.mark.parametrize("name", COMPARING)
def test_comparing_names_the_cure(name, recs, estimates, here):
    call, words = COMPARING[name]
    said = _message(lambda: call(recs, estimates))
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    ("attribute", "words"),
    [("turn", "Did you mean 'turns'?"), ("tuns", "Did you mean 'turns'?"), ("zzz", "no 'zzz'")],
)
def test_misspelt_attribute_of_recordings(recs, attribute, words):
    with pytest.raises(AttributeError, match="Recordings have") as caught:
        getattr(recs, attribute)
    assert words in str(caught.value)


def test_number_beyond_the_runs(recs):
    with pytest.raises(IndexError, match="there are 20 runs"):
        recs[99]


def test_misspelt_name_of_the_package_and_of_a_metric():
    """In the message itself: notebooks do not show the suggestion that Python's own prompt adds."""
    with pytest.raises(AttributeError, match="Did you mean 'plot_estimates'"):
        al.plot_estimate  # noqa: B018
    with pytest.raises(AttributeError, match=r"no metric 'TFTT'\. Did you mean 'TTFT'"):
        al.metrics.TFTT  # noqa: B018


def test_await_forgotten(here):
    running = record(arms=Toy(), runs=1, host="inline", quiet=None)
    try:
        with pytest.raises(AttributeError, match="await it first, recs = await record"):
            running.turns  # noqa: B018
        assert "await it first" in _message(lambda: al.compare(running, "TTFT"))  # pyright: ignore[reportArgumentType]
        assert "awaited first" in _message(lambda: al.explore(running))  # pyright: ignore[reportArgumentType]
        assert "awaited first" in _message(lambda: al.plot_ttft(running))  # pyright: ignore[reportArgumentType]
    finally:
        running.result()


def test_recorded_twice_is_said_and_measured_once(here, capsys):
    for _ in range(2):
        recs = record(arms=Toy(), runs=1, host="inline", quiet=None, to="twice").result()
    assert len(recs) == 1
    assert "1 of 1 already recorded in twice; nothing to do" in capsys.readouterr().err


def test_one_run_is_a_level_without_interval(recs):
    row = al.compare(recs[:1], "TTFT").iloc[0]
    assert (row["status"], row["reason"]) == ("too_few_runs", "one run")
    assert row["estimate"] > 0


@pytest.mark.parametrize("place", ["nonse", "Nonce", "turn"])
def test_misspelt_place_is_warned_of(place):
    with pytest.warns(al.errors.AgentlabWarning, match="is sent as it stands"):
        al.Scenario("x", turns=[f"Marker {{{place}}}."])


def test_braces_of_code_are_no_misspelt_place():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        al.Scenario("x", turns=["Write f'{name}' and {nonce}."])


@pytest.mark.parametrize("text", ["http", "mine.json"])
def test_upstream_of_the_command_line_that_is_none(text, here, capsys):
    from agentlab.cli import main

    with pytest.raises(SystemExit):
        main(["gateway", text])
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"error: UPSTREAM {text}: there is " in said and "begins with https://" in said


def test_misspelt_parameter_names_the_right_one(here):
    from agentlab.demo import NOTEBOOKS

    notebook = NOTEBOOKS / "00_quickstart.ipynb"
    assert "did you mean 'runs'" in _message(lambda: check_parameters(notebook, {"rnus": 2}))
    assert "parameter 'runs' is '2', not int" in _message(lambda: check_parameters(notebook, {"runs": "2"}))
    assert "Nothing was run" in _message(lambda: run_notebook(notebook, "o.ipynb", {"rnus": 2}))


def test_no_agent_no_npm_no_place(monkeypatch, tmp_path):
    from agentlab.agents import opencode

    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    assert "Run: agentlab install opencode" in _message(opencode.locate)
    monkeypatch.setenv("PATH", "/nowhere")
    assert "Install Node.js >= 20 with npm" in _message(lambda: al.install("opencode"))
    monkeypatch.setenv("AGENTLAB_CACHE", "/proc/x")
    assert "Set AGENTLAB_CACHE to a folder of yours" in _message(lambda: al.install("opencode"))


def test_a_scenario_that_says_nothing(here):
    running = record(al.Scenario("quiet"), runs=1, host="inline", quiet=None)
    assert "has no turns" in _message(running.result)


def test_a_notebook_shows_the_callers_lines_and_the_message_only(recs):
    with pytest.raises(AgentlabError) as caught:
        al.compare(recs, "TTFT", reference="stabel")
    lines = caught.value._render_traceback_()  # what IPython asks an error for
    assert lines[-1].startswith("agentlab.errors.ConfigError: there is no arm 'stabel'")
    assert any('al.compare(recs, "TTFT", reference="stabel")' in line for line in lines)
    assert not any(al.errors.__file__.rpartition("/")[0] in line for line in lines)
    assert len(lines) <= 8
