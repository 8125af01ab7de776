"""Small synthetic recordings for tests, docs and users: the files of a study, without any agent.

What it cannot show: how a real agent behaves. Times are drawn from simple distributions, each event arrives
whole and in order, and the prompt cache is a rule over made-up lengths.
"""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..scenario import Scenario, digest

#: Where every synthetic clock starts: CLOCK_MONOTONIC and Unix time, ns.
MONOTONIC_NS = 1_000_000_000_000
UNIX_NS = 1_767_225_600_000_000_000
_RUN_NS = 60_000_000_000


class SyntheticStudy:
    """Write a study's folder, run by run.

    Parameters
    ----------
    path : Path or str
        Folder to make; it must not exist or be empty.
    scenario : Scenario, optional
        Two turns by default.
    arms : sequence of str
        Names of the arms.
    seed : int
        Stored as the study's seed.

    Examples
    --------
    >>> import tempfile
    >>> study = SyntheticStudy(tempfile.mkdtemp() + "/s", arms=("a",))
    >>> with study.run("a") as run:
    ...     run.emit("session.open", session="ses_1", role="main")
    >>> import agentlab as al
    >>> len(al.load(study.path))
    1
    """

    def __init__(
        self,
        path: Path | str,
        *,
        scenario: Scenario | None = None,
        arms: Sequence[str] = ("stable", "volatile"),
        seed: int = 0,
    ) -> None:
        self.path = Path(path)
        self.scenario = scenario or Scenario("synthetic", turns=["First {nonce}.", "Second {nonce}."])
        self.n_runs = 0
        (self.path / "runs").mkdir(parents=True)
        plain = self.scenario.to_dict()
        _write(
            self.path / "study.json",
            {
                "format": 1,
                "name": self.scenario.name,
                "created_unix_ns": UNIX_NS,
                "agentlab": "synthetic",
                "synthetic": True,
                "scenario": plain,
                "scenario_digest": digest(plain),
                "arms": {a: {"driver": "synthetic", "settings": {}, "digest": digest(a)} for a in arms},
                "runs": None,
                "order": "interleaved",
                "seed": seed,
                "keep": "numbers",
                "machine": {},
            },
        )

    def run(self, arm: str, *, run_index: int = 0, block: int | None = None, **fields: Any) -> SyntheticRun:  # noqa: ANN401
        """Begin a run; use it as a context manager.

        Parameters
        ----------
        arm : str
            Its arm.
        run_index : int
            0-based inside the arm.
        block : int, optional
            0-based.
        **fields
            More fields of ``run.json``, e.g. ``status="failed"`` or ``issues=[...]``.

        Returns
        -------
        SyntheticRun
        """
        sequence = self.n_runs
        self.n_runs += 1
        run_id = f"{sequence:04d}-{arm}"
        raw = {
            "format": 1,
            "run_id": run_id,
            "arm": arm,
            "run_index": run_index,
            "block": block,
            "sequence": sequence,
            "status": "complete",
            "identity": {"driver": "synthetic", "version": "0", "model": "lab/scripted", "settings": {}},
            "versions": {"synthetic": "0"},
            "issues": [],
            "warmup_rule": self.scenario.warmup,
            "n_turns_asked": len(self.scenario.turns),
            "observer": {
                "loop_lag_p50_ms": 0.1,
                "loop_lag_p99_ms": 0.4,
                "loop_lag_max_ms": 1.5,
                "cpu_s": 0.05,
            },
            "quiet": {"waited_s": 0.0, "quiet": True},
            "n_sessions": 1,
            **fields,
        }
        return SyntheticRun(self.path / "runs" / run_id, raw, begin_ns=MONOTONIC_NS + sequence * _RUN_NS)


