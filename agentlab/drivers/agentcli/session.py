"""One run of a command-line agent: its turns, and what is recorded of them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ...agents.base import Agent, Ask, Outcome, Setup, write_private
from ...agents.transcripts import read_transcripts
from ...errors import DriverError, DriverTimeout, GatewayError
from ...wire.children import Child, Children
from ...wire.jsonl import JSONLines, Record
from ..base import LiveGateway, Run
from .evidence import Evidence, word
from .network import Loopback
from .process import Watch, follow
from .stdout import Stdout
from .verdict import Cut, Verdict, doubts, judge

#: Linux passes at most 128 KiB in one argument.
_MAX_ARGUMENT_BYTES = 128 * 1024 - 1


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
        self._evidence = Evidence(run, setup.token)
        folder = run.content_folder
        self._stdout = Stdout(None if folder is None else folder / "stdout.jsonl", setup.token)
        self._result: dict[str, Any] = {"status": "stopped", "reason": "no_turn"}
        if network is not None:
            network.on_lookup = self._evidence.lookup

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
        GatewayError
            The gateway is gone.
        """
        evidence = self._evidence
        evidence.begin_turn()
        self._result = {"status": "error", "reason": "driver_error", "n_turns": evidence.turn}
        argv, file = self._command(text)
        self._reader.begin(evidence.turn)
        sent = time.monotonic_ns()
        size = {"n_chars": len(text), "n_bytes": len(text.encode())}
        name = f"turn-{evidence.turn}"
        evidence.emit("turn.send", sent, {"text": text}, turn=evidence.turn, message=name, **size)
        errors = self._setup.home / f"stderr-{evidence.turn}"
        child = await self._children.spawn(
            argv,
            env=self._environment,
            cwd=self._setup.workspace,
            stdin="null" if file is None else file,
            stdout="pipe",
            stderr=errors,
        )
        watch = Watch(child, outward=self._network is None)
        evidence.emit("process.begin", watch.samples[0][0], turn=evidence.turn, n_arguments=len(argv))
        lines, kept_at = JSONLines(), self._stdout.begin()
        sampling = asyncio.create_task(watch.run())
        try:
            cut = await follow(
                child,
                lines,
                self._on_record,
                keep=self._stdout.write,
                timeouts=self._run.scenario.timeouts,
                busy_since=self._gateway.quiet_s if self._gateway else lambda: float("inf"),
            )
        except (asyncio.CancelledError, GatewayError) as error:
            self._name_session([])
            why = "gateway_gone" if isinstance(error, GatewayError) else "cancelled"
            self._finish(Verdict("stopped", why), Outcome(), child)
            raise
        finally:
            sampling.cancel()
            self._stdout.end()
            evidence.output(lines, errors, kept_at)
        await self._conclude(child, watch, cut, sent)

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
        turn, session = self._evidence.turn, self._reader.session
        argv = agent.argv(self._setup, Ask(text=text, file=file, turn=turn, session=session))
        if any(self._setup.token in argument for argument in argv):
            raise DriverError("a flag holds the gateway's token", driver="agentcli", phase="turn")
        if self._network is not None:
            argv = self._network.inside(argv)
        return argv, file if agent.stdin else None

    def _on_record(self, record: Record) -> None:
        unix_ms = (time.time_ns() - (time.monotonic_ns() - record.t)) / 1e6
        for note in self._reader.read(record.data, unix_ms=unix_ms):
            self._evidence.note(note, record.t)
        if self._reader.session is not None:
            self._evidence.open(self._reader.session)

    async def _conclude(self, child: Child, watch: Watch, cut: Cut | None, sent: int) -> None:
        evidence, over = self._evidence, _stamp(child)
        watch.end(over, child.cost.get("cpu_s"))
        for note in self._reader.finish(self._setup):
            evidence.note(note, over)
        requests: list[dict[str, Any]] = []
        ending = None
        if self._gateway is not None:
            await self._gateway.sync()
            requests = [row for row in self._gateway.of_run() if row["t_begin"] >= sent]
            ending = self._gateway.endings.get(self._run.run_id)
        self._name_session(requests)
        summed_up = any(row.get("chain") == "compaction" and row.get("terminal_seen") for row in requests)
        if evidence.compacted or summed_up:  # not every agent says so, and Pi may end before it does
            self._run.issue("compaction")
        outcome = self._reader.outcome()
        verdict = judge(outcome, ending=ending, cut=cut, exit_code=child.returncode, requests=requests)
        evidence.first_request(watch, requests)
        evidence.outward(watch, "open" if self._network is None else "loopback")
        self._finish(verdict, outcome, child, n_processes=watch.n_processes)
        if verdict.status == "answered" and self._gateway is not None:
            for code, detail in doubts(requests, retried=evidence.retried):
                self._run.issue(code, detail, discard=True)
        self._raise(verdict)

    def _name_session(self, requests: list[dict[str, Any]]) -> None:
        """Give the session a name: the agent's own, else that of its requests, else one of ours."""
        named = [row["session"] for row in requests if row.get("session")]
        self._evidence.open(self._reader.session or (named[0] if named else f"{self._agent.name}-1"))

    def _finish(
        self, verdict: Verdict, outcome: Outcome, child: Child, *, n_processes: int | None = None
    ) -> None:
        evidence, over, turn = self._evidence, _stamp(child), self._evidence.turn
        code = {} if child.returncode is None else {"exit_code": child.returncode}
        if child.cost or code:
            cost = {key: child.cost[key] for key in ("cpu_s", "max_rss_bytes") if key in child.cost}
            evidence.emit("process.end", over, turn=turn, n_processes=n_processes, **code, **cost)
        stop = word(outcome.stop)
        fields = {
            "finish": stop,
            "error": None if verdict.status == "answered" else word(verdict.reason),
            "text_chars": len("".join(outcome.answer.split())),
            "source": "process",
        }
        if verdict.status != "stopped":
            known = {key: value for key, value in fields.items() if value is not None}
            content = {"text": outcome.answer, "reason": outcome.reason}
            evidence.emit("turn.reply", over, content, turn=turn, **known)
        if verdict.status == "answered":
            evidence.emit("idle", over)
        evidence.emit("turn.end", turn=turn, reason=verdict.ended, status=verdict.status)
        self._result = {
            "status": verdict.status,
            "reason": word(verdict.reason),
            "stop": stop,
            "answer_chars": len(outcome.answer),
            "n_turns": turn,
            **code,
        }

    def _raise(self, verdict: Verdict) -> None:
        if verdict.status == "answered":
            return
        about = {"driver": "agentcli", "run_id": self._run.run_id, "phase": "turn"}
        turn = self._evidence.turn
        text = f"{self._agent.title} did not answer turn {turn}: {word(verdict.reason)}"
        if verdict.status == "timeout":
            code = "turn_stalled" if verdict.reason == "stall" else "turn_timeout"
            raise DriverTimeout(text, code=code, **about)
        raise DriverError(text, code="turn_error", **about)

    def close(self) -> None:
        """Say what became of the run; its processes have ended."""
        self._stdout.close()
        if self._network is not None:
            self._network.on_lookup = None
        evidence = self._evidence
        self._name_session([])
        for note in read_transcripts(self._agent.name, self._setup.home):
            evidence.emit(note.kind, **note.fields)
        evidence.emit("result", **{key: value for key, value in self._result.items() if value is not None})
        evidence.emit("session.close", deleted=True)


def _stamp(child: Child) -> int:
    return int(child.cost.get("t", time.monotonic_ns()))
