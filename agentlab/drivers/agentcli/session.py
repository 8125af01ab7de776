"""One run of a command-line agent: its turns, and what is recorded of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ...agents.base import Agent, Ask, Note, Outcome, Setup, write_private
from ...agents.transcripts import read_transcripts
from ...errors import DriverError, DriverTimeout
from ...wire.children import Child, Children
from ...wire.jsonl import JSONLines, Record
from ..base import LiveGateway, Run
from .network import Loopback
from .process import Watch, follow
from .verdict import Cut, Verdict, judge

#: What an agent's word for its end looks like; anything longer may be a text.
_WORD = re.compile(r"[A-Za-z0-9_.:<>-]{1,60}")
#: Linux passes at most 128 KiB in one argument.
_MAX_ARGUMENT_BYTES = 128 * 1024 - 1
_STDERR_KEPT = 64 * 1024


@runtime_checkable
class Metered(Protocol):
    """What a gateway tells of a run besides its address; a stand-in may not."""

    endings: dict[str, str]

    async def sync(self) -> None:
        """Wait for the lines of all requests that an agent saw end."""
        ...

    def of_run(self) -> list[dict[str, Any]]:
        """Return the run's finished requests."""
        ...

    def quiet_s(self) -> float:
        """Return how long ago its last line was written."""
        ...


