"""Where a plugin's failure is told, read to the end; against a few routes that say what the test wants.

It cannot show that OpenCode tells it there: tests/live/test_opencode_arms.py does.
"""

import asyncio
import contextlib
import json

import pytest
import pytest_asyncio
from aiohttp import web

from agentlab.agents.plugins import find_plugin
from agentlab.drivers.opencode import boot as module
from agentlab.drivers.opencode.api import Api
from agentlab.errors import AgentExited, StartupError

INIT = "timestamp=x level=INFO run=1 message=init\n"
FAILED = (
    'timestamp=x level=ERROR run=1 message="failed to load plugin" path=file:///p.js error="no function"\n'
)


class Fake:
    """A server whose boot tells ``events`` and writes ``log``."""

    def __init__(self, home):
        self.home = home
        self.events = []
        self.log = INIT
        self.shows_session = True
        self.stream = None
        self.sessions = []

    async def events_route(self, request):
        """Stream."""
        self.stream = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await self.stream.prepare(request)
        with contextlib.suppress(ConnectionError):
            await asyncio.sleep(60)
        return self.stream

    async def send(self, kind, properties):
        """Send one event."""
        event = {"payload": {"type": kind, "properties": properties}}
        await self.stream.write(b"data: " + json.dumps(event).encode() + b"\n\n")

    async def agents(self, _request):
        """Boot."""
        for properties in self.events:
            await self.send("session.error", properties)
        folder = self.home / ".local" / "share" / "opencode" / "log"
        folder.mkdir(parents=True)
        (folder / "opencode.log").write_text(self.log)
        return web.json_response([])

    async def create(self, _request):
        """Make a session."""
        self.sessions.append("ses_1")
        if self.shows_session:
            await self.send("session.created", {"info": {"id": "ses_1"}})
        return web.json_response({"id": "ses_1"})

    async def delete(self, request):
        """Delete it."""
        self.sessions.remove(request.match_info["id"])
        return web.json_response(True)


@pytest_asyncio.fixture
async def fake(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_PROOF_S", 0.3)
    fake = Fake(tmp_path / "home")
    app = web.Application()
    app.add_routes(
        [
            web.get("/global/event", fake.events_route),
            web.get("/agent", fake.agents),
            web.post("/session", fake.create),
            web.delete("/session/{id}", fake.delete),
        ]
    )
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    fake.api = Api(f"http://127.0.0.1:{runner.addresses[0][1]}")
    yield fake
    await fake.api.close()
    await runner.cleanup()


async def boot(fake, plugins=()):
    try:
        return await module.boot(fake.api, fake.home, plugins, 5.0)
    finally:
        assert fake.sessions == []


async def test_both_places_read_to_the_end_are_proof(fake):
    assert await boot(fake) is True


@pytest.mark.parametrize("change", [{"log": ""}, {"shows_session": False}], ids=str)
async def test_a_place_that_cannot_be_read_to_the_end_is_none(fake, change):
    vars(fake).update(change)
    assert await boot(fake) is False


async def test_failures_of_both_places_are_told_together_without_the_users_folders(fake, tmp_path):
    (tmp_path / "mine.js").touch()
    message = f"Failed to load plugin {(tmp_path / 'mine.js').as_uri()}: Unexpected =>"
    fake.events = [{"error": {"name": "UnknownError", "data": {"message": message}}}]
    fake.log = FAILED + INIT
    with pytest.raises(
        StartupError, match=r"mine\.js: Unexpected =>; file:///p\.js: .*no function"
    ) as caught:
        await boot(fake, [find_plugin(tmp_path / "mine.js")])
    assert caught.value.code == "plugin_failed" and str(tmp_path) not in str(caught.value)


async def test_an_error_of_a_session_is_no_plugins(fake):
    fake.events = [{"sessionID": "ses_9", "error": {"name": "UnknownError"}}, {"error": None}]
    with pytest.raises(StartupError, match="did not load a plugin: no reason given"):
        await boot(fake)
    fake.events.pop()
    fake.home = fake.home / "again"
    assert await boot(fake) is True


async def test_a_server_that_is_away_is_no_plugins_failure(tmp_path):
    api = Api("http://127.0.0.1:9")
    with pytest.raises((StartupError, AgentExited)) as caught:
        await module.boot(api, tmp_path, (), 1.0)
    assert getattr(caught.value, "code", None) != "plugin_failed"
    await api.close()
