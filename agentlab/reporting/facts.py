"""What was measured and where: scenario, arms, machine, provenance, read from the study's own words."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..plots import words
from ..widgets.bundle import short_path
from .blocks import Block, heading, never_fails, sentences, table

if TYPE_CHECKING:
    from ..recording import Recordings

_LONGEST = 160


@never_fails
def title(recs: Recordings, *, kept: bool = False) -> Block:
    """Name the study and say what the page can tell.

    Parameters
    ----------
    recs : Recordings
        What was measured.
    kept : bool
        Whether they are a selection of the study's runs.

    Returns
    -------
    Block
    """
    used = sum(row["n_used"] for row in recs.coverage())
    names = ", ".join(study["name"] for study in recs.studies) or "No study"
    runs = f"{used:,} of {words.count(len(recs), 'run')} can be used, in {words.count(len(recs.arms), 'arm')}"
    lines = [
        f"{runs}: {', '.join(recs.arms)}." if len(recs) else "It holds no run.",
        "This page shows a selection of the runs; what is said of runs is said of those." if kept else "",
        "There is no estimate below: no run can be used. The page says why."
        if len(recs) and not used
        else "",
        "Synthetic runs are among them: written by agentlab.testing, not measured."
        if _synthetic(recs)
        else "",
        f"Written by agentlab {__version__} on {_day(time.time())}.",
    ]
    return heading(names, level=1) + sentences(lines)


@never_fails
def measured(recs: Recordings) -> Block:
    """Show scenario, order, machine and gateway of each study.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    Block
    """
    shown = [_study(recs, study["name"], path) for study, path in zip(recs.studies, recs.paths, strict=True)]
    first, *rest = shown or [sentences(["Nothing was recorded."])]
    for block in rest:
        first = first + block
    return first


def _study(recs: Recordings, name: str, path: Path) -> Block:
    meta = _meta(path)
    scenario, machine = meta.get("scenario") or recs.scenario or {}, meta.get("machine") or {}
    rows = [
        ["scenario", _scenario(scenario)],
        ["runs", _plan(meta)],
        ["recorded", _when(recs, name)],
        ["gateway", _gateway(recs, name, meta)],
        [
            "content",
            {"numbers": "not stored (numbers only)", "content": "stored"}.get(str(meta.get("keep")), ""),
        ],
        ["machine", _machine(machine)],
        ["system", _system(machine)],
    ]
    if scenario and not scenario.get("turns"):  # commands and terminals at their prompt ask no model
        rows = [row for row in rows if row[0] != "gateway"]
    missing = [row[0] for row in rows if not row[1]]
    note = f"Not in the recording: {', '.join(missing)}." if missing else ""
    return table(["study", name], [row for row in rows if row[1]], notes=[note])


def _scenario(scenario: Mapping[str, Any]) -> str:
    if not scenario:
        return ""
    turns = scenario.get("turns") or ()
    if not turns:
        return str(scenario.get("name", "unnamed"))
    said = [str(scenario.get("name", "unnamed")), words.count(len(turns), "turn")]
    if scenario.get("require"):
        said.append(f"requires {', '.join(map(str, scenario['require']))}")
    rule = scenario.get("warmup")
    said.append("no warm-up rule" if rule in (None, "none") else f"warm-up rule {rule!r}")
    return ", ".join(said)


def _plan(meta: Mapping[str, Any]) -> str:
    if not meta:
        return ""
    said = [f"{meta['runs']:,} of each arm planned"] if isinstance(meta.get("runs"), int) else []
    said += [f"{meta['order']} order"] if meta.get("order") else []
    said += [f"seed {meta['seed']}"] if meta.get("seed") is not None else []
    return ", ".join(said)


def _when(recs: Recordings, name: str) -> str:
    runs = recs.runs
    starts = runs.loc[runs["study"] == name, "started_unix_ms"].dropna()
    if starts.empty:
        return ""
    first, last = _day(float(starts.min()) / 1000), _day(float(starts.max()) / 1000)
    return first if first == last else f"first run {first}, last run {last}"


def _gateway(recs: Recordings, name: str, meta: Mapping[str, Any]) -> str:
    runs = recs.runs
    behind = runs.loc[runs["study"] == name, "n_gateway_events"].notna()
    upstream = (meta.get("gateway") or {}).get("upstream")
    kind = str(upstream.get("$type", "")).rpartition(":")[2] if isinstance(upstream, dict) else ""
    what = f", in front of a {kind}" if kind else ", in front of a provider" if upstream else ""
    if not len(behind) or not behind.any():
        return "none: what only a gateway sees (prefixes, bytes sent) is unknown"
    return (
        f"{int(behind.sum()):,} of {words.count(len(behind), 'run')}" if not behind.all() else "yes"
    ) + what


def _machine(machine: Mapping[str, Any]) -> str:
    said = [str(machine["cpu_model"])] if machine.get("cpu_model") else []
    if machine.get("cpus_usable") or machine.get("cpus"):
        said.append(words.count(int(machine.get("cpus_usable") or machine["cpus"]), "usable CPU"))
    if machine.get("memory_bytes"):
        said.append(f"{machine['memory_bytes'] / 2**30:.1f} GiB memory")
    if machine.get("container"):
        said.append(f"in {machine['container']}")
    if machine.get("pressure_known") is False:
        said.append("pressure not known")
    return ", ".join(said)


def _system(machine: Mapping[str, Any]) -> str:
    said = [
        str(machine[name]) for name in ("system", "kernel", "architecture", "python") if machine.get(name)
    ]
    return ", ".join(said)


@never_fails
def arms(recs: Recordings) -> Block:
    """Show agent, version, model and the settings in which the arms differ.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    Block
    """
    if not recs.arms:
        return sentences(["There is no arm."])
    runs = recs.runs
    rows: list[list[str]] = []
    for name in recs.arms:
        own = runs[runs["arm"] == name]
        rows.append([name, *(", ".join(map(str, own[c].dropna().unique())) or "unknown" for c in _ARM)])
    settings = _settings(recs)
    differ = _differing(settings)
    lines = [
        f"{key}: " + ", ".join(f"{arm} {_short(settings[arm].get(key))}" for arm in settings)
        for key in differ
    ]
    if len(settings) > 1:
        lines.insert(0, "The arms differ in these settings:" if lines else "No recorded setting differs.")
    elif not settings:
        lines = ["Not in the recording: settings."]
    return table(["arm", "driver", "version", "model"], rows, notes=lines)


_ARM = ("driver", "version", "model")


def _settings(recs: Recordings) -> dict[str, dict[str, Any]]:
    """Return the settings of each arm, flat: key -> value."""
    found: dict[str, dict[str, Any]] = {}
    for path in recs.paths:
        stated = _meta(path).get("arms")
        for arm, about in stated.items() if isinstance(stated, dict) else ():
            if arm in recs.arms and isinstance(about, dict):
                found.setdefault(arm, _flat(about.get("settings") or {}))
    return found


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict) and set(value) != {"sha256", "n_chars"}:
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _differing(settings: Mapping[str, Mapping[str, Any]]) -> list[str]:
    keys = dict.fromkeys(key for own in settings.values() for key in own)
    return [k for k in keys if len({json.dumps(own.get(k), sort_keys=True) for own in settings.values()}) > 1]


def _short(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, dict) and set(value) == {"sha256", "n_chars"}:
        return f"{words.count(value['n_chars'], 'character')} (sha256 {value['sha256']})"
    text = "not set" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


@never_fails
def provenance(recs: Recordings) -> Block:
    """Show what identifies the evidence and the code, and the lines that read it again.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    Block
    """
    rows: list[list[str]] = []
    for study, path in zip(recs.studies, recs.paths, strict=True):
        meta = _meta(path)
        machine = meta.get("machine") or {}
        digests = meta.get("arms") or {}
        rows.append([study["name"], "folder or file", short_path(path)])
        rows += [["", key, str(study[key])] for key in ("scenario_digest", "seed") if key in study]
        rows += [
            ["", f"digest of {a}", str(d.get("digest"))] for a, d in digests.items() if isinstance(d, dict)
        ]
        if meta.get("agentlab"):
            commit = str(machine.get("commit") or "")[:12]
            state = " and changes" if machine.get("modified") else ""
            rows.append(
                [
                    "",
                    "recorded by",
                    f"agentlab {meta['agentlab']}" + (f", commit {commit}{state}" if commit else ""),
                ]
            )
        packages = machine.get("packages") or {}
        if packages:
            rows.append(
                ["", "packages", ", ".join(f"{name} {version}" for name, version in packages.items())]
            )
    lines = [
        f"Computed by agentlab {__version__} from the recorded events; nothing on this page was typed in."
    ]
    return table(["study", "", "value"], rows, notes=lines)


def _meta(path: Path) -> dict[str, Any]:
    """Read what a study's folder says of itself; nothing for a foreign file."""
    folder = path if (path / "study.json").is_file() else path.parent.parent
    try:
        value = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _synthetic(recs: Recordings) -> bool:
    return any(_meta(path).get("synthetic") for path in recs.paths)


def _day(unix_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(unix_s))
