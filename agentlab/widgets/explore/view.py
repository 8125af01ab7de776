"""What is looked at: one frozen value, from which everything shown follows."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, get_args

from ...errors import ConfigError

Listed = Literal["all", "used", "not used"]
Order = Literal["worst first", "best first", "as recorded"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class View:
    """Say what is compared and what is picked out.

    Parameters
    ----------
    metrics, arms : tuple of str
        Names; at least one of each.
    reference : str or None
        Arm that the others are compared with; it is always among `arms`. None with one arm.
    paired : bool or "auto"
        As in :func:`agentlab.compare`.
    level : float
        Nominal coverage of intervals, 0 < level < 1.
    interval : str
        As in :func:`agentlab.compare`.
    without : tuple of str
        Issue codes: eligible runs with one of them are left out. (Runs that are not eligible never count.)
    estimate : (str, str, str), optional
        Metric, kind and arm of the estimate whose runs are listed.
    run : (str, str), optional
        Study and run id of the run that is shown.
    listed : {"all", "used", "not used"}
        Which of the estimate's runs are listed.
    order : {"worst first", "best first", "as recorded"}
        How they are.
    page : int
        0-based page of the list.

    Raises
    ------
    ConfigError
        A value is wrong.

    Examples
    --------
    >>> view = View(metrics=("TTFT",), arms=("stable", "volatile"), reference="stable")
    >>> view.but(reference="volatile").reference
    'volatile'
    """

    metrics: tuple[str, ...]
    arms: tuple[str, ...]
    reference: str | None = None
    paired: bool | Literal["auto"] = "auto"
    level: float = 0.95
    interval: str = "auto"
    without: tuple[str, ...] = ()
    estimate: tuple[str, str, str] | None = None
    run: tuple[str, str] | None = None
    listed: Listed = "all"
    order: Order = "worst first"
    page: int = 0

    def __post_init__(self) -> None:
        for name in ("metrics", "arms", "without"):
            given = getattr(self, name)
            if isinstance(given, str):
                raise ConfigError(f"{name} is {given!r}; give several, e.g. {name}=({given!r},)")
            object.__setattr__(self, name, tuple(dict.fromkeys(given)))
        if not self.metrics:
            raise ConfigError("choose at least one metric")
        for name, known in (("listed", get_args(Listed)), ("order", get_args(Order))):
            if getattr(self, name) not in known:
                raise ConfigError(f"{name} is {getattr(self, name)!r}; use one of {', '.join(known)}")
        for name, parts, said in (
            ("estimate", 3, '("TTFT", "level", "stable")'),
            ("run", 2, '("cache", "0003-stable")'),
        ):
            given = getattr(self, name)
            if given is not None and not _texts(given, parts):
                raise ConfigError(f"{name} is {given!r}; give {parts} texts, e.g. {name}={said}")
        page: Any = self.page
        if not isinstance(page, int):
            raise ConfigError(f"page is {page!r}; give a whole number from 0")
        if self.reference is None and len(self.arms) > 1:  # as compare() does
            object.__setattr__(self, "reference", self.arms[0])
        if self.reference is not None and self.reference not in self.arms:
            object.__setattr__(self, "arms", (self.reference, *self.arms))

    def but(self, **changes: Any) -> View:  # noqa: ANN401
        """Return another view; what no longer fits the change is let go.

        Parameters
        ----------
        **changes
            Fields and their new values.

        Returns
        -------
        View

        Raises
        ------
        ConfigError
            There is no such field, or a value is wrong.
        """
        known = [field.name for field in dataclasses.fields(self)]
        unknown = sorted(set(changes) - set(known))
        if unknown:
            raise ConfigError(f"a view has no {', '.join(unknown)}; it has {', '.join(known)}")
        changed = dataclasses.replace(self, **changes)
        if changes.keys() & {"estimate", "listed", "order"} and "page" not in changes:
            changed = dataclasses.replace(changed, page=0)
        if changed._fits():
            return changed
        if "estimate" in changes:
            raise ConfigError(f"estimate is {changed.estimate!r}: no such metric, kind and arm is shown")
        return dataclasses.replace(changed, estimate=None, run=None, page=0)

    def _fits(self) -> bool:
        """Say whether the estimate that is picked out is still among those shown."""
        if self.estimate is None:
            return True
        metric, kind, arm = self.estimate
        among = metric in self.metrics and arm in self.arms
        return among and (kind == "level" or (kind == "difference" and arm != self.reference))

    @property
    def question(self) -> tuple[object, ...]:
        """What the estimates of a metric depend on."""
        return self.arms, self.reference, self.paired, self.level, self.interval, self.without


def _texts(given: object, n: int) -> bool:
    return isinstance(given, tuple) and len(given) == n and all(isinstance(text, str) for text in given)
