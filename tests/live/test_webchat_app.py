"""Chat pages that are driven by their description: OpenChamber's names, and a page of one's own."""

import asyncio
import dataclasses
import gzip
import json
import os
import time

import pytest

from agentlab import ChatPage, Scenario, Timeouts, WebChat, record
from agentlab.drivers.webchat import HttpApi
from agentlab.wire.cdp.connection import Connection
from tests.live.chat_lookalike import ANSWER, Lookalike
from tests.live.second_client import browser_processes, devtools, page_of, targets

pytestmark = pytest.mark.timeout(120)


MINE = ChatPage(
    name="mine",
    address="{url}/chat/{session}",
    composer="textarea",
    answer='[data-message-role="assistant"]',
    stream="/api/global/event",
    api=HttpApi(
        create="POST /chats", send="POST /chats/{session}", status="GET /chats/{session}",
        delete="DELETE /chats/{session}", read="GET /chats/{session}/last",
    ),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _needs_chromium(chromium_executable):
    """All of it happens in a real browser."""


def events(recs, kind=None):
    found = []
    for file in sorted(recs.path.glob("runs/*/events.jsonl")):
        found += map(json.loads, file.read_text().splitlines())
    return [event for event in found if kind is None or event["kind"] == kind]


async def recorded(driver, folder, *turns, start_s=20):
    scenario = Scenario("app", turns=turns, timeouts=Timeouts(start=start_s, prompt=30))
    running = record(scenario, {"a": driver}, runs=1, to=folder, host="inline", progress="none", quiet=None)
    return await running


async def test_openchamber_is_driven_by_its_command_line(tmp_path, monkeypatch):
    async with Lookalike().running(tmp_path) as app:
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        driver = WebChat(
            "lab/fox",
            page="openchamber",
            url=app.url,
            directory="/a project",
            agent="plan",
            preset="original",
        )
        recs = await recorded(driver, tmp_path / "study", "Tell me of foxes.")
    assert list(recs.issues["code"]) == ["foreign_server"] and recs.runs["eligible"].all()
    create, send = app.asked[0], next(a for a in app.asked if a["action"] == "send")
    assert create["dir"] == "/a project" and create["title"] == "agentlab: app"
    assert (send["model"], send["agent"], send["prompt"]) == ("lab/fox", "plan", "Tell me of foxes.")
    assert send["port"] == app.url.rpartition(":")[2] and send["session"] == "ses_0"
    [text] = events(recs, "page.text")
    assert text["n_chars"] == len(ANSWER) > 4000 and text["n_growths"] > 20 and text["n_messages"] == 2
    [counters] = events(recs, "page.app_counters")
    by_name = {entry["metric"]: entry for entry in counters["entries"]}
    assert by_name["ui.message_list.render"]["count"] > 100 and by_name["sync.event"]["count"] == 1
    assert {e["name"]: e["passed"] for e in events(recs, "page.gate")} == {
        e["name"]: True for e in events(recs, "page.gate")
    }
    assert recs.turns["ended"].tolist() == ["complete"] and recs.turns["latency_ms"].notna().all()
    [reply] = events(recs, "turn.reply")
    assert reply["text_chars"] == len("".join(ANSWER.split()))
    assert "foxes" not in json.dumps(events(recs))


async def test_a_refused_prompt_keeps_what_there_is(tmp_path, monkeypatch):
    async with Lookalike().running(tmp_path) as app:
        app.refuse = True
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        driver = WebChat("lab/fox", page="openchamber", url=app.url, directory="/a", session="ses_7")
        recs = await recorded(driver, tmp_path / "study", "Tell me of foxes.")
    assert {"app_error", "page_not_idle"} <= set(recs.issues["code"])
    assert recs.runs["status"].tolist() == ["failed"]
    [file] = events(recs, "page.file")
    assert file["complete"] and events(recs, "page.window") and events(recs, "page.sample")
    assert all(a["action"] != "create" for a in app.asked)  # the session that was named


async def test_a_page_that_is_opened_again_in_mid_answer_proves_nothing(tmp_path):
    again = (
        "setInterval(() => { if (sessionStorage.again || !document.querySelector('article')) return;"
        " sessionStorage.again = 1; location.reload(); }, 20)"
    )
    page = dataclasses.replace(MINE, prepare=again)
    async with Lookalike().running(tmp_path) as app:
        recs = await recorded(WebChat("lab/fox", page=page, url=app.url), tmp_path / "study", "Foxes.")
    assert "page_wrong_address" in recs.issues.query("discard")["code"].tolist()
    assert recs.runs["status"].tolist() == ["complete"] and not recs.runs["eligible"].any()
    [file] = events(recs, "page.file")
    assert file["complete"] and events(recs, "page.window")


async def test_the_clock_and_the_address_are_those_of_the_document_that_is_recorded(tmp_path):
    again = (
        "addEventListener('load', () => setTimeout(() => {"
        " if (!sessionStorage.again) { sessionStorage.again = 1; location.reload(); } }, 500));"
    )
    async with Lookalike().running(tmp_path) as app:
        page = dataclasses.replace(MINE, prepare=again)
        recs = await recorded(WebChat("lab/fox", page=page, url=app.url), tmp_path / "a", "Foxes.")
        traced = json.loads(gzip.decompress(trace_of(recs).read_bytes()))["traceEvents"]
        [mark] = [e for e in traced if e["name"] == "agentlab:begin"]
        [window] = events(recs, "page.window")
        assert recs.runs["eligible"].all() and abs(mark["ts"] * 1000 - window["begin_ns"]) < 1e6

        leaving = "setInterval(() => history.replaceState({}, '', '/else/11'), 20);"
        page = dataclasses.replace(MINE, prepare=leaving)
        app.first = 1  # an id that stands in the server's address too
        recs = await recorded(WebChat("lab/fox", page=page, url=app.url), tmp_path / "b", "Foxes.")
        assert recs.issues.query("discard")["code"].tolist() == ["page_wrong_address"]


async def test_a_stream_that_never_opens(tmp_path):
    page = dataclasses.replace(MINE, stream="/no/such/stream")
    async with Lookalike().running(tmp_path) as app:
        driver = WebChat("lab/fox", page=page, url=app.url)
        recs = await recorded(driver, tmp_path / "study", "Foxes.", start_s=3)
    assert recs.issues.query("discard")["code"].tolist() == ["page_stream_closed"]
    assert not events(recs, "turn.send") and not app.asked


@pytest.mark.parametrize("how", ["killed", "frozen"])
async def test_a_browser_that_is_gone_and_a_page_that_is_not_drawn(how, tmp_path):
    async def disturb() -> None:
        moment = '"at":"run"' if how == "killed" else '"page.file"'  # in mid-answer, or after the window
        while not any(moment in f.read_text() for f in tmp_path.glob("study/runs/*/events.jsonl")):
            await asyncio.sleep(0.02)
        if how == "killed":
            browser_processes()[0].kill()
            return
        browser = await Connection.open(await devtools())
        page = await page_of((await targets(browser))[0])
        await page.call("Page.setWebLifecycleState", {"state": "frozen"})
        await page.close()
        await browser.close()

    async with Lookalike().running(tmp_path) as app:
        app.pieces, app.pause_s = 150, 0.015
        driver = WebChat("lab/fox", page=MINE, url=app.url)
        disturbing = asyncio.create_task(disturb())
        recs = await recorded(driver, tmp_path / "study", "Foxes.")
        await disturbing
    codes = set(recs.issues.query("discard")["code"])
    [file] = events(recs, "page.file")
    if how == "killed":
        assert {"browser_gone", "trace_incomplete"} <= codes and not file["complete"] and file["reason"]
        assert json.loads(gzip.decompress(trace_of(recs).read_bytes())) == {"traceEvents": []}
    else:
        assert codes == {"page_frames_dead"} and file["complete"]
    assert events(recs, "page.window") and events(recs, "page.sample")


def trace_of(recs):
    [file] = recs.path.glob("runs/*/trace.json.gz")
    return file


async def test_a_page_of_ones_own_and_an_answer_too_short_to_be_seen_busy(tmp_path):
    async with Lookalike().running(tmp_path) as app:
        app.pieces, app.pause_s = 3, 0.001
        driver, began = WebChat("lab/fox", page=MINE, url=app.url), time.monotonic()
        recs = await recorded(driver, tmp_path / "study", "One.", 'Two "2".')
    assert time.monotonic() - began < 40 and app.deleted == ["ses_0"]
    assert [asked["text"] for asked in app.asked] == ["One.", 'Two "2".']
    assert recs.runs["eligible"].all() and len(recs.turns) == 2
    assert events(recs, "session.close")[0]["deleted"] is True
    assert not browser_processes()
