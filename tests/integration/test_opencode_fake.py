"""The driver's behaviour where the real OpenCode cannot be made to misbehave; against :class:`Fake`."""

import asyncio
import contextlib
import dataclasses
import itertools
import json
import ssl
import time
from typing import Any
from unittest.mock import ANY

import pytest
import pytest_asyncio
from aiohttp import web

from agentlab import OpenCode, Scenario, Timeouts, load
from agentlab.drivers.opencode.api import Api
from agentlab.drivers.opencode.session import create_session, open_session
from agentlab.drivers.opencode.stream import Stream
from agentlab.engine.runlog import RunLog
from agentlab.engine.slots import Slot
from agentlab.engine.study import Study, prepare
from agentlab.errors import AgentExited, DriverError, DriverTimeout
from agentlab.importers.discard_texts import to_text
from agentlab.redact import Redactor

SCENARIO = Scenario("fake", turns=["x"], timeouts=Timeouts(start=2, prompt=5, stall=2, cleanup=2))
_ids = itertools.count()


class Fake:
    """A few routes of OpenCode's server whose turns are functions of the test.

    It shows how the driver takes events and replies that are cut, repeated, wrapped, late or strange. It
    cannot show that OpenCode sends them so, nor anything about its timing, its ids' clock, its loop of model
    requests, or the order in which it really emits.
    """

    def __init__(self, turn):
        self.turn = turn
        self.sessions: dict[str, dict[str, Any]] = {}
        self.busy: set[str] = set()
        self.calls: list[str] = []
        self.history: list[dict[str, Any]] = []
        self.streams: set[web.StreamResponse] = set()
        self.end = b"\n\n"
        self.on_create = None
        self.create_after_s = 0.0
        self.refusals: list[int] = []
        self.seen: list[tuple[str, list[str], str | None]] = []
        app = web.Application(middlewares=[self._watch])
        app.add_routes(
            [
                web.get("/event", self._events),
                web.get("/session", self._list),
                web.post("/session", self._create),
                web.get("/session/status", self._status),
                web.get("/session/{id}", self._about),
                web.delete("/session/{id}", self._delete),
                web.get("/session/{id}/message", self._messages),
                web.post("/session/{id}/message", self._prompt),
                web.post("/session/{id}/abort", self._abort),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    async def __aenter__(self):
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_):
        await self._runner.cleanup()

    async def send(self, raw: bytes) -> None:
        for stream in list(self.streams):
            await stream.write(raw)

    async def event(self, kind, properties, *, wrap=False, number=None):
        now = (int(time.time() * 1000) << 12) & (2**48 - 1)
        number = f"evt_{now:012x}{next(_ids):014d}" if number is None else number
        event: Any = {"id": number, "type": kind, "properties": properties}
        data = json.dumps({"payload": event} if wrap else event)
        await self.send(b"data: " + data.encode() + self.end)

    async def user(self, session, message, **how):
        info = {"id": message, "sessionID": session, "role": "user", "time": {"created": _now()}}
        await self.event("message.updated", {"sessionID": session, "info": info}, **how)

    async def text(self, session, message, text, **how):
        where = {"sessionID": session, "messageID": f"{message}-a", "partID": f"{message}-p"}
        await self.event("message.part.delta", {**where, "field": "text", "delta": text}, **how)

    async def idle(self, session, **how):
        self.busy.discard(session)
        await self.event("session.idle", {"sessionID": session}, **how)

    def reply(self, session, message, text="fine", **changes):
        info = {
            "id": f"{message}-a",
            "sessionID": session,
            "role": "assistant",
            "parentID": message,
            "agent": "build",
            "providerID": "lab",
            "modelID": "m",
            "finish": "stop",
            "time": {"created": _now(), "completed": _now()},
            "tokens": {"total": 3, "input": 1, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}},
        } | changes
        entry = {"info": {k: v for k, v in info.items() if v is not None}, "parts": [_text_part(text)]}
        self.history.append(entry)
        return entry

    @web.middleware
    async def _watch(self, request, handler):
        headers = request.headers
        self.seen.append((request.path, headers.getall("X-Lab", []), headers.get("Authorization")))
        if self.refusals:
            return web.json_response({}, status=self.refusals.pop(0))
        return await handler(request)

    async def _events(self, request):
        stream = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await stream.prepare(request)
        await stream.write(b'data: {"type":"server.connected","properties":{}}' + self.end)
        self.streams.add(stream)
        with contextlib.suppress(ConnectionError):
            while stream in self.streams:
                await asyncio.sleep(0.02)
        self.streams.discard(stream)
        return stream

    async def _list(self, _request):
        return web.json_response(list(self.sessions.values()))

    async def _create(self, request):
        body = await request.json()
        session = f"ses_{len(self.sessions)}"
        if self.create_after_s:  # goes on when the client has given up
            asyncio.get_running_loop().call_later(
                self.create_after_s, self.sessions.__setitem__, session, {"id": session, **body}
            )
            await asyncio.sleep(60)
        self.sessions[session] = {"id": session, **body}
        if self.on_create is not None:
            await self.on_create(session)
        return web.json_response(self.sessions[session])

    async def _status(self, _request):
        return web.json_response({session: {"type": "busy"} for session in self.busy})

    async def _about(self, request):
        model = {"id": "m", "providerID": "lab"}
        return web.json_response({"id": request.match_info["id"], "agent": "build", "model": model})

    async def _delete(self, request):
        self.calls.append(f"DELETE {request.match_info['id']}")
        self.sessions.pop(request.match_info["id"], None)
        return web.json_response(True)

    async def _messages(self, _request):
        return web.json_response(self.history)

    async def _prompt(self, request):
        session, message = request.match_info["id"], (await request.json())["messageID"]
        self.busy.add(session)
        return web.json_response(await self.turn(self, session, message))

    async def _abort(self, request):
        self.calls.append(f"abort {request.match_info['id']}")
        self.busy.discard(request.match_info["id"])
        return web.json_response(True)


