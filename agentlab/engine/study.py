"""A study on disk: what is to be recorded, what stands already, what is missing."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, cast

from .. import __version__
from ..drivers.base import Driver
from ..errors import ConfigError, RecordingError, StudyBusy
from ..jsonfile import read_json
from ..redact import redact_data
from ..scenario import Scenario, digest, fingerprint
from .arms import driver_of, identity_of
from .codec import decode, encode
from .files import LOCK_FILE, lock, write_json
from .slots import Order, Slot, missing, slots, swept
from .waiting import Quiet

FORMAT = 1
Keep = Literal["numbers", "content"]
Exists = Literal["resume", "refuse", "replace"]
#: Characters of an arm's name in a folder's name; with the number before it, it fits everywhere.
_LONGEST_SLUG = 80


@dataclasses.dataclass(frozen=True, kw_only=True)
class Study:
    """Hold all that a recording needs; plain data but for the drivers.

    Parameters
    ----------
    folder : Path
        Study folder.
    scenario : Scenario
        What is asked.
    arms : mapping of str to Driver or str
        The conditions; a string is ``"module:function"`` and is called to make the driver.
    runs : int
        Runs of each arm, and of each of its swept values.
    order : {"interleaved", "sequential"}
        Randomised blocks of one run of every arm, or arm after arm.
    seed : int
        Of the order.
    keep : {"numbers", "content"}
        Whether prompts and answers are stored.
    gateway : Gateway, optional
        In front of all arms that have none of their own.
    quiet : Quiet, optional
        None: do not wait, do not judge.
    memory : bool
        Whether the memory of all arms' processes is sampled.
    budget_usd : Decimal, optional
        Limit of all its gateways together, in USD, over all resumptions.
    created_unix_ns : int, optional
        When its ``study.json`` was written; None: it was not prepared.
    """

    folder: Path
    scenario: Scenario
    arms: Mapping[str, Any]
    runs: int
    order: Order
    seed: int
    keep: Keep = "numbers"
    gateway: Any = None
    quiet: Quiet | None = dataclasses.field(default_factory=Quiet)
    memory: bool = False
    budget_usd: Decimal | None = None
    created_unix_ns: int | None = None

    @functools.cached_property
    def drivers(self) -> dict[str, Driver]:
        """The driver of each arm; a factory ``"module:function"`` is called once.

        Returns
        -------
        dict of str to Driver

        Raises
        ------
        ConfigError
            An arm is no driver.
        """
        return {name: driver_of(name, arm) for name, arm in self.arms.items()}

    def slots(self) -> Iterator[Slot]:
        """Yield all runs in order of execution; see :func:`agentlab.engine.slots.slots`."""
        return slots(self._sweeps(), self.runs, self.order, self.seed)

    def missing(self) -> list[Slot]:
        """List the runs that are still to be made, in order."""
        return missing(self.slots(), self.folder)

    @property
    def planned(self) -> dict[str, int]:
        """Runs of each arm: those of all its swept values."""
        return {name: self.runs * len(values) for name, values in self._sweeps().items()}

    def _sweeps(self) -> dict[str, tuple[int | None, ...]]:
        return {name: swept(name, driver) for name, driver in self.drivers.items()}

    def to_job(self) -> dict[str, Any]:
        """Return the study as plain data for the measuring process; holds secrets, never written to disk."""
        return {
            field.name: encode(getattr(self, field.name), field.name) for field in dataclasses.fields(self)
        }

    @classmethod
    def from_job(cls, job: Mapping[str, Any]) -> Study:
        """Rebuild a study from :meth:`to_job`.

        Parameters
        ----------
        job : mapping
            Plain data.

        Returns
        -------
        Study
        """
        made = {name: decode(value) for name, value in job.items()}
        if (budget := made.get("budget_usd")) is not None:
            made["budget_usd"] = Decimal(budget)  # decimals travel as text
        return cls(**made)

    def describe(self) -> dict[str, Any]:
        """Return what ``study.json`` holds: redacted, comparable, without machine and time."""
        arms: dict[str, Any] = {}
        for name, driver in self.drivers.items():
            identity = identity_of(name, driver)
            settings = redact_data({"model": identity.model, **identity.settings})
            arms[name] = {"driver": identity.driver, "version": identity.version, "settings": settings}
            if (values := swept(name, driver)) != (None,):
                arms[name]["sessions"] = list(values)
            if (own := getattr(driver, "gateway", None)) is not None:
                arms[name]["gateway"] = _described(own, self.keep)
            arms[name]["digest"] = digest(list(arms[name].values()))
        scenario = self.scenario.to_dict()
        told = dict(scenario)
        if self.keep == "numbers":
            told["turns"] = [fingerprint(turn) for turn in self.scenario.turns]
        return {
            "format": FORMAT,
            "name": self.folder.name,
            "scenario": told,
            "scenario_digest": digest(scenario),
            "arms": arms,
            "order": self.order,
            "seed": self.seed,
            "keep": self.keep,
            "memory": self.memory,
            "gateway": _described(self.gateway, self.keep),
        }


def _described(gateway: Any, keep: Keep) -> Any:  # noqa: ANN401
    """Return a gateway's settings; what a script or a pin says is content.

    Budgets are left out: they may be raised on resume, and each of them stands in the ledger.
    """
    told = redact_data(encode(gateway, "gateway"))
    if gateway is not None:
        told.pop("budget_usd", None)
    if keep == "numbers" and gateway is not None and isinstance(pin := told.get("pin"), dict):
        for name in ("system", "tools"):
            pin[name] = fingerprint(json.dumps(pin.get(name), sort_keys=True))
    if keep == "numbers" and gateway is not None and isinstance(script := told.get("upstream"), dict):
        for name in {"steps", "side"} & script.keys():  # a tape has none
            script[name] = fingerprint(json.dumps(script.get(name), sort_keys=True))
    return told


def prepare(study: Study, exists: Exists) -> Study:
    """Make or check the study folder; nothing is started.

    Parameters
    ----------
    study : Study
        Wanted study.
    exists : {"resume", "refuse", "replace"}
        What to do when the folder holds a study already.

    Returns
    -------
    Study
        With the seed and the time of the study on disk.

    Raises
    ------
    ConfigError
        The folder holds something else, or a study of another scenario or arm; the message names the first
        difference.
    RecordingError
        The folder cannot be written.
    """
    from ..machine import provenance  # 30 ms, once a study

    folder, file = study.folder, study.folder / "study.json"
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file; choose another folder with to=")
    # A study without a run holds nothing: an arm that could not start must not block its folder.
    if file.exists() and (exists == "replace" or not any((folder / "runs").glob("*"))):
        study.describe()  # what is wrong with an arm is said while the old study is there
        with lock(folder):
            shutil.rmtree(folder)
    if file.exists():
        if exists == "refuse":
            raise ConfigError(f"{folder} holds a study already; choose another folder, or exists='resume'")
        stored = read_json(file)
        seed, runs = stored.get("seed"), stored.get("runs")
        if not (isinstance(seed, int) and isinstance(runs, int)):
            raise RecordingError(f"{file} is damaged: it lacks seed or runs; choose another folder with to=")
        study = dataclasses.replace(study, seed=seed, created_unix_ns=stored.get("created_unix_ns"))
        wanted = study.describe()
        stored.setdefault("memory", False)  # a study of before there was such a thing
        for key in ("format", "keep", "memory", "scenario", "arms", "order", "gateway"):
            old, new = _undated(stored.get(key)), _undated(wanted[key])
            if (found := _first_difference(old, new, key)) is not None:
                raise ConfigError(f"{folder} holds another study: {found}; choose another folder with to=")
        if study.runs > runs:
            with lock(folder):
                write_json(file, {**stored, "runs": study.runs})
        return study
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} exists and holds no study; choose another folder with to=")
    study = dataclasses.replace(study, created_unix_ns=time.time_ns())
    about = {
        **study.describe(),  # what is wrong with an arm is said before anything is touched
        "created_unix_ns": study.created_unix_ns,
        "agentlab": __version__,
        "runs": study.runs,
        "machine": provenance(),
    }
    try:
        (folder / "runs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(
            f"{folder} cannot be made: {error.strerror}; choose another folder with to="
        ) from error
    try:
        with lock(folder):
            if file.exists():
                raise _taken(folder)
            write_json(file, about)
    except RecordingError:
        (folder / LOCK_FILE).unlink(missing_ok=True)
        (folder / "runs").rmdir()  # the same call works once there is room
        raise
    return study


def check_own(study: Study) -> None:
    """Refuse to record into a folder that another study has got since this one was prepared.

    Parameters
    ----------
    study : Study
        A prepared study, whose lock is held.

    Raises
    ------
    StudyBusy
        It is another's.
    RecordingError
        The folder is gone.
    """
    if read_json(study.folder / "study.json").get("created_unix_ns") != study.created_unix_ns:
        raise _taken(study.folder)


def _taken(folder: Path) -> StudyBusy:
    return StudyBusy(
        f"{folder} was given to another study at the same moment; choose another folder with to="
    )


def slug(name: str) -> str:
    """Return a name of an arm as part of a folder's name.

    Examples
    --------
    >>> slug("plugin on/off")
    'plugin-on-off'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:_LONGEST_SLUG] or "arm"


