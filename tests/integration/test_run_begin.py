"""An agent that asks its model already while its session opens: the driver says from when on that counts."""

import contextlib
import dataclasses

import httpx
import pytest

import agentlab as al
from agentlab.drivers.base import Identity


@dataclasses.dataclass(frozen=True)
class Early:
    """A driver whose sessions ask once for warm-up, once more while they open, and once a prompt."""

    says: bool

    def identify(self):
        """Say what is measured."""
        return Identity(driver="early", version="1", model="lab/m", settings={"says": self.says})

    @contextlib.asynccontextmanager
    async def open(self, arm):
        """Open the arm."""
        self_, gateway = self, arm.gateway

        class Opened:
            @contextlib.asynccontextmanager
            async def session(self, run):
                await ask(gateway, f"warm-{run.run_id}")
                if self_.says:
                    await run.begin()
                await ask(gateway, run.run_id)
                run.emit("session.open", session=run.run_id, role="main")
                yield Session(gateway, run)

        yield Opened()


@dataclasses.dataclass
class Session:
    """Ask once for each prompt."""

    gateway: object
    run: object

    async def prompt(self, text):
        """Ask."""
        await ask(self.gateway, self.run.run_id)


async def ask(gateway, session):
    headers = {"authorization": f"Bearer {gateway.token}", "x-session-id": session}
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    async with httpx.AsyncClient(headers=headers) as client:
        reply = await client.post(f"{gateway.base_url('chat')}/chat/completions", json=body)
    assert reply.status_code == 200


@pytest.mark.parametrize(("says", "n_requests"), [(False, 0), (True, 2)])
async def test_what_is_asked_after_begin_is_the_runs_own(says, n_requests, tmp_path):
    script = al.ScriptedModel([al.Step(text="hello")] * 20)
    recs = await al.record(
        al.Scenario("early", turns=["x"]),
        Early(says),
        runs=2,
        to=tmp_path / "s",
        gateway=al.Gateway(script),
        host="inline",
        quiet=None,
        progress="none",
    )
    # A session that was first seen before its run is warm-up, for ever.
    assert recs.runs["status"].tolist() == ["complete"] * 2
    assert len(recs.requests) == 2 * n_requests