def _now():
    return int(time.time() * 1000)


def _text_part(text):
    return {"id": "prt_1", "type": "text", "text": text}


async def plain(fake, session, message, **how):
    """A turn as it should be."""
    await fake.user(session, message, **how)
    await fake.text(session, message, "fine", **how)
    await fake.idle(session, **how)
    return fake.reply(session, message)


@dataclasses.dataclass
class LabArm:
    """What the engine gives."""

    hurry: bool = False

    def own(self, pid: int) -> None:
        """Nothing samples its memory here."""


@dataclasses.dataclass
class Lab:
    """A fake, a driver pointed at it, and the recording of one run."""

    fake: Fake
    log: RunLog
    driver: OpenCode = dataclasses.field(default_factory=lambda: OpenCode("lab/m"))
    arm: LabArm = dataclasses.field(default_factory=LabArm)

    async def prompt(self, *texts):
        driver = self.driver
        api = Api(
            self.fake.url,
            auth=driver.auth,
            headers=tuple(driver.headers),
            retries=driver.retries,
            retry_delay_s=0.01,
        )
        try:
            async with open_session(self.driver, api, self.arm, self.log) as session:
                for text in texts:
                    await session.prompt(text)
        finally:
            await api.close()

    @property
    def codes(self):
        return {issue["code"]: issue["discard"] for issue in self.log.state["issues"]}

    def events(self, kind):
        lines = (self.log.folder / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["kind"] == kind]

    def tables(self):
        self.log.finish("complete")
        return load(self.log.folder.parent.parent)


@pytest.fixture
def keep(request):
    """What is stored."""
    return getattr(request, "param", "numbers")


@pytest_asyncio.fixture
async def lab(tmp_path, keep):
    driver = OpenCode("lab/m")
    study = Study(
        folder=tmp_path / "s", scenario=SCENARIO, arms={"a": driver}, runs=1, order="interleaved", seed=1
    )
    prepare(study, "resume")
    log = RunLog(
        study.folder / "runs" / "0000-a",
        Slot("a", 0, 0),
        sequence=0,
        scenario=SCENARIO,
        identity=driver.identify(),
        keep=keep,
        redactor=Redactor(),
    )
    async with Fake(plain) as fake:
        yield Lab(fake, log)