def default_folder(scenario: Scenario) -> Path:
    """Return ``studies/<scenario>-<UTC>`` below the current folder."""
    return Path("studies") / f"{slug(scenario.name)}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"


def _undated(told: Any, *, price: bool = False) -> Any:  # noqa: ANN401
    """Leave out when and where a price was found: the same price may be looked up anew on another day."""
    if not isinstance(told, dict):
        return told
    fields = cast("dict[str, Any]", told).items()
    found = price and "input" in told  # else prices by the names of models
    return {
        key: _undated(value, price=price or key == "price")
        for key, value in fields
        if not (found and key in ("as_of", "source"))
    }


def _first_difference(old: Any, new: Any, path: str) -> str | None:  # noqa: ANN401
    """Name the first place in which two pieces of plain data differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        olds, news = cast("dict[str, Any]", old), cast("dict[str, Any]", new)
        for key in sorted({*olds, *news} - {"digest"}):  # what differs, not that it does
            if key not in olds or key not in news:
                return f"{path}.{key} is {'new' if key not in olds else 'missing'}"
            if (found := _first_difference(olds[key], news[key], f"{path}.{key}")) is not None:
                return found
        return None
    if isinstance(old, list) and isinstance(new, list):
        pairs = list(zip(cast("list[Any]", old), cast("list[Any]", new), strict=False))
        for i, (a, b) in enumerate(pairs):
            if (found := _first_difference(a, b, f"{path}[{i}]")) is not None:
                return found
        return None if len(old) == len(new) else f"{path} has {len(old)} entries there, {len(new)} here"  # pyright: ignore[reportUnknownArgumentType]
    return None if old == new else f"{path} is {old!r:.120} there, {new!r:.120} here"
