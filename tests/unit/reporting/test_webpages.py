"""A page in a browser in a report: both readings, what waiting means, and figures only of what there is."""

import pytest

import agentlab as al
from agentlab.plots.canvas import origin_of
from agentlab.reporting import webpages
from agentlab.testing.webchat import SyntheticPage, write_webchat_study


@pytest.fixture(scope="module")
def recs(tmp_path_factory):
    arms = {"light": SyntheticPage(sampler=False, cpu_share=0.4), "cpu": SyntheticPage()}
    return al.load(write_webchat_study(tmp_path_factory.mktemp("page") / "s", arms=arms, runs=2))


def test_both_readings_and_what_the_machine_did_to_them(recs):
    said = repr(webpages.page(recs))
    assert (
        said.startswith("The page\n")
        and "light: page" in said
        and "cpu: original" in said
        and "longTaskCount" in said
    )
    assert "light 0.40. The rest was waiting" in said and "cpu 0.85" not in said


def test_figures_of_what_was_recorded(recs):
    def drawn(some):
        return [origin_of(ax.figure)["drawn_by"][0]["function"] for ax in webpages.page_figures(some)]

    assert drawn(recs) == ["plot_long_tasks", "plot_frames", "plot_cpu"]
    assert drawn(recs.where(arm="light")) == ["plot_long_tasks", "plot_frames"]


def test_a_study_without_a_page_has_no_such_part():
    cache = al.load(al.example("cache"))
    assert repr(webpages.page(cache)) == ""
    assert list(webpages.page_figures(cache)) == []
