import dataclasses

import pytest

import agentlab as al
from agentlab.testing._trace import SyntheticTrace
from agentlab.testing.recordings import SyntheticRun, SyntheticStudy


@dataclasses.dataclass
class Page:
    """A run with a page whose window is 100 to 1,100 ms, of which the first 800 ms are the stream."""

    run: SyntheticRun
    trace: SyntheticTrace

    def window(self, begin=100, stream_end=900, end=1100):
        stamps = {"begin_ns": begin, "stream_end_ns": stream_end, "end_ns": end}
        stamps = {name: self.run.ns(at) for name, at in stamps.items() if at is not None}
        self.run.emit("page.window", at_ms=1200, **stamps)

    def open(self, **fields):
        self.run.emit("page.open", at_ms=1, preset="light", **fields)

    def task(self, at, duration, **fields):
        self.trace.slice("RunTask", at, duration, **fields)

    def keep(self):
        self.run.files["trace.json.gz"] = self.trace.gzipped()


@pytest.fixture
def page(tmp_path):
    """One run; its window and trace are written when the test asks for a table."""
    study = SyntheticStudy(tmp_path / "study", arms=("a",))
    run = study.run("a")
    run.__enter__()
    made = Page(run, SyntheticTrace(run.ns(0)))
    made.open()
    made.trace.mark("agentlab:begin", 90, page_ms=90)
    yield made


@pytest.fixture
def tables(page):
    """Write the run and return its recordings; checked against their definitions."""

    def write(*, trace=True, window=True):
        if window:
            page.window()
        if trace:
            page.keep()
        page.run.__exit__(None)
        recs = al.load(page.run.path.parent.parent)
        for name in ("page", "tasks", "frames", "counters", "chunks", "page_events", "interactions"):
            recs.table(name).agentlab.validate()
        return recs

    return write