async def test_a_plain_turn_is_complete(lab):
    await lab.prompt("x", "y")
    assert lab.codes == {} and [e["reason"] for e in lab.events("turn.end")] == ["complete"] * 2
    assert lab.fake.calls == ["DELETE ses_0"]
    assert lab.tables().turns["ttft_ms"].notna().all()


@pytest.mark.parametrize(
    ("url", "calls"), [(None, []), ("http://127.0.0.1:9", ["abort ses_0", "DELETE ses_0"])]
)
async def test_in_a_hurry_only_a_server_that_stays_is_asked_to_delete(lab, url, calls):
    """One of our own is killed at once: on a busy machine its answer would take most of a Cancel."""

    async def turn(fake, session, message):
        lab.arm.hurry = True
        await fake.user(session, message)
        task.cancel()
        await asyncio.sleep(5)

    lab.fake.turn, lab.driver = turn, OpenCode("lab/m", url=url)
    task = asyncio.create_task(lab.prompt("x"))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert lab.fake.calls == calls and lab.codes == {}
    assert [event["deleted"] for event in lab.events("session.close")] == [bool(calls)]


async def test_a_stream_that_closes_in_mid_turn_discards_and_invents_nothing(lab):
    async def turn(fake, session, message):
        await fake.user(session, message)
        await asyncio.sleep(0.3)
        fake.streams.clear()
        await asyncio.sleep(2.7)
        return fake.reply(session, message)

    lab.fake.turn = turn
    started = time.monotonic()
    with pytest.raises(DriverError) as caught:
        await lab.prompt("x")
    assert caught.value.code == "stream_closed" and time.monotonic() - started < 2
    assert [e["reason"] for e in lab.events("turn.end")] == ["stream"]
    assert lab.fake.calls == ["abort ses_0", "DELETE ses_0"] and not lab.events("turn.reply")
    lab.log.issue("stream_closed", discard=True)  # as the engine does
    row = lab.tables().turns.iloc[0]
    assert row[["ttft_ms", "first_event_ms", "latency_ms", "idle_ms"]].isna().all()
    assert row["reason"] == "stream_closed" and not row["eligible"]


@pytest.mark.parametrize("same_id", [False, True])
async def test_the_same_part_two_hundred_times_is_one_part_and_no_activity(lab, same_id):
    async def turn(fake, session, message):
        await fake.user(session, message)
        part = {"id": "prt_9", "sessionID": session, "messageID": f"{message}-a", "type": "step-start"}
        for _ in range(201):
            number = "evt_000000000001same" if same_id else None
            await fake.event("message.part.updated", {"sessionID": session, "part": part}, number=number)
            await asyncio.sleep(0.001)
        await fake.idle(session)
        return fake.reply(session, message)

    lab.fake.turn = turn
    await lab.prompt("x")
    assert len(lab.events("step.begin")) == 1
    assert lab.events("stream.end")[0]["n_repeats"] == 200
    assert lab.tables().runs["n_repeats"].tolist() == [200]


async def test_repeats_do_not_hold_off_the_stall_timer(lab):
    async def turn(fake, session, message):
        await fake.user(session, message)
        part = {"id": "prt_9", "sessionID": session, "messageID": f"{message}-a", "type": "step-start"}
        info = {"id": f"{message}-a", "sessionID": session, "role": "assistant", "time": {}}
        for _ in range(400):
            await fake.event("message.part.updated", {"sessionID": session, "part": part})
            await fake.event("message.updated", {"sessionID": session, "info": info})
            await fake.event("session.status", {"sessionID": session, "status": {"type": "busy"}})
            await asyncio.sleep(0.01)
        return fake.reply(session, message)

    lab.fake.turn = turn
    with pytest.raises(DriverTimeout) as caught:
        await lab.prompt("x")
    assert caught.value.code == "turn_stalled"


