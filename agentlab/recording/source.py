"""Where runs come from, and how several sources are told apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ConfigError
from ..frames.evidence import RunInfo
from ..frames.store import under_name

if TYPE_CHECKING:
    import pandas as pd


class Source(Protocol):
    """Where runs come from: a study's folder, or a foreign file that an importer has read."""

    @property
    def name(self) -> str:
        """Name of the recording; the column ``study``."""
        ...

    @property
    def path(self) -> Path:
        """Folder or file."""
        ...

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for two copies."""
        ...

    @property
    def scenario(self) -> dict[str, Any] | None:
        """The scenario as plain data, where it is known."""
        ...

    @property
    def about(self) -> dict[str, Any]:
        """What else tells it from another: digests, seed."""
        ...

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms."""
        ...

    @property
    def runs(self) -> tuple[RunInfo, ...]:
        """All runs."""
        ...

    def at_hand(self, name: str) -> bool:
        """Say whether a table is there without long reading."""
        ...

    def table(self, name: str) -> pd.DataFrame:
        """Return one table of all runs."""
        ...


@dataclasses.dataclass(frozen=True)
class Named:
    """A source under the name that tells it apart from the others."""

    source: Source
    name: str

    @cached_property
    def runs(self) -> tuple[RunInfo, ...]:
        """All runs, under that name."""
        if self.name == self.source.name:
            return self.source.runs
        return tuple(dataclasses.replace(run, study=self.name) for run in self.source.runs)

    def table(self, name: str) -> pd.DataFrame:
        """Return one table of all runs, under that name.

        Parameters
        ----------
        name : str
            Name of the table.

        Returns
        -------
        pandas.DataFrame
        """
        return under_name(self.source.table(name), self.name)


def tell_apart(sources: Sequence[Source]) -> list[Named]:
    """Give every source a name of its own: its own one, else with the folder above, else with a number.

    Parameters
    ----------
    sources : sequence of Source
        Where runs come from.

    Returns
    -------
    list of Named

    Raises
    ------
    ConfigError
        One study is given twice.
    """
    _refuse_copies(sources)
    return [Named(source, name) for source, name in zip(sources, _names(sources), strict=True)]


def _refuse_copies(sources: Sequence[Source]) -> None:
    seen: dict[tuple[Any, ...], Source] = {}
    for source in sources:
        if source.identity in seen:
            raise ConfigError(
                f"{source.path} is the same study as {seen[source.identity].path}: its runs would count twice"
            )
        seen[source.identity] = source


def _names(sources: Sequence[Source]) -> list[str]:
    names = [source.name for source in sources]
    repeated = {name for name in names if names.count(name) > 1}
    names = [
        f"{source.path.resolve().parent.name}/{name}" if name in repeated else name
        for source, name in zip(sources, names, strict=True)
    ]
    return [f"{n} ({names[:i].count(n) + 1})" if n in names[:i] else n for i, n in enumerate(names)]
