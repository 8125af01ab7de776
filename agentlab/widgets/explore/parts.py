"""The widgets of the live view and where they stand; all are made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, get_args

from ...plots import words
from ...stats.metrics import Interval
from .controls import Checks, Choice, Rows
from .study import Study
from .view import Listed, Order


class Clicks(Protocol):
    """What the widgets call; on any thread."""

    def ask(self, field: str, value: object, /) -> None:
        """Ask for another value of a field of the view."""
        ...

    def turn_page(self, step: int, /) -> None:
        """Ask for the page of runs before (-1) or after (1)."""
        ...

    def save(self) -> None:
        """Ask for the figure's files."""
        ...

    def leave(self) -> None:
        """Ask for the end of the live view."""
        ...


class Parts:
    """Every widget of a live view.

    Parameters
    ----------
    study : Study
        Recordings and metrics: they say what can be chosen.
    clicks : Clicks
        What is called.
    """

    def __init__(self, study: Study, clicks: Clicks) -> None:
        import ipywidgets as w

        ask = clicks.ask
        arms = {arm: arm for arm in study.recs.arms}
        codes = {code: f"{code} ({words.count(n, 'run')})" for code, n in study.codes.items()}
        self.checks = {
            "metrics": Checks("Metrics", _labels(study), partial(ask, "metrics")),
            "arms": Checks("Arms", arms, partial(ask, "arms")),
            "without": Checks("Leave out eligible runs with", codes, partial(ask, "without")),
        }
        self.choices = {
            name: Choice(heading, labels, partial(ask, name))
            for name, (heading, labels) in {**_CHOICES, "reference": ("Reference", arms)}.items()
        }
        self.estimates = Rows(partial(ask, "estimate"), width="190px")
        self.runs = Rows(partial(ask, "run"), width="190px")
        self.title, self.message, self.notes, self.saved = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        self.about_runs, self.place, self.run, self.tables = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        self.figure, self.timeline = _picture(), _picture()
        self.back = _button("Previous", partial(clicks.turn_page, -1))
        self.on = _button("Next", partial(clicks.turn_page, 1))
        self.stem = w.Text("figures/estimates", description="Save as", layout=w.Layout(width="24em"))
        self.code = w.Textarea(layout=w.Layout(width="auto", height="190px"))
        self.runs_box = _column(
            self.about_runs,
            _row(self.choices["listed"].widget, self.choices["order"].widget),
            self.runs.widget,
            _row(self.back, self.on, self.place),
        )
        self.box = _column(
            self.title,
            _row(*(check.widget for name, check in self.checks.items() if name != "without" or codes)),
            _row(*(self.choices[name].widget for name in ("reference", "paired", "level", "interval"))),
            self.message,
            self.estimates.widget,
            self.notes,
            self.runs_box,
            self.run,
            self.timeline,
            self.tables,
            self.figure,
            _row(
                self.stem,
                _button("Save figure", clicks.save, icon="save"),
                _button("Close: keep a card", clicks.leave, icon="check", width="13em"),
            ),
            self.saved,
            w.Accordion([self.code], titles=["Code cell"]),
        )
        self.box.layout.max_width = "1000px"


#: field -> (heading, text -> value)
_CHOICES: dict[str, tuple[str, dict[str, Any]]] = {
    "paired": ("Differences", {"paired where possible": "auto", "paired by block": True, "unpaired": False}),
    "level": ("Level", {"95 %": 0.95, "90 %": 0.9, "99 %": 0.99}),
    "interval": ("Interval", {name: name for name in get_args(Interval)}),
    "listed": ("Runs listed", {name: name for name in get_args(Listed)}),
    "order": ("Order", {name: name for name in get_args(Order)}),
}


def _labels(study: Study) -> dict[str, str]:
    return {name: metric.label or words.metric_label(name) for name, metric in study.metrics.items()}


def _row(*widgets: Any) -> Any:  # noqa: ANN401
    import ipywidgets as w

    look = w.Layout(flex_flow="row wrap", align_items="flex-start", overflow="visible", grid_gap="2px 20px")
    return w.HBox(widgets, layout=look)


def _column(*widgets: Any) -> Any:  # noqa: ANN401
    import ipywidgets as w

    return w.VBox(widgets, layout=w.Layout(overflow="visible"))


def _button(text: str, clicked: Callable[[], None], *, icon: str = "", width: str = "10em") -> Any:  # noqa: ANN401
    import ipywidgets as w

    made = w.Button(description=text, icon=icon, layout=w.Layout(width=width))
    made.on_click(lambda _: clicked())
    return made


def _picture() -> Any:  # noqa: ANN401
    import ipywidgets as w

    return w.Image(format="png", layout=w.Layout(max_width="100%", display="none", align_self="flex-start"))