class CLISession:
    """Prompt one agent: a process a turn.

    Parameters
    ----------
    agent : Agent
        Of the catalogue.
    setup : Setup
        Its home, workspace and model.
    run : Run
        Where everything observed goes.
    gateway : LiveGateway
        Before its model.
    children : Children
        Starts and ends its processes.
    network : Loopback or None
        Where they run; None: in this machine's.
    """

    def __init__(
        self,
        agent: Agent,
        setup: Setup,
        run: Run,
        gateway: LiveGateway,
        children: Children,
        network: Loopback | None,
    ) -> None:
        self._agent, self._setup, self._run = agent, setup, run
        self._gateway = gateway if isinstance(gateway, Metered) else None
        self._children, self._network = children, network
        self._reader = agent.reader()
        self._environment = agent.prepare(setup)
        self._turn = 0
        self._id: str | None = None
        self._held: list[tuple[str, int, dict[str, Any], Mapping[str, Any] | None]] = []
        self._result: dict[str, Any] = {"status": "stopped", "reason": "no_turn"}
        if network is not None:
            network.on_lookup = self._on_lookup

    async def prompt(self, text: str) -> None:
        """Run the agent for one turn.

        Parameters
        ----------
        text : str
            The prompt.

        Raises
        ------
        DriverTimeout
            It was not complete in time, or showed no sign of work for too long.
        DriverError
            It did not answer, for the reason that stands in ``turn.reply`` and ``result``.
        """
        self._turn += 1
        argv, file = self._command(text)
        self._reader.begin(self._turn)
        sent = time.monotonic_ns()
        size = {"n_chars": len(text), "n_bytes": len(text.encode())}
        name = f"turn-{self._turn}"
        self._emit("turn.send", sent, {"turn": self._turn, "message": name, **size}, {"text": text})
        lines = JSONLines()
        cut: Cut | None = "cancelled"
        errors = self._setup.home / f"stderr-{self._turn}"
        child = await self._children.spawn(
            argv,
            env=self._environment,
            cwd=self._setup.workspace,
            stdin="null" if file is None else file,
            stdout="pipe",
            stderr=errors,
        )
        watch = Watch(child, outward=self._network is None)
        self._emit("process.begin", watch.samples[0][0], {"turn": self._turn, "n_arguments": len(argv)})
        sampling = asyncio.create_task(watch.run())
        try:
            cut = await follow(
                child,
                lines,
                self._on_record,
                timeouts=self._run.scenario.timeouts,
                busy_since=self._gateway.quiet_s if self._gateway else lambda: float("inf"),
            )
        except asyncio.CancelledError:
            self._finish(Verdict("stopped", "cancelled"), Outcome(), child, self._stamp(child))
            raise
        finally:
            sampling.cancel()
        await self._conclude(child, lines, watch, errors, cut, sent)

    def _command(self, text: str) -> tuple[list[str], Path | None]:
        agent = self._agent
        file = self._setup.home / "prompt"
        if not agent.stdin and len(text.encode()) > _MAX_ARGUMENT_BYTES:
            raise DriverError(
                f"the prompt has {len(text.encode())} bytes; {agent.title} takes it as one argument, and at "
                "most 128 KiB fit",
                driver="agentcli",
                phase="turn",
            )
        write_private(file, text)
        argv = agent.argv(
            self._setup, Ask(text=text, file=file, turn=self._turn, session=self._reader.session)
        )
        if any(self._setup.token in argument for argument in argv):
            raise DriverError("a flag holds the gateway's token", driver="agentcli", phase="turn")
        if self._network is not None:
            argv = self._network.inside(argv)
        return argv, file if agent.stdin else None

    def _on_record(self, record: Record) -> None:
        unix_ms = (time.time_ns() - (time.monotonic_ns() - record.t)) / 1e6
        for note in self._reader.read(record.data, unix_ms=unix_ms):
            self._note(note, record.t)
        if self._id is None and self._reader.session is not None:
            self._open(self._reader.session)

    def _note(self, note: Note, t: int) -> None:
        fields = dict(note.fields)
        if note.kind in ("message", "agent.error"):
            fields |= {key: _word(str(fields[key])) for key in ("finish", "error", "name") if key in fields}
        if note.kind == "message":
            fields.setdefault("parent", f"turn-{self._turn}")
        elif note.kind in ("usage", "agent.error", "compacted"):
            fields["turn"] = self._turn
        if note.kind == "compacted":
            self._run.issue("compaction")
        elif note.kind == "status" and fields.get("state") == "retry":
            self._run.issue("retry")
        self._emit(note.kind, t, fields, note.content)

    def _emit(
        self, kind: str, t: int, fields: dict[str, Any], content: Mapping[str, Any] | None = None
    ) -> None:
        """Record an event of the session; held back until the agent has said what it calls the session."""
        content = None if content is None else self._without_token(content)
        if self._id is None:
            self._held.append((kind, t, fields, content))
        else:
            self._run.emit(kind, t=t, content=content, session=self._id, **fields)

    def _without_token(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Hide the gateway's token, which an agent's tools can read in its environment."""
        text = json.dumps(content)
        return (
            json.loads(text.replace(self._setup.token, "<token>"))
            if self._setup.token in text
            else dict(content)
        )

    def _open(self, name: str) -> None:
        self._id = name
        held, self._held = self._held, []
        first = held[0][1] if held else time.monotonic_ns()
        self._run.emit("session.open", t=first, session=name, role="main")
        for kind, t, fields, content in held:
            self._emit(kind, t, fields, content)

    async def _conclude(
        self, child: Child, lines: JSONLines, watch: Watch, errors: Path, cut: Cut | None, sent: int
    ) -> None:
        over = self._stamp(child)
        watch.end(over, child.cost.get("cpu_s"))
        for note in self._reader.finish(self._setup):
            self._note(note, over)
        requests: list[dict[str, Any]] = []
        ending = None
        if self._gateway is not None:
            await self._gateway.sync()
            requests = [row for row in self._gateway.of_run() if row["t_begin"] >= sent]
            ending = self._gateway.endings.get(self._run.run_id)
        if self._id is None:
            named = [row["session"] for row in requests if row.get("session")]
            self._open(named[0] if named else f"{self._agent.name}-1")
        outcome = self._reader.outcome()
        verdict = judge(outcome, ending=ending, cut=cut, exit_code=child.returncode, requests=requests)
        self._first_request(watch, requests)
        self._outward(watch)
        self._output(lines, errors)
        self._finish(verdict, outcome, child, over, watch)
        if verdict.status == "answered" and requests and not requests[-1].get("terminal_seen"):
            self._run.issue("turn_unproven", "the last model request ended without its end", discard=True)
        self._raise(verdict)

    def _first_request(self, watch: Watch, requests: list[dict[str, Any]]) -> None:
        if not requests:
            return
        first = min(requests, key=lambda row: row["t_begin"])
        fields: dict[str, Any] = {"turn": self._turn, "request": first["request"]}
        if (at := watch.cpu_at(first["t_begin"])) is not None:
            fields |= {"cpu_s": round(at[0], 4), "sample_gap_ms": round(at[1], 1)}
        self._emit("process.first_request", first["t_begin"], fields)

    def _on_lookup(self, name: str, kind: str, t: int) -> None:
        self._emit("lookup", t, {"turn": self._turn, "name": name, "type": kind})

    def _outward(self, watch: Watch) -> None:
        for remote, t in watch.seen.items():
            where = {"protocol": remote.protocol, "address": remote.address, "port": remote.port}
            self._emit("connection", t, {"turn": self._turn, **where})
        fields: dict[str, Any] = {
            "turn": self._turn,
            "network": "open" if self._network is None else "loopback",
        }
        if self._network is None:
            # What is asked of a name server is seen only in a network of its own.
            fields |= {"n_connections": len(watch.seen)} if watch.readable else {"reason": "unreadable"}
        self._emit("outward", time.monotonic_ns(), fields)

    def _output(self, lines: JSONLines, errors: Path) -> None:
        said = b""
        with contextlib.suppress(OSError), errors.open("rb") as file:
            said = file.read(_STDERR_KEPT)
        size = errors.stat().st_size if errors.exists() else 0
        fields = {
            "n_bytes": lines.n_bytes,
            "n_records": lines.n_records,
            "n_foreign": lines.n_foreign,
            "n_dropped": lines.n_dropped,
            "unterminated": lines.unterminated,
            "stderr_bytes": size,
        }
        content = {"stderr": said.decode("utf-8", "replace")}
        self._emit("output", time.monotonic_ns(), {"turn": self._turn, **fields}, content)

    def _finish(
        self, verdict: Verdict, outcome: Outcome, child: Child, over: int, watch: Watch | None = None
    ) -> None:
        if self._id is None:
            self._open(self._reader.session or f"{self._agent.name}-1")
        turn = {"turn": self._turn}
        cost = {key: child.cost[key] for key in ("cpu_s", "max_rss_bytes") if key in child.cost}
        code = {} if child.returncode is None else {"exit_code": child.returncode}
        most = {"n_processes": watch.n_processes} if watch is not None else {}
        self._emit("process.end", over, {**turn, **code, **cost, **most})
        visible = len("".join(outcome.answer.split()))
        fields: dict[str, Any] = {**turn, "text_chars": visible, "source": "process"}
        stop = _word(outcome.stop)
        if stop is not None:
            fields["finish"] = stop
        if verdict.status != "answered":
            fields["error"] = _word(verdict.reason)
        content = {"text": outcome.answer, "reason": outcome.reason}
        if verdict.status != "stopped":
            self._emit("turn.reply", over, fields, content)
        if verdict.status == "answered":
            self._emit("idle", over, {})
        self._emit(
            "turn.end", time.monotonic_ns(), {**turn, "reason": verdict.ended, "status": verdict.status}
        )
        self._result = {
            "status": verdict.status,
            "reason": _word(verdict.reason),
            "stop": stop,
            "answer_chars": len(outcome.answer),
            "n_turns": self._turn,
            **code,
        }

    def _stamp(self, child: Child) -> int:
        return int(child.cost.get("t", time.monotonic_ns()))

    def _raise(self, verdict: Verdict) -> None:
        if verdict.status == "answered":
            return
        about = {"driver": "agentcli", "run_id": self._run.run_id, "phase": "turn"}
        text = f"{self._agent.title} did not answer turn {self._turn}: {_word(verdict.reason)}"
        if verdict.status == "timeout":
            code = "turn_stalled" if verdict.reason == "stall" else "turn_timeout"
            raise DriverTimeout(text, code=code, **about)
        raise DriverError(text, code="turn_error", **about)

    def close(self) -> None:
        """Say what became of the run; its processes have ended."""
        if self._network is not None:
            self._network.on_lookup = None
        if self._id is None:
            self._open(self._reader.session or f"{self._agent.name}-1")
        for note in read_transcripts(self._agent.name, self._setup.home):
            self._emit(note.kind, time.monotonic_ns(), note.fields)
        result = {key: value for key, value in self._result.items() if value is not None}
        self._emit("result", time.monotonic_ns(), result)
        self._emit("session.close", time.monotonic_ns(), {"deleted": True})


def _word(said: str | None) -> str | None:
    return said if said is None or _WORD.fullmatch(said) else "other"