@pytest.mark.parametrize("end", [b"\r\r", b"\r\n\r\n"])
async def test_frames_may_end_in_any_way(lab, end):
    lab.fake.end = end
    await lab.prompt("x")
    assert lab.codes == {} and sum(e["n_chars"] for e in lab.events("chunk")) == 4


async def test_a_payload_envelope_gives_the_same_rows(lab):
    async def turn(fake, session, message):
        return await plain(fake, session, message, wrap=True)

    lab.fake.turn = turn
    await lab.prompt("x")
    assert lab.codes == {} and len(lab.events("idle")) == 1


async def test_a_reply_without_a_parent_is_discarded_and_counted_once(lab):
    async def turn(fake, session, message):
        await plain(fake, session, message)
        fake.history.pop()
        return fake.reply(session, message, parentID=None)

    lab.fake.turn = turn
    await lab.prompt("x", "y")
    assert lab.codes == {"turn_unproven": True}
    assert [e["reason"] for e in lab.events("turn.end")] == ["error"] * 2
    recs = lab.tables()
    assert len(recs.requests) == 2 and not recs.turns["eligible"].any()


async def test_headers_and_credentials_go_with_every_request_the_same_name_also_twice(lab):
    headers = [("X-Lab", " one "), ("X-Lab", "two")]
    lab.driver = OpenCode("lab/m", url=lab.fake.url, auth=("u", "p"), headers=headers)
    await lab.prompt("x")
    assert lab.codes == {} and {path for path, *_ in lab.fake.seen} >= {"/event", "/session"}
    assert all(held == (["one", "two"], "Basic dTpw") for _, *rest in lab.fake.seen for held in [tuple(rest)])


async def test_over_tls_whom_the_user_trusts_is_trusted(lab, papers, monkeypatch):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(papers / "server.pem", papers / "server.key")
    await web.TCPSite(lab.fake._runner, "127.0.0.1", 0, ssl_context=context).start()
    plain_url, port = lab.fake.url, lab.fake._runner.addresses[-1][1]
    lab.fake.url = f"https://127.0.0.1:{port}"
    api = Api(lab.fake.url)
    with pytest.raises(AgentExited, match=r"its certificate is not trusted \(.*SSL_CERT_FILE can name"):
        await api.call("GET", "/session")
    await api.close()
    monkeypatch.setenv("SSL_CERT_FILE", str(papers / "ca.pem"))
    await lab.prompt("x")  # calls and events
    assert lab.codes == {} and len(lab.events("idle")) == 1
    api = Api(plain_url.replace("http:", "https:"))
    with pytest.raises(AgentExited, match=r"no TLS connection can be made .*plain http"):
        await api.call("GET", "/session")
    await api.close()


async def test_reads_are_repeated_and_a_creation_only_when_it_was_refused(lab):
    api = Api(lab.fake.url, retries=2, retry_delay_s=0.01)
    lab.fake.refusals = [502, 429]
    assert await api.call("GET", "/session") == ([], ANY)
    lab.fake.refusals = [503]
    assert (await api.call("POST", "/session", {}))[0]["id"] == "ses_0"
    paths = [path for path, *_ in lab.fake.seen]
    assert paths == ["/session"] * 5
    for method, route, status in (
        ("POST", "/session", 500),  # a session may have been made
        ("POST", "/session/ses_0/message", 503),
        ("GET", "/session/ses_0", 404),
        ("DELETE", "/session/ses_0", 503),
    ):
        lab.fake.seen.clear()
        lab.fake.refusals = [status]
        with pytest.raises(DriverError, match=f"HTTP {status}"):
            await api.call(method, route, {} if method == "POST" else None)
        assert len(lab.fake.seen) == 1
    lab.fake.refusals = [500, 500, 500]
    with pytest.raises(DriverError, match="HTTP 500"):
        await api.call("GET", "/session")
    assert lab.fake.refusals == []
    await api.close()


