"""The parts of a report, on recordings that hold much, little and nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest

import agentlab as al
from agentlab.errors import ConfigError, MissingExtra, RecordingError
from agentlab.reporting import facts, make, numbers, pages, runs
from agentlab.reporting.blocks import Block, never_fails, part, sentences, table
from agentlab.testing.recordings import SyntheticArm, SyntheticStudy, write_study

NASTY = "a <b>$x$"
SCHEMA2 = Path(__file__).resolve().parents[3] / "data" / "schema2"


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    root = tmp_path_factory.mktemp("studies")
    lost = SyntheticArm(discard_rate=1.0)
    return {
        "example": al.example("cache"),
        "no_gateway": write_study(root / "no_gateway", gateway=False, runs=3),
        "one_run": write_study(root / "one_run", arms={"only": SyntheticArm()}, runs=1),
        "none_used": write_study(root / "none_used", arms={NASTY: lost, "b": lost}, runs=14),
        "no_usage": write_study(root / "no_usage", arms={"a": SyntheticArm(usage=False)}, runs=3),
        "many_arms": write_study(root / "many", arms={f"a{i}": SyntheticArm() for i in range(8)}, runs=2),
        "empty": SyntheticStudy(root / "empty").path,
        "foreign": SCHEMA2 / "typical.json",
        "foreign_empty": SCHEMA2 / "no_sessions.json",
    }  # fmt: skip


KINDS = (
    "example", "no_gateway", "one_run", "none_used", "no_usage", "many_arms", "empty", "foreign",
    "foreign_empty",
)  # fmt: skip


def shown(block: Block) -> tuple[str, str]:
    bundle = block._repr_mimebundle_()
    return bundle["text/plain"], bundle["text/html"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_can_be_made_of_every_recording(studies, kind):
    recs = al.load(studies[kind])
    estimates = numbers.estimate(recs)
    blocks = [
        facts.title(recs), facts.measured(recs), facts.arms(recs), runs.coverage(recs),
        numbers.estimates(recs, estimates), numbers.requests(recs), runs.choice(recs), runs.issues(recs),
        facts.provenance(recs),
    ]  # fmt: skip
    for block in blocks:
        plain, html = shown(block)
        empty = block is blocks[5] and kind in ("none_used", "empty", "foreign_empty")  # no request is used
        assert bool(plain.strip()) == (not empty)
        assert "cannot be made" not in plain
        assert "<NA>" not in plain and "nan" not in re.findall(r"\w+", plain)
        assert "<b>$x$" not in html
        assert str(Path(studies[kind]).parent) not in plain + html


def test_what_is_not_in_the_recording_is_named(studies):
    foreign = al.load(studies["foreign"])
    assert "Not in the recording:" in repr(facts.measured(foreign))
    assert "machine" in repr(facts.measured(foreign))
    assert "Not in the recording: settings." in repr(facts.arms(foreign))
    without = al.load(studies["no_gateway"])
    assert "none: what only a gateway sees" in repr(facts.measured(without))
    assert "Unknown in this recording:" in repr(numbers.requests(without))
    assert "PREFIX_REUSE" in repr(numbers.estimates(without, numbers.estimate(without)))


def test_without_a_used_run_the_page_says_so_and_why(studies):
    recs = al.load(studies["none_used"])
    assert "no run can be used" in repr(facts.title(recs))
    assert f"0000-{NASTY}: missing_tool" in repr(runs.coverage(recs)) or "-b: missing_tool" in repr(
        runs.coverage(recs)
    )
    assert "and 16 more" in repr(runs.coverage(recs))
    assert "none of which can be used" in repr(runs.choice(recs))
    assert "a tool that the scenario requires was not completed" in repr(runs.issues(recs))
    assert list(numbers.figures(numbers.estimate(recs))) == []


def test_the_example_says_what_differs_and_where_the_cache_was_lost(studies):
    recs = al.load(studies["example"])
    assert "system: stable not set, volatile 23 characters" in repr(facts.arms(recs))
    sent = repr(numbers.requests(recs))
    lost = [line.split() for line in sent.splitlines() if line.endswith("system")]
    assert [line[:2] for line in lost] == [["volatile", "4"], ["volatile", "5"]]
    row = next(line.split() for line in sent.splitlines() if line.split()[:2] == ["stable", "5"])
    frame = recs.requests.query("arm == 'stable' and position == 5 and chain == 'main'")
    assert row[3] == f"{frame['input_total_tokens'].median():,.0f}"
    assert row[4] == f"{frame['cache_read_tokens'].median():,.0f}"


def test_unknown_tokens_are_unknown_and_not_zero(studies):
    recs = al.load(studies["no_usage"])
    assert "unknown input tokens" in repr(numbers.requests(recs))
    assert "INPUT_TOKENS" in repr(numbers.estimates(recs, numbers.estimate(recs))).splitlines()[-1]


def test_figures_hold_few_metrics_and_those_with_an_interval(studies):
    parts = list(numbers.figures(numbers.estimate(al.load(studies["example"]))))
    held = [set(part["metric"]) for part in parts]
    assert max(map(len, held)) <= 4
    assert not any("REQUESTS" in metrics for metrics in held)  # all runs equal: no interval to draw
    single = numbers.estimate(al.load(studies["one_run"]))
    assert len(single) and single["lower"].isna().all()
    assert sum(len(part) for part in numbers.figures(single)) == len(single)


def test_metrics_that_were_asked_for_are_told_even_without_data(studies):
    frame = numbers.estimate(al.load(studies["example"]), ["COST", "TTFT"])
    assert set(frame["metric"]) == {"COST", "TTFT"}
    assert set(frame.loc[frame["metric"] == "COST", "status"]) == {"no_data"}


def test_the_run_in_full_is_that_of_median_duration(studies):
    recs = al.load(studies["example"])
    chosen = runs.typical(recs)
    durations = sorted(recs.runs.query("arm == 'stable'")["duration_s"])
    mine = recs.runs.set_index("run_id").loc[chosen.run_id, "duration_s"]
    assert durations.index(mine) == 4
    with pytest.raises(ConfigError, match="no run"):
        runs.typical(al.load(studies["empty"]))


def test_a_part_that_fails_says_so(capsys):
    @never_fails
    def some_part() -> Block:
        raise ValueError("<broken>")

    plain, html = shown(some_part())
    assert plain == "This part (some part) cannot be made: ValueError: <broken>"
    assert "&lt;broken&gt;" in html
    with part("figure"):
        raise KeyError("x")
    assert "This part (figure) cannot be made: KeyError" in capsys.readouterr().out


def test_blocks_join_and_leave_out_what_is_empty():
    block = sentences(["one", "", "two"]) + table(["a", "n"], [["<x>", "1"]], notes=["", "note"])
    plain, html = shown(block)
    assert plain.splitlines() == ["one", "two", "  a    n", "  <x>  1", "note"]
    assert "&lt;x&gt;" in html


# -- the door


def test_arguments_are_checked_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cache = al.example("cache")
    mine = tmp_path / "mine.html"
    mine.write_text("<p>mine</p>")
    for arguments, options, kind, said in (
        ((cache,), {"pdf": "yes"}, ConfigError, 'True, False or "auto"'),
        ((cache, "page.pdf"), {}, ConfigError, r"end in \.html"),
        ((cache, tmp_path), {}, ConfigError, "is a folder"),
        ((cache, mine), {}, ConfigError, "no report of agentlab"),
        ((cache,), {"metrics": ["TFTT"]}, ConfigError, "no metric 'TFTT'"),
        ((cache,), {"metrics": "TTFT"}, ConfigError, "list of names"),
        ((cache,), {"reference": "nobody"}, ConfigError, "stable, volatile"),
        ((tmp_path / "gone",), {}, RecordingError, "does not exist"),
    ):
        with pytest.raises(kind, match=said):
            al.report(*arguments, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.html"]
    assert mine.read_text() == "<p>mine</p>"


def test_pdf_without_a_browser_is_a_missing_extra(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pages.find_chromium() is None
    with pytest.raises(MissingExtra, match="Chromium"):
        al.report(al.example("cache"), tmp_path / "page.html", pdf=True)


def test_a_selection_of_one_study_is_handed_on_by_its_runs(tmp_path):
    recs = al.load(al.example("cache"))
    _, whole = make._what(recs)
    assert list(whole) == ["study"]
    _, some = make._what(recs.where(arm="stable"))
    assert len(some["kept"]) == 10
    assert len(runs.read(some["study"], some["kept"])) == 10
    both = recs + al.load(write_study(tmp_path / "s", runs=1))
    with pytest.raises(ConfigError, match="one study only"):
        make._what(both.where(arm="stable"))


def test_the_template_is_committed_clean():
    notebook = json.loads(make.TEMPLATE.read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert [cell["metadata"].get("tags") for cell in code].count(["parameters"]) == 1


def test_the_browser_that_prints_gets_no_key(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "planted")
    (page := tmp_path / "page.html").write_text("<p>x</p>")
    browser = tmp_path / "chromium"
    browser.write_text('#!/bin/sh\nfor one; do case $one in --print-to-pdf=*) env > "${one#*=}";; esac; done')
    browser.chmod(0o755)
    seen = pages.print_page(page, tmp_path / "page.pdf", chromium=str(browser)).read_text()
    assert "PATH=" in seen and "agentlab-print-" in seen and "planted" not in seen


def test_a_pdf_that_is_no_reports_is_not_replaced(tmp_path):
    (tmp_path / "paper.pdf").write_text("my own")
    with pytest.raises(ConfigError, match="exists beside no report"):
        make._target(tmp_path / "paper.html", "x", pdf=True)
    assert make._target(tmp_path / "paper.html", "x", pdf=False)
    pages.write_page(make.TEMPLATE, tmp_path / "paper.html", title="older", code=False)
    assert make._target(tmp_path / "paper.html", "x", pdf=True)  # an older report, and so its PDF


def test_metrics_are_named_or_given():
    assert make._names(["TTFT", al.metrics.COST]) == ["TTFT", "COST"]
    own = al.Metric(name="mine", table="turns", column="ttft_ms", aggregate="mean")
    for wrong, said in (("TTFT", "give a list"), (al.metrics.TTFT, "give a list"), ([own], "'mine'")):
        with pytest.raises(ConfigError, match=said):
            make._names(wrong)


def test_what_is_no_study_is_said():
    with pytest.raises(ConfigError, match=r"report\(int\): give a study's folder"):
        make.report(5, pdf=False)


def notebook(path, *cells):
    made = [
        nbformat.v4.new_markdown_cell(source)
        if isinstance(source, str)
        else nbformat.v4.new_code_cell(outputs=[nbformat.v4.new_output("display_data", d) for d in source])
        for source in cells
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=made), path)
    return path


def test_headings_with_nothing_below_are_left_out(tmp_path):
    empty = sentences([])._repr_mimebundle_()
    some = [{"text/plain": "42"}]
    cells = (
        "## One",
        [empty],
        [empty],
        "## Two",
        [empty],
        some,
        "## Three",
        [],
        "## Four\n\nText.",
        "## End",
    )
    nb = notebook(tmp_path / "a.ipynb", *cells)
    page = pages.write_page(nb, tmp_path / "a.html", title="t", code=False).read_text()
    assert re.findall(r"<h2[^>]*>(\w+)", page) == ["Two", "Four"]
    whole = pages.write_page(nb, tmp_path / "b.html", title="t").read_text()
    assert re.findall(r"<h2[^>]*>(\w+)", whole) == ["One", "Two", "Three", "Four", "End"]


def test_what_a_kind_of_study_cannot_have_is_not_missed(tmp_path):
    exec_ = SyntheticStudy(tmp_path / "e", arms=("a",))
    with exec_.run("a") as run:
        run.emit("session.open", session="s", role="main")
    recs = al.load(exec_.path)
    assert "turns" not in repr(runs.coverage(recs))
    assert "Not estimated" not in repr(numbers.estimates(recs, numbers.estimate(recs)))
    assert "TTFT" in repr(numbers.estimates(recs, numbers.estimate(recs, ["TTFT"]), ["TTFT"]))
    assert list(numbers.first_tokens(recs)) == [] and repr(numbers.requests(recs)) == ""


def test_when_answers_began_is_drawn_where_it_is_known(studies):
    assert len(list(numbers.first_tokens(al.load(studies["example"])))) == 1
    assert list(numbers.first_tokens(al.load(studies["none_used"]))) == []


def test_what_libraries_warn_of_is_in_no_report(tmp_path):
    import nbformat

    warned = nbformat.v4.new_output("stream", name="stderr", text="/home/me/lib.py:1: UserWarning: odd")
    said = nbformat.v4.new_output("stream", name="stdout", text="kept")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", outputs=[warned, said])])
    nbformat.write(notebook, tmp_path / "n.ipynb")
    page = pages.write_page(tmp_path / "n.ipynb", tmp_path / "n.html", title="n", code=False).read_text()
    assert "kept" in page and "/home/me" not in page
    assert "/home/me" in pages.write_page(tmp_path / "n.ipynb", tmp_path / "n.html", title="n").read_text()


def test_a_page_that_cannot_be_written_is_an_error_that_names_it(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match=r"deep/p\.html cannot be written: Not a directory"):
        pages.write_page(make.TEMPLATE, tmp_path / "file" / "deep" / "p.html", title="p", code=False)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("agentlab.jsonfile.os.fsync", full)
    with pytest.raises(RecordingError, match=r"p\.html cannot be written: No space left"):
        pages.write_page(make.TEMPLATE, tmp_path / "p.html", title="p", code=False)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
