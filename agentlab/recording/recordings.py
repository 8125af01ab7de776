"""Runs as a sequence, with their tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ..errors import ConfigError, did_you_mean
from ..frames.evidence import RunInfo
from .recording import Recording
from .source import Named, Source, tell_apart

if TYPE_CHECKING:
    import pandas as pd


class Recordings(Sequence[Recording]):
    """Runs, in the order they were recorded, and their tables.

    Made by :func:`load` and :func:`agentlab.record`. ``+`` joins studies.

    Parameters
    ----------
    sources : sequence of Source
        Where the runs come from.
    keep : iterable of (int, str), optional
        (index of the source, run id) of the runs to keep; all when absent.

    Raises
    ------
    ConfigError
        One study is given twice.

    Examples
    --------
    >>> import agentlab as al
    >>> recs = al.load(al.example("cache"))
    >>> len(recs.where(arm="stable")) < len(recs)
    True
    """

    def __init__(self, sources: Sequence[Source], keep: Iterable[tuple[int, str]] | None = None) -> None:
        self._sources = tuple(sources)
        self._named = tuple(tell_apart(sources))
        kept = None if keep is None else set(keep)
        self._infos = tuple(
            (at, info)
            for at, named in enumerate(self._named)
            for info in named.runs
            if kept is None or (at, info.run_id) in kept
        )
        self._tables: dict[str, pd.DataFrame] = {}

    # -- runs

    def __len__(self) -> int:
        return len(self._infos)

    @overload
    def __getitem__(self, index: int) -> Recording: ...
    @overload
    def __getitem__(self, index: slice) -> Recordings: ...
    def __getitem__(self, index: int | slice) -> Recording | Recordings:
        if isinstance(index, slice):
            return self._with(self._infos[index])
        if isinstance(index, str):
            raise ConfigError(f"recs[{index!r}]: runs are numbered; choose by name with recs.where(arm=...)")
        if not -len(self) <= index < len(self):
            raise IndexError(f"recs[{index}]: there are {len(self)} runs, from recs[0]")
        return Recording(self._infos[index][1], self._rows_of)

    if not TYPE_CHECKING:  # type checkers name what is not there themselves

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401
            if name.startswith("_") or hasattr(type(self), name):  # a property that failed says so itself
                return object.__getattribute__(self, name)
            near = did_you_mean(name, [known for known in dir(type(self)) if not known.startswith("_")])
            raise AttributeError(f"Recordings have no {name!r}{near}")

    def __iter__(self) -> Iterator[Recording]:
        return (Recording(info, self._rows_of) for _, info in self._infos)

    @property
    def path(self) -> Path | None:
        """Folder or file of the study; None when several are joined."""
        return self._sources[0].path if len(self._sources) == 1 else None

    @property
    def paths(self) -> tuple[Path, ...]:
        """Folders and files of all studies."""
        return tuple(source.path for source in self._sources)

    @property
    def studies(self) -> list[dict[str, Any]]:
        """Name of each study, with the digest of its scenario and its seed where they are known."""
        return [{"name": named.name, **named.source.about} for named in self._named]

    @property
    def scenario(self) -> dict[str, Any] | None:
        """The scenario as it is stored; None when it is unknown or the studies had different ones.

        With ``keep="numbers"`` its prompts are digests and lengths, so it is data, not a ``Scenario``.
        """
        first = self._sources[0].scenario if self._sources else None
        return first if all(source.scenario == first for source in self._sources) else None

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms that have runs here, in the order the studies name them."""
        have = {info.arm for _, info in self._infos}
        stated = [arm for source in self._sources for arm in source.arms if arm in have]
        return tuple(dict.fromkeys([*stated, *(info.arm for _, info in self._infos)]))

    # -- tables

    def table(self, name: str) -> pd.DataFrame:
        """Return one table.

        Parameters
        ----------
        name : str
            ``"runs"``, ``"turns"``, ``"requests"`` ...; see ``docs/tables.md``.

        Returns
        -------
        pandas.DataFrame
            Rows of these runs; a copy, so that changing it changes nothing here.

        Raises
        ------
        ConfigError
            There is no such table.
        """
        return self._frame(name).copy()

    def at_hand(self, name: str) -> bool:
        """Say whether a table is there without long reading, so that a card may count in it.

        Parameters
        ----------
        name : str
            Name of the table.

        Returns
        -------
        bool
        """
        return name in self._tables or all(source.at_hand(name) for source in self._sources)

    def _frame(self, name: str) -> pd.DataFrame:
        if name not in self._tables:
            self._tables[name] = self._build(name)
        return self._tables[name]

    def _build(self, name: str) -> pd.DataFrame:
        import pandas as pd

        from ..frames.accessor import register
        from ..frames.build import known

        register()
        table = known(name)
        parts = [self._part(name, at, named) for at, named in enumerate(self._named)]
        parts = [part for part in parts if len(part)]
        return pd.concat(parts, ignore_index=True) if parts else table.frame([])

    def _part(self, name: str, at: int, named: Named) -> pd.DataFrame:
        kept = {info.run_id for source, info in self._infos if source == at}
        frame = named.table(name)
        return frame if len(kept) == len(named.runs) else frame[frame["run_id"].isin(kept)]

    def _rows_of(self, name: str, info: RunInfo) -> pd.DataFrame:
        from ..frames.build import build, stands_alone

        # one run of a thousand does not need the table of them all
        if name not in self._tables and len(self) > 1 and stands_alone(name, info):
            return build(name, [info])
        frame = self._frame(name)
        return frame[(frame["study"] == info.study) & (frame["run_id"] == info.run_id)].reset_index(drop=True)

    @property
    def runs(self) -> pd.DataFrame:
        """One row per run."""
        return self.table("runs")

    @property
    def issues(self) -> pd.DataFrame:
        """One row per coded doubt."""
        return self.table("issues")

    @property
    def sessions(self) -> pd.DataFrame:
        """One row per conversation of the agent."""
        return self.table("sessions")

    @property
    def turns(self) -> pd.DataFrame:
        """One row per submitted prompt."""
        return self.table("turns")

    @property
    def requests(self) -> pd.DataFrame:
        """One row per model request."""
        return self.table("requests")

    @property
    def chunks(self) -> pd.DataFrame:
        """One row per streamed piece."""
        return self.table("chunks")

    @property
    def tools(self) -> pd.DataFrame:
        """One row per tool call."""
        return self.table("tools")

    @property
    def events(self) -> pd.DataFrame:
        """One row per normalised event."""
        return self.table("events")

    @property
    def pressure(self) -> pd.DataFrame:
        """One row per sample of the machine's pressure."""
        return self.table("pressure")

    @property
    def memory(self) -> pd.DataFrame:
        """One row per sample of all processes of a run."""
        return self.table("memory")

    @property
    def processes(self) -> pd.DataFrame:
        """One row per process in a sample."""
        return self.table("processes")

    @property
    def exec(self) -> pd.DataFrame:
        """One row per call of an exec session."""
        return self.table("exec")

    @property
    def page(self) -> pd.DataFrame:
        """One row per run with a page in a browser: its numbers, each beside the original's reading."""
        return self.table("page")

    @property
    def tasks(self) -> pd.DataFrame:
        """One row per task of a page's main thread."""
        return self.table("tasks")

    @property
    def frames(self) -> pd.DataFrame:
        """One row per frame of a page."""
        return self.table("frames")

    @property
    def animation_frames(self) -> pd.DataFrame:
        """One row per animation frame of a page."""
        return self.table("animation_frames")

    @property
    def interactions(self) -> pd.DataFrame:
        """One row per key or click."""
        return self.table("interactions")

    @property
    def counters(self) -> pd.DataFrame:
        """One row per look at what a page held."""
        return self.table("counters")

    @property
    def cpu(self) -> pd.DataFrame:
        """One row per function of a CPU profile."""
        return self.table("cpu")

    @property
    def page_events(self) -> pd.DataFrame:
        """One row per kind of event on a page's main thread."""
        return self.table("page_events")

    @property
    def callsites(self) -> pd.DataFrame:
        """One row per place that asked for callbacks in a page."""
        return self.table("callsites")

    # -- choosing

    def where(self, **columns: Any) -> Recordings:  # noqa: ANN401
        """Keep the runs whose row in ``runs`` has these values.

        Parameters
        ----------
        **columns
            A column of ``runs`` and its value; a list, tuple or set allows several; None means NA.

        Returns
        -------
        Recordings

        Raises
        ------
        ConfigError
            ``runs`` has no such column, or no study here has such an arm.

        Examples
        --------
        >>> import agentlab as al
        >>> recs = al.load(al.example("cache")).where(arm="stable", eligible=True)
        >>> set(recs.runs["arm"])
        {'stable'}
        """
        frame = self.runs
        unknown = sorted(set(columns) - set(frame.columns))
        if unknown:
            near = did_you_mean(unknown[0], frame.columns)
            have = ", ".join(frame.columns)
            raise ConfigError(f"runs has no column {', '.join(unknown)}; it has {have}{near}")
        chosen = frame
        for name, wanted in columns.items():
            values = list(wanted) if isinstance(wanted, (list, tuple, set, frozenset)) else [wanted]
            if name == "arm":
                self._check_arms(values)
            hit = chosen[name].isin([v for v in values if v is not None]).fillna(False)
            chosen = chosen[hit | chosen[name].isna()] if None in values else chosen[hit]
        kept = set(zip(chosen["study"], chosen["run_id"], strict=True))
        return self._with([pair for pair in self._infos if (pair[1].study, pair[1].run_id) in kept])

    def _check_arms(self, names: list[Any]) -> None:
        """Refuse an arm that no study here has: nothing found would look like nothing measured."""
        known = dict.fromkeys(arm for source in self._sources for arm in source.arms)
        known |= dict.fromkeys(info.arm for named in self._named for info in named.runs)
        for name in names:
            if name is not None and name not in known:
                near = did_you_mean(name, known)
                raise ConfigError(f"there is no arm {name!r}; there are {', '.join(known)}{near}")

    def _with(self, infos: Iterable[tuple[int, RunInfo]]) -> Recordings:
        return Recordings(self._sources, [(at, info.run_id) for at, info in infos])

    def __add__(self, other: object) -> Recordings:
        if not isinstance(other, Recordings):
            return NotImplemented
        shift = len(self._sources)
        keep = [(at, info.run_id) for at, info in self._infos]
        keep += [(at + shift, info.run_id) for at, info in other._infos]
        return Recordings([*self._sources, *other._sources], keep)

    # -- coverage

    def coverage(self) -> list[dict[str, Any]]:
        """Count the runs that can be used and say why the others cannot.

        Returns
        -------
        list of dict
            One per arm: ``arm``, ``n_runs``, ``n_used``, ``n_discarded``, ``reasons`` (code -> runs).
        """
        rows: list[dict[str, Any]] = []
        for arm in self.arms:
            infos = [info for _, info in self._infos if info.arm == arm]
            reasons: dict[str, int] = {}
            for info in infos:
                for code in () if info.eligible else info.discard_codes:
                    reasons[code] = reasons.get(code, 0) + 1
            used = sum(info.eligible for info in infos)
            rows.append(
                {
                    "arm": arm,
                    "n_runs": len(infos),
                    "n_used": used,
                    "n_discarded": len(infos) - used,
                    "reasons": reasons,
                }
            )
        return rows

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from ..widgets.cards import recordings_card

        return recordings_card(self)

    def __repr__(self) -> str:
        rows = self.coverage()
        used = sum(row["n_used"] for row in rows)
        names = ", ".join(named.name for named in self._named) or "nothing"
        lines = [f"Recordings of {names}: {used} of {len(self)} runs used"]
        width = max((len(row["arm"]) for row in rows), default=0)
        for row in rows:
            reasons = ", ".join(f"{code} {n}" for code, n in row["reasons"].items())
            tail = f", {row['n_discarded']} discarded ({reasons})" if row["n_discarded"] else ""
            lines.append(f"  {row['arm']:<{width}}  {row['n_used']} of {row['n_runs']} used{tail}")
        return "\n".join(lines)