@pytest.mark.parametrize(("method", "tries"), [("GET", 3), ("POST", 3), ("DELETE", 1)])
async def test_a_server_that_is_away_is_asked_again_for_what_does_nothing_twice(method, tries, monkeypatch):
    api = Api("http://127.0.0.1:9", retries=2, retry_delay_s=0.01)
    made = []
    real = api._client.request

    async def counted(*arguments, **more):
        made.append(arguments)
        return await real(*arguments, **more)

    monkeypatch.setattr(api._client, "request", counted)
    with pytest.raises(AgentExited):
        await api.call(method, "/session", {} if method == "POST" else None)
    assert len(made) == tries
    await api.close()


async def test_a_server_that_answers_byte_by_byte_for_ever_is_late():
    async def drip(reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)

    async with await asyncio.start_server(drip, "127.0.0.1", 0) as server:
        api = Api(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", retries=2)
        async with asyncio.timeout(5):
            with pytest.raises(DriverTimeout, match=r"GET /global/health: no answer within 0\.2 s"):
                await api.call("GET", "/global/health", timeout_s=0.2)
        await api.close()
        await asyncio.sleep(0.1)  # the server notices


async def test_a_creation_without_an_id_is_told_in_the_words_of_the_original(lab):
    api = Api(lab.fake.url)
    lab.fake.refusals = [200]  # with an empty object
    with pytest.raises(DriverError) as caught:
        await create_session(OpenCode("lab/m"), api, 1)
    assert to_text(str(caught.value.code), str(caught.value)) == "POST /session returned no session id"
    await api.close()


async def test_a_creation_that_stalls_leaves_no_session_and_touches_no_other(lab):
    async def stall(session):
        lab.fake.sessions["ses_other"] = {"id": "ses_other", "title": "agentlab"}  # another client's
        await asyncio.sleep(4)

    lab.fake.on_create = stall
    with pytest.raises(DriverTimeout) as caught:
        await lab.prompt("x")
    assert caught.value.code == "orphan_session"
    assert set(lab.fake.sessions) == {"ses_other"}


async def test_a_session_that_is_made_after_its_creation_was_given_up_is_found(lab):
    lab.fake.create_after_s = 3.0
    with pytest.raises(DriverTimeout) as caught:
        await lab.prompt("x")
    assert caught.value.code == "orphan_session" and lab.fake.sessions == {}


async def test_a_creation_that_fails_after_the_session_was_made_leaves_none(lab):
    async def fail(_session):
        raise web.HTTPInternalServerError

    lab.fake.on_create = fail
    with pytest.raises(DriverError, match="HTTP 500") as caught:
        await lab.prompt("x")
    assert caught.value.code == "orphan_session" and lab.fake.sessions == {}


async def test_cancelling_a_creation_leaves_no_session(lab):
    created = asyncio.Event()

    async def stall(_session):
        created.set()
        await asyncio.sleep(4)

    lab.fake.on_create = stall
    task = asyncio.create_task(lab.prompt("x"))
    await created.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert lab.fake.sessions == {}


async def test_a_late_idle_of_the_turn_before_ends_nothing(lab):
    late = asyncio.Event()

    async def turn(fake, session, message):
        if not late.is_set():
            late.set()
            return await plain(fake, session, message)
        await fake.event("session.idle", {"sessionID": session})  # once more, as after an error
        reply = fake.reply(session, message)
        asyncio.get_running_loop().create_task(rest(fake, session, message))
        return reply

    async def rest(fake, session, message):
        await asyncio.sleep(0.6)
        await fake.user(session, message)
        await fake.text(session, message, "fine")
        await fake.idle(session)

    lab.fake.turn = turn
    await lab.prompt("x", "y")
    assert lab.codes == {}
    sent, ended = lab.events("turn.send")[1]["t"], lab.events("turn.end")[1]["t"]
    assert ended - sent > 0.6e9
    assert len([e for e in lab.events("chunk") if sent < e["t"] < ended]) == 1


STRANGE = [
    {"properties": [1]},
    {"properties": "text"},
    {"properties": {"sessionID": 7}},
    {"properties": {"sessionID": ["x"]}},
    {"type": "session.created", "properties": {"info": None}},
    {"type": "session.created", "properties": {"info": {"parentID": ["x"]}}},
    {"type": "message.part.updated", "properties": {"part": "x"}},
    {"type": ["x"], "properties": {}},
    {"id": {"x": 1}, "properties": {}},
    {"id": 7, "properties": {}},
]


@pytest.mark.parametrize("strange", STRANGE, ids=str)
async def test_strange_events_of_others_change_nothing(lab, strange):
    async def turn(fake, session, message):
        await fake.send(b"data: " + json.dumps({"id": "evt_1", "type": "x", **strange}).encode() + b"\n\n")
        return await plain(fake, session, message)

    lab.fake.turn = turn
    await lab.prompt("x")
    assert not {"turn_stalled", "idle_missing", "driver_error"} & set(lab.codes)
    assert len(lab.events("chunk")) == 1 and lab.events("turn.end")[0]["reason"] == "complete"


OWN = [
    ("message.part.updated", {"part": None}),
    ("message.part.updated", {"part": {"id": "p", "type": "tool", "state": "x"}}),
    ("message.part.delta", {"partID": "p", "delta": 7}),
    ("message.updated", {"info": {}}),
    ("session.status", {}),
    ("session.created", {"info": {"parentID": "ses_0"}}),
    ("permission.asked", {}),
    ("session.error", {"error": "text"}),
]


@pytest.mark.parametrize(("kind", "properties"), OWN, ids=str)
async def test_strange_events_of_the_run_are_named_and_end_nothing(lab, kind, properties):
    async def turn(fake, session, message):
        await fake.event(kind, {"sessionID": session, **properties})
        return await plain(fake, session, message)

    lab.fake.turn = turn
    await lab.prompt("x")
    assert lab.codes == {"stream_malformed": True}
    assert len(lab.events("chunk")) == 1 and lab.events("turn.end")[0]["reason"] == "complete"


async def test_a_tool_without_a_name_is_kept_and_meets_no_requirement(lab):
    async def turn(fake, session, message):
        part = {
            "id": "p",
            "sessionID": session,
            "callID": "c",
            "type": "tool",
            "state": {"status": "completed"},
        }
        await fake.event("message.part.updated", {"sessionID": session, "part": part})
        return await plain(fake, session, message)

    lab.fake.turn = turn
    await lab.prompt("x")
    assert lab.codes == {} and len(lab.events("chunk")) == 1
    assert lab.tables().tools["name"].isna().all()


@pytest.mark.parametrize("keep", ["numbers", "content"], indirect=True)
async def test_a_character_that_the_model_cut_in_two_is_text(lab, keep):
    async def turn(fake, session, message):
        await fake.user(session, message)
        for half in ("\ud83d", "\ude00"):
            await fake.text(session, message, half)
        await fake.idle(session)
        return fake.reply(session, message, "\ud83d")

    lab.fake.turn = turn
    await lab.prompt("x")
    assert lab.codes == {} and lab.events("turn.end")[0]["reason"] == "complete"
    sizes = [(e["n_chars"], e["n_bytes"], e.get("content")) for e in lab.events("chunk")]
    assert sizes == [(1, 3, {"text": "\ufffd"} if keep == "content" else None)] * 2


async def test_a_line_that_is_no_json_discards_whoevers_it_is(lab):
    async def turn(fake, session, message):
        await fake.send(b"data: {not json\n\n")
        return await plain(fake, session, message)

    lab.fake.turn = turn
    await lab.prompt("x")
    assert lab.codes == {"stream_malformed": True}


async def test_bytes_without_an_event_are_told(lab):
    api = Api(lab.fake.url)
    async with Stream(api, lab.log, lambda *_: None):
        pass
    await api.close()
    assert lab.codes == {} and lab.events("stream.end")[0]["n_events"] == 1