class SyntheticRun:
    """Write one run's files.

    Parameters
    ----------
    path : Path
        The run's folder.
    raw : dict
        ``run.json``; stamps and counts are filled in at the end.
    begin_ns : int
        CLOCK_MONOTONIC of its begin.

    Attributes
    ----------
    files : dict of str to bytes
        What else is written beside the events, by name, e.g. a trace.
    """

    def __init__(self, path: Path, raw: dict[str, Any], *, begin_ns: int) -> None:
        self.path = path
        self.raw = raw
        self.begin_ns = begin_ns
        self.now_ms = 0.0
        self.events: list[dict[str, Any]] = []
        self.gateway_events: list[dict[str, Any]] = []
        self.memory_events: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        self.has_gateway = False

    def __enter__(self) -> SyntheticRun:
        self.emit("run.begin")
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is None:
            if self.raw["status"] != "running":
                known = (*self.events, *self.gateway_events, *self.memory_events)
                last = max(event["t"] for event in known)
                self.events.append(_event(last, "run.end", {"status": self.raw["status"]}))
            self.write()

    def ns(self, ms: float) -> int:
        """Return the CLOCK_MONOTONIC stamp of a time in the run.

        Parameters
        ----------
        ms : float
            Since the run's begin.

        Returns
        -------
        int
        """
        return self.begin_ns + round(ms * 1e6)

    def unix_ms(self, ms: float) -> int:
        """Return the wall clock of a time in the run, whole ms, as servers stamp.

        Parameters
        ----------
        ms : float
            Since the run's begin.

        Returns
        -------
        int
        """
        return (self.ns(ms) - MONOTONIC_NS + UNIX_NS) // 1_000_000

    def emit(self, kind: str, *, at_ms: float | None = None, **fields: Any) -> None:  # noqa: ANN401
        """Append an event of the agent's side.

        Parameters
        ----------
        kind : str
            See ``docs/events.md``.
        at_ms : float, optional
            Since the run's begin; ``now_ms`` when absent.
        **fields
            Its fields; those that are None are left out.
        """
        self.events.append(_event(self.ns(self.now_ms if at_ms is None else at_ms), kind, fields))

    def emit_gateway(self, kind: str, *, at_ms: float | None = None, **fields: Any) -> None:  # noqa: ANN401
        """Append an event of the gateway's side.

        Parameters
        ----------
        kind : str
            See ``docs/events.md``.
        at_ms : float, optional
            Since the run's begin; ``now_ms`` when absent.
        **fields
            Its fields; those that are None are left out.
        """
        self.has_gateway = True
        self.gateway_events.append(_event(self.ns(self.now_ms if at_ms is None else at_ms), kind, fields))

    def emit_memory(self, kind: str, *, at_ms: float | None = None, **fields: Any) -> None:  # noqa: ANN401
        """Append an event of the sampler's side.

        Parameters
        ----------
        kind : str
            See ``docs/events.md``.
        at_ms : float, optional
            Since the run's begin; ``now_ms`` when absent.
        **fields
            Its fields; those that are None are left out.
        """
        self.memory_events.append(_event(self.ns(self.now_ms if at_ms is None else at_ms), kind, fields))

    def issue(self, code: str, detail: str | None = None, *, discard: bool = False) -> None:
        """Attach a coded doubt.

        Parameters
        ----------
        code : str
            See :data:`agentlab.issues.CODES`.
        detail : str, optional
            Short.
        discard : bool
            Whether it makes the run ineligible.
        """
        doubt = {
            "code": code,
            "phase": "turn",
            "detail": detail,
            "discard": discard,
            "t": self.ns(self.now_ms),
        }
        self.raw["issues"].append(doubt)

    def write(self) -> None:
        """Write the files; events are put in order of their stamps, as they are in a real recording."""
        self.path.mkdir(parents=True)
        ordered = sorted(self.events, key=lambda event: event["t"])
        raw = {
            **self.raw,
            "started_unix_ns": self.begin_ns - MONOTONIC_NS + UNIX_NS,
            "anchor": {"monotonic_ns": MONOTONIC_NS, "unix_ns": UNIX_NS},
        }
        if raw["status"] != "running":
            raw["ended_unix_ns"] = ordered[-1]["t"] - MONOTONIC_NS + UNIX_NS
        _write(self.path / "run.json", raw)
        _write_lines(self.path / "events.jsonl", ordered)
        if self.has_gateway:
            _write_lines(
                self.path / "gateway.jsonl", sorted(self.gateway_events, key=lambda event: event["t"])
            )
        if self.memory_events:
            _write_lines(self.path / "memory.jsonl", sorted(self.memory_events, key=lambda event: event["t"]))
        for name, data in self.files.items():
            (self.path / name).write_bytes(data)


def _event(t: int, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"t": t, "kind": kind, **{name: value for name, value in fields.items() if value is not None}}


def _write(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def _write_lines(path: Path, events: Sequence[Mapping[str, Any]]) -> None:
    lines = (json.dumps(e, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n" for e in events)
    path.write_text("".join(lines), encoding="utf-8")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SyntheticArm:
    """Say how one arm behaves.

    Parameters
    ----------
    ttft_ms : float
        Median time from the model's request to its first token.
    itl_ms : float
        Mean time between tokens.
    spread : float
        Standard deviation of the logarithm of times, half of it between runs.
    stable : bool
        Whether the system text stays the same; when it changes each turn, only the tools are a shared prefix.
    discard_rate, retry_rate : float
        Share of runs that miss a tool, and of requests that fail once.
    usage : bool
        Whether the provider reports usage.
    chunks : tuple of int
        Fewest and most chunks of a request.
    """

    ttft_ms: float = 300.0
    itl_ms: float = 18.0
    spread: float = 0.3
    stable: bool = True
    discard_rate: float = 0.0
    retry_rate: float = 0.0
    usage: bool = True
    chunks: tuple[int, int] = (8, 20)


def write_study(
    path: Path | str,
    *,
    arms: Mapping[str, SyntheticArm] | None = None,
    runs: int = 6,
    steps: Sequence[int] = (3, 1),
    seed: int = 0,
    warmup: str = "original",
    gateway: bool = True,
) -> Path:
    """Write a whole study of an OpenCode-like agent.

    Parameters
    ----------
    path : Path or str
        Folder to make.
    arms : mapping, optional
        Name -> behaviour; by default a stable and a volatile prompt.
    runs : int
        Per arm; interleaved in blocks.
    steps : sequence of int
        Model requests of each turn; all but the last of a turn call a tool.
    seed : int
        Same seed, same bytes.
    warmup : {"none", "original"}
        Rule of the scenario.
    gateway : bool
        Whether a gateway stood before the model.

    Returns
    -------
    Path
        The folder.

    Examples
    --------
    >>> import tempfile
    >>> import agentlab as al
    >>> al.load(write_study(tempfile.mkdtemp() + "/s", runs=2)).arms
    ('stable', 'volatile')
    """
    arms = arms or {"stable": SyntheticArm(), "volatile": SyntheticArm(stable=False, ttft_ms=420.0)}
    from ._agent import Agent

    turns = [f"Session marker: {{nonce}}. Turn {n}." for n in range(1, len(steps) + 1)]
    scenario = Scenario("cache-probe", turns=turns, require=("tool:read", "text"), warmup=warmup)  # type: ignore[arg-type]
    study = SyntheticStudy(path, scenario=scenario, arms=tuple(arms), seed=seed)
    draw = random.Random(seed)
    for block in range(runs):
        order = list(arms)
        draw.shuffle(order)
        for name in order:
            with study.run(name, run_index=block, block=block) as run:
                Agent(run, arms[name], draw, gateway=gateway).carry_out(steps)
    return study.path
