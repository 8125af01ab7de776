from __future__ import annotations

from types import SimpleNamespace

import pytest
from IPython.core.error import TryNext, UsageError

import agentlab as al
from agentlab import magic
from agentlab.errors import RecordingError, UnstableWarning

CACHE = str(al.example("cache"))


def run(line, **variables):
    return magic.agentlab(line, variables)


def test_a_study_alone_is_its_recordings():
    recs = run(f"'{CACHE}'")
    assert len(recs) == 20
    assert recs.arms == ("stable", "volatile")


@pytest.mark.parametrize("word", ["TTFT", "ttft", "cache-hit-rate", "CACHE_HIT_RATE"])
def test_metrics_in_any_case(word):
    frame = run(f"{CACHE} {word} --reference volatile")
    assert len(set(frame["metric"])) == 1
    assert set(frame["reference"].dropna()) == {"volatile"}


def test_the_order_of_words_does_not_matter_and_a_report_is_four_metrics():
    first, second = run(f"TTFT {CACHE} TURN_LATENCY"), run(f"{CACHE} TTFT TURN_LATENCY")
    assert list(first["metric"]) == list(second["metric"])
    with pytest.warns(UnstableWarning, match="zeroCacheMissRate"):  # the note comes through
        assert len(set(run(f"{CACHE} CACHE_REPORT")["metric"])) == 4


def test_a_variable_comes_before_a_path_and_a_metric(tmp_path, monkeypatch):
    recs = al.load(CACHE).where(arm="stable")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recs").mkdir()
    assert len(run("recs", recs=recs)) == 10
    assert len(run("TTFT", TTFT=recs)) == 10


def test_a_folder_called_like_a_metric_is_a_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "COST").symlink_to(CACHE)
    assert len(run("COST")) == 20


def test_several_studies_are_joined(tmp_path):
    from agentlab.testing.recordings import write_study

    other = write_study(tmp_path / "other", runs=1)
    assert len(run(f"{CACHE} {other}")) == 22


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "name a study"),
        ("TTFT", "name a study"),
        (f"{CACHE} TFTT", "'TFTT' is no study.*did you mean TTFT"),
        (f"{CACHE} zzzz", "metrics are TTFT, TURN_LATENCY"),
        (f"{CACHE} --reference stable", "name one"),
        (f"{CACHE} TTFT --reference nobody", "there are stable, volatile"),
        (f"{CACHE} TTFT --reference", "expected one argument"),
        (f"{CACHE} --other", "unrecognized arguments: --other"),
        ("'open", "No closing quotation"),
        ("number", "no variable with Recordings"),
    ],
)
def test_a_line_that_is_not_understood(line, said):
    with pytest.raises(UsageError, match=f"^%agentlab: .*{said}"):
        run(line, number=3)


def test_a_folder_without_study_is_named(tmp_path):
    with pytest.raises(RecordingError, match="holds no study"):
        run(str(tmp_path))


def typed(before, symbol):
    """What IPython tells a completer; it cannot show that IPython asks it."""
    return SimpleNamespace(symbol=symbol, text_until_cursor=before + symbol)


@pytest.mark.parametrize(
    ("symbol", "offered"),
    [("ca", ["CACHE_HIT_RATE", "CACHE_REPORT"]), ("TT", ["TTFT"]), ("--", ["--reference"])],
)
def test_completion_offers_metrics(symbol, offered):
    assert magic._complete(None, typed("%agentlab studies/cache ", symbol)) == offered


@pytest.mark.parametrize("symbol", ["", "studies/", "zz"])
@pytest.mark.parametrize("before", ["%agentlab ", "%agentlab one "])
def test_completion_leaves_files_to_ipython(symbol, before):
    with pytest.raises(TryNext):
        magic._complete(None, typed(before, symbol))


def test_a_metric_hides_no_study_of_like_name():
    with pytest.raises(TryNext):
        magic._complete(None, typed("%agentlab ", "ca"))  # cache/, and not CACHE_HIT_RATE
