"""What completion offers, without a shell."""

import argparse
import json

import pytest

from agentlab.cli import completing


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("studies/a", "studies/b", "c", ".hidden"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "study.json").write_text(json.dumps({"arms": {"x": {}, "y": {}}}))
    (tmp_path / "plain").mkdir()
    return tmp_path


def test_studies_here_in_studies_and_below():
    assert completing.studies("") == ["c", "plain/", "studies/", "studies/a", "studies/b"]
    assert completing.studies("studies/") == ["studies/a", "studies/b"]
    assert completing.studies("nowhere/x") == []


def test_arms_of_what_is_typed(here):
    (here / "r.json").write_text(json.dumps({"schemaVersion": 2, "comparison": {"arm": "plugin-on"}}))
    typed = argparse.Namespace(studies=["c", "r.json", "plain", "gone"])
    assert completing.arms("", typed) == ["x", "y", "plugin-on"]
    assert completing.arms("y", argparse.Namespace(to="c")) == ["y"]
    assert completing.arms("", argparse.Namespace()) == []


def test_damaged_files_offer_nothing(here):
    for text in ("", "[]", '{"arms": 3}', "\0"):
        (here / "c" / "study.json").write_text(text)
        assert completing.arms("", argparse.Namespace(studies=["c"])) == []


def test_metrics_as_they_are_typed():
    assert "TTFT" in completing.metrics("")
    assert completing.metrics("ttf") == ["ttft"]
    assert completing.metrics("Ttf") == []
