"""Write recordings of one arm as the original cache script's report (``schemaVersion`` 2)."""

from __future__ import annotations

import copy
import os
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, RecordingError, UnstableWarning
from ..jsonfile import read_json, write_whole
from .schema2 import ABOUT, CacheReport
from .schema2_run import Tables, plain, run_object, settings_of
from .script_json import dumps

if TYPE_CHECKING:
    from ..frames.evidence import RunInfo
    from ..recording import Recordings

_WARMUP = "exclude request position 1 in each eligible session from aggregates"
_SEQUENTIAL = "sequential independent sessions"
_INTERLEAVED = "independent sessions, interleaved with those of other arms"


def write(
    recs: Recordings,
    path: str | os.PathLike[str],
    *,
    plugin_build: str | None = None,
    retries: int | None = None,
    retry_delay_s: float | None = None,
    overwrite: bool = False,
) -> Path:
    """Write one report.

    Parameters
    ----------
    recs : Recordings
        Runs of one arm.
    path : path
        The file. It appears whole or not at all.
    plugin_build : str, optional
        Stands in the report as it is given.
    retries : int, optional
        Likewise: how often calls could be repeated; null when it is unknown.
    retry_delay_s : float, optional
        Likewise, seconds.
    overwrite : bool, default False
        Whether the file may exist.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ConfigError
        The file exists, or schema 2 cannot hold what was measured; see :func:`report`.
    RecordingError
        The file cannot be written; what stood there before stays.

    Examples
    --------
    >>> import agentlab as al
    >>> from tempfile import TemporaryDirectory
    >>> stable = al.load(al.example("cache")).where(arm="stable")
    >>> with TemporaryDirectory() as folder:
    ...     again = al.load(write(stable, f"{folder}/stable.json"))
    >>> len(again) == len(stable)
    True
    """
    path = Path(path)
    whole = report(recs, plugin_build=plugin_build, retries=retries, retry_delay_s=retry_delay_s)
    text = dumps(whole) + "\n"
    if path.exists() and not overwrite:
        raise ConfigError(f"{path} exists; choose another file")
    write_whole(path, text)
    return path


def report(
    recs: Recordings,
    *,
    plugin_build: str | None = None,
    retries: int | None = None,
    retry_delay_s: float | None = None,
) -> dict[str, Any]:
    """Return the report as plain data.

    Runs that came from such a report stand in it unchanged; of a study of ours: tokens as agentlab counts
    them (unknown is null), ``output`` without reasoning, the first token by agentlab's definition (also when
    it was seen after the reply), warm-up by the report's own rule. Schema 2 has no place for child sessions,
    side requests, issues that do not discard, stamps of the gateway and of tools; they are left out.

    Parameters
    ----------
    recs : Recordings
        Runs of one arm.
    plugin_build : str, optional
        Stands in the report as it is given; default: what a report that was read said, or what the study
        says of its plugins.
    retries : int, optional
        Likewise; default: what a report that was read said, else null.
    retry_delay_s : float, optional
        Likewise, seconds.

    Returns
    -------
    dict
        Keys in the order of the original.

    Raises
    ------
    ConfigError
        There are no runs, more than one arm or set-up, or several main sessions in a run.
    """
    infos = [recording.info for recording in recs]
    _check(infos)
    about = _about(recs, infos)
    stated = {
        "comparison": {"pluginBuild": plugin_build},
        "controls": {
            "retries": retries,
            "retryDelayMs": None if retry_delay_s is None else retry_delay_s * 1000.0,
        },
    }
    for name, values in stated.items():
        about.get(name, {}).update({key: value for key, value in values.items() if value is not None})
    tables = Tables(recs)
    numbers = [info.run_index for info in infos]
    unique = None not in numbers and len(set(numbers)) == len(numbers)
    runs = [
        run_object(recording, tables, number if unique else place)
        for place, (recording, number) in enumerate(zip(recs, numbers, strict=True))
    ]
    whole = {"schemaVersion": 2, **about, "metrics": {}, "runs": runs}
    return {**whole, "metrics": _metrics(whole)}


def _check(infos: list[RunInfo]) -> None:
    arms = list(dict.fromkeys(info.arm for info in infos))
    if not arms:
        raise ConfigError("a schema-2 report is of one arm, and there is no run")
    if len(arms) > 1:
        raise ConfigError(f"a schema-2 report holds one arm, and there are {', '.join(arms)}; choose one")
    setups = {(str(info.part("identity").get("model")), settings_of(info).get("agent")) for info in infos}
    if len(setups) > 1:
        names = ", ".join(sorted(f"{agent} on {model}" for model, agent in setups))
        raise ConfigError(f"a schema-2 report holds one agent and model, and there are {names}")


def _about(recs: Recordings, infos: list[RunInfo]) -> dict[str, Any]:
    """Return what the report says of all runs; what a report that was read says of itself is kept."""
    read = [info.raw.get(ABOUT) for info in infos]
    if read[0] and all(one == read[0] for one in read):
        about: dict[str, Any] = copy.deepcopy(dict(read[0]))
    else:
        about = {
            "generatedAt": _ended(infos),
            "comparison": _comparison(recs, infos),
            "controls": _controls(recs),
        }
    if "controls" in about:
        about["controls"]["runs"] = len(infos)
    return about


def _comparison(recs: Recordings, infos: list[RunInfo]) -> dict[str, Any]:
    info = infos[0]
    provider, _, model = str(info.part("identity").get("model") or "").partition("/")
    versions = [version for version in recs.sessions["version"].dropna() if version]
    return {
        "arm": info.arm,
        "pluginBuild": _plugin_build(info),
        "hostOpenCodeVersion": str(versions[0]) if versions else info.part("identity").get("version"),
        "runOrder": _SEQUENTIAL if _alone(infos) else _INTERLEAVED,
        "routingFingerprint": {
            "agent": settings_of(info).get("agent"),
            "providerID": provider or None,
            "modelID": model or None,
        },
    }


def _plugin_build(info: RunInfo) -> str | None:
    """Return what is known of the plugins: the user's word for the build, else name, version and digest."""
    settings = settings_of(info)
    if settings.get("build") is not None:
        return str(settings["build"])
    plugins: Any = settings.get("plugins") or ()
    names = (
        "@".join(str(plugin[key]) for key in ("name", "version", "digest") if plugin.get(key))
        for plugin in plugins
    )
    return ", ".join(names) or info.part("versions").get("plugin")


def _controls(recs: Recordings) -> dict[str, Any]:
    prompt_s = ((recs.scenario or {}).get("timeouts") or {}).get("prompt")
    return {
        "runs": 0,
        "timeoutMs": None if prompt_s is None else prompt_s * 1000.0,
        "retries": None,
        "retryDelayMs": None,
        "warmupRule": _WARMUP,
    }


def _alone(infos: list[RunInfo]) -> bool:
    """Say whether no run of another arm was made between these."""
    for info in infos:
        if info.block is None:
            continue
        try:
            study = read_json(info.path.parent.parent / "study.json") if info.path else {}
        except RecordingError:
            return False
        if len(study.get("arms") or ()) != 1:
            return False
    return True


def _ended(infos: list[RunInfo]) -> str:
    """Return when the last run ended: the original wrote its report right then."""
    ends = [end for info in infos if isinstance(end := info.raw.get("ended_unix_ns"), int)]
    ms = (max(ends) if ends else time.time_ns()) // 1_000_000
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000)) + f".{ms % 1000:03d}Z"


def _metrics(whole: dict[str, Any]) -> dict[str, Any]:
    """Count and estimate from the report's own rows, so that they and its numbers cannot disagree."""
    used = [run["observation"] for run in whole["runs"] if not run["discarded"]]
    requests = [row for one in used for row in one.get("requests", ())]
    loops = [row for one in used for row in one.get("promptLoops", ())]
    return {
        "sessionsRequested": len(whole["runs"]),
        "sessionsEligible": len(used),
        "sessionsDiscarded": len(whole["runs"]) - len(used),
        "requestObservationsRaw": len(requests),
        "requestObservationsAggregated": sum(not row["warmup"] for row in requests),
        "promptLoopObservationsRaw": len(loops),
        "promptLoopObservationsAggregated": sum(not row["warmup"] for row in loops),
        "primaryMetricsSessionBootstrap95CI": _intervals(whole),
    }


def _intervals(whole: dict[str, Any]) -> dict[str, dict[str, Any]]:
    from ..metrics import CACHE_REPORT
    from ..recording import Recordings
    from ..stats.compare import compare

    recs = Recordings([CacheReport(Path("report"), whole)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableWarning)  # the report has no place for it
        frame = compare(recs, *CACHE_REPORT, interval="original")
    levels = {row["metric"]: row for row in plain(frame) if row["kind"] == "level"}
    return {metric.name: _interval(levels.get(metric.name)) for metric in CACHE_REPORT}


def _interval(row: Mapping[str, Any] | None) -> dict[str, Any]:
    if row is None or row["estimate"] is None:
        return {"estimate": None, "lower": None, "upper": None, "samples": 0}
    return {
        "estimate": row["estimate"],
        "lower": row["lower"],
        "upper": row["upper"],
        "samples": row["n_resamples"] or 0,
    }
