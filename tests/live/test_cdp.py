"""A real Chromium: commands, events, crashes, workers, traces, and that nothing of it stays."""

import asyncio
import contextlib
import gzip
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import tracemalloc
import warnings
from pathlib import Path

import psutil
import pytest

from agentlab.errors import BrowserGone, ConfigError, DriverTimeout, StartupError
from agentlab.wire.cdp import (
    CommandFailed,
    ScriptFailed,
    end_profile,
    end_trace,
    launch,
    start_profile,
    start_trace,
)
from agentlab.wire.cdp.browser import _owner
from agentlab.wire.children import Children
from agentlab.wire.watchdog import descendants
from tests.waiting import wait_until

CATEGORIES = ("devtools.timeline", "disabled-by-default-devtools.timeline", "blink.user_timing")


@contextlib.asynccontextmanager
async def browsing(**options):
    async with Children() as children, launch(children, **options) as browser:
        yield browser, children


@contextlib.asynccontextmanager
async def paging(**options):
    async with browsing(**options) as (browser, _), await browser.page() as page:
        yield page


def free_port():
    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))
        return used.getsockname()[1]


def threads():
    return [t for t in threading.enumerate() if t.name == "agentlab-cdp"]


async def test_everything_of_it_is_gone_at_the_end():
    async with browsing() as (browser, children):
        assert browser.version.startswith("Chrome/")
        async with await browser.page() as page:
            assert await page.evaluate("[innerWidth, document.visibilityState]") == [1600, "visible"]
            processes = [psutil.Process(pid) for pid in descendants(children.pid)]
            profiles = [word for word in processes[0].cmdline() if word.startswith("--user-data-dir=")]
            assert len(threads()) == 2
        assert len(threads()) == 1
    assert not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)
    assert profiles and not Path(profiles[0].partition("=")[2]).exists() and threads() == []


async def test_scripts_and_refusals(monkeypatch, capfd):
    monkeypatch.setenv("DEBUG", "1")
    async with paging() as page:
        assert await page.evaluate("Promise.resolve({a: '\\u2028'})") == {"a": "\u2028"}
        assert await page.evaluate("undefined") is None
        with pytest.raises(ScriptFailed, match="ReferenceError: nothing"):
            await page.evaluate("nothing")
        with pytest.raises(ScriptFailed, match="threw: why"):
            await page.evaluate("(() => {throw 'why'})()")
        cut = "({['\\u{1f600}'.slice(1)]: 'a\\u{1f600}'.slice(0, 2), b: '\\u{1f600}'})"  # half an emoji
        assert await page.evaluate(cut, timeout_s=5) == {"\ufffd": "a\ufffd", "b": "\U0001f600"}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(CommandFailed, match="wasn't found") as refused:
                await page.call("Foo.bar")
        assert refused.value.number == -32601
        with pytest.raises(CommandFailed) as refused:
            await page.call("Page.navigate", url=5)
        assert refused.value.data
    assert capfd.readouterr() == ("", "")  # nothing is printed, whatever DEBUG says, and no thread dies aloud


async def test_big_messages_come_fast():
    async with paging() as page:
        began = time.process_time()
        text = await page.evaluate("'\u00e9'.repeat(16e6)", timeout_s=120)
        assert len(text) == 16_000_000
        assert time.process_time() - began < 2.0  # checking UTF-8 in Python takes 0.17 s a MB: 5 s
        assert await page.evaluate(f"'{'x' * 5_000_000}'.length", timeout_s=60) == 5_000_000


async def test_a_busy_page_is_healthy():
    async with paging() as page:
        busy = asyncio.create_task(
            page.evaluate("{const t = performance.now() + 1500; while (performance.now() < t);} 7")
        )
        await asyncio.sleep(0.2)
        with pytest.raises(DriverTimeout, match=r"no answer in 0\.3 s"):
            await page.evaluate("1", timeout_s=0.3)
        assert await busy == 7
        assert await page.evaluate("1") == 1


async def test_several_subscribers_and_their_failures():
    async with browsing() as (browser, _):
        page = await browser.page()
        said, seen, stamps = "Runtime.consoleAPICalled", [], []

        def fails(params, at):
            raise ValueError("mine")

        with pytest.raises(ExceptionGroup) as failed:
            async with page:
                await page.call("Runtime.enable")
                ends = [page.on(said, lambda p, at: seen.append(p["args"][0]["value"])) for _ in "ab"]
                page.on(said, lambda p, at: stamps.append(at))
                page.on(said, fails)
                before = time.monotonic_ns()
                await page.evaluate("console.log(1)")
                async with asyncio.timeout(5):
                    while len(stamps) < 1:
                        await asyncio.sleep(0.01)
                ends[0]()
                ends[0]()
                await page.evaluate("for (let i = 0; i < 100; i++) console.log(2)")
        assert seen == [1, 1, *[2] * 100]  # also what was still queued at the end
        assert before < stamps[0] < time.monotonic_ns()
        assert [str(e) for e in failed.value.exceptions] == ["mine"] * 101


async def test_a_crash_fails_what_waits_and_a_page_can_be_brought_back(tmp_path):
    async with paging() as page:
        waiting = asyncio.create_task(page.evaluate("new Promise(() => {})", timeout_s=60))
        await asyncio.sleep(0.1)
        began = time.monotonic()
        crash = asyncio.create_task(page.call("Page.crash", timeout_s=60))
        with pytest.raises(BrowserGone, match="crashed") as gone:
            await waiting
        assert gone.value.code == "page_crashed" and time.monotonic() - began < 3
        with pytest.raises(BrowserGone):
            await crash
        with pytest.raises(BrowserGone):
            await page.evaluate("1")
        (tmp_path / "a.html").write_text("<title>back</title>")
        await page.navigate((tmp_path / "a.html").as_uri())
        assert await page.evaluate("document.title") == "back"


async def test_a_killed_browser_is_told_with_its_exit_code():
    async with browsing() as (browser, _), await browser.page() as page:
        waiting = asyncio.create_task(page.evaluate("new Promise(() => {})", timeout_s=60))
        await asyncio.sleep(0.1)
        os.kill(browser.pid, signal.SIGKILL)
        with pytest.raises(BrowserGone) as gone:
            await waiting
        assert "exit code -9" in str(gone.value) or "lost" in str(gone.value)
        with pytest.raises(BrowserGone):
            await browser.page()


async def test_addresses_keep_their_queries(tmp_path):
    (tmp_path / "a.html").write_text("<p>x</p>")
    async with paging() as page:
        await page.navigate((tmp_path / "a.html").as_uri() + "?x=1&y=2#z")
        assert await page.evaluate("location.search + location.hash") == "?x=1&y=2#z"
        with pytest.raises(BrowserGone, match="ERR_CONNECTION_REFUSED") as gone:
            await page.navigate(f"http://127.0.0.1:{free_port()}/")
        assert gone.value.code == "page_not_loaded"
        with pytest.raises(BrowserGone, match="ERR_NAME_NOT_RESOLVED"):
            await page.navigate("http://example.com/")


async def test_a_worker_is_profiled_in_a_session_of_its_own(tmp_path):
    work = "{const t = performance.now() + 400; while (performance.now() < t);} postMessage(1)"
    async with paging() as page:
        await page.attach_workers()
        source = f"URL.createObjectURL(new Blob(['onmessage = () => {{{work}}}']))"
        await page.evaluate(f"globalThis.w = new Worker({source})")
        async with asyncio.timeout(10):
            while not page.workers:
                await asyncio.sleep(0.02)
        session = next(iter(page.workers))
        await start_profile(page, interval_us=500, session=session)
        await page.evaluate("new Promise(done => {w.onmessage = done; w.postMessage(0)})")
        file = tmp_path / "w.cpuprofile.gz"
        assert await end_profile(page, file, session=session) > 50
        assert file.stat().st_mode & 0o777 == 0o600
        assert json.loads(gzip.decompress(file.read_bytes())).keys() >= {"nodes", "samples", "timeDeltas"}


async def test_a_trace_goes_to_disk_in_flat_memory(tmp_path):
    file = tmp_path / "trace.json.gz"
    async with paging() as page:
        await start_trace(page, CATEGORIES)
        await page.evaluate("for (let i = 0; i < 60000; i++) performance.mark('m' + i)", timeout_s=60)
        with pytest.raises(CommandFailed):
            await start_trace(page, CATEGORIES)
        tracemalloc.start()
        ended = await end_trace(page, file)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert ended.complete and ended.data_loss is False and ended.n_bytes > 10_000_000
    assert peak < 20_000_000
    assert file.stat().st_mode & 0o777 == 0o600
    data = json.loads(gzip.decompress(file.read_bytes()))
    assert list(data) == ["traceEvents"]  # no metadata: it holds the command line
    events = data["traceEvents"]
    assert len(events) == ended.n_events
    assert {f"m{i}" for i in range(60000)} <= {event["name"] for event in events}


async def test_events_can_be_reduced_while_they_are_written(tmp_path):
    file = tmp_path / "trace.json.gz"
    async with paging() as page:
        await start_trace(page, CATEGORIES)
        await page.evaluate("performance.mark('mine')")
        ended = await end_trace(page, file, reduce=lambda line: line if b'"mine"' in line else None)
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    assert [event["name"] for event in events] == ["mine"] * len(events) and events
    assert ended.n_dropped == ended.n_events - len(events) > 0


async def test_a_crash_in_mid_trace_keeps_a_file_that_opens(tmp_path):
    file = tmp_path / "trace.json.gz"
    async with browsing() as (browser, _), await browser.page() as page:
        await start_trace(page, CATEGORIES)
        os.kill(browser.pid, signal.SIGKILL)
        ended = await end_trace(page, file, timeout_s=10)
    assert not ended.complete and ended.reason and ended.data_loss is None
    assert json.loads(gzip.decompress(file.read_bytes())) == {"traceEvents": []}


async def test_what_cannot_start_is_named(tmp_path, monkeypatch):
    async with Children() as children:
        with pytest.raises(ConfigError, match="no Chromium or Chrome is found"):
            async with launch(children, executable="no-such-browser"):
                pass
        with pytest.raises(StartupError, match=r"exit code 3.*says why"):
            (tmp_path / "b").write_text("#!/bin/sh\necho says why; exit 3\n")
            (tmp_path / "b").chmod(0o700)
            async with launch(children, executable=tmp_path / "b"):
                pass
        with pytest.raises(ConfigError, match="TMPDIR"):
            (tmp_path / ("long" * 20)).mkdir()
            monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("long" * 20)))
            async with launch(children):
                pass
        for name in ("DISPLAY", "WAYLAND_DISPLAY"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(ConfigError, match="needs a display"):
            async with launch(children, headless=False):
                pass


async def test_a_profile_in_use_is_left_alone_and_one_left_behind_is_taken():
    with tempfile.TemporaryDirectory(prefix="own-") as folder:
        profile = Path(folder, "p")
        async with browsing(profile=profile) as (browser, children):
            port = (profile / "DevToolsActivePort").read_text()
            with pytest.raises(ConfigError, match=f"in use by process {browser.pid}"):
                async with launch(children, profile=profile):
                    pass
            assert (profile / "DevToolsActivePort").read_text() == port
        lock = profile / "SingletonLock"
        for owner in (f"{socket.gethostname()}-{2**22 + 1}", f"another.host-{os.getpid()}"):
            lock.unlink(missing_ok=True)
            lock.symlink_to(owner)
            assert _owner(profile) is None


@pytest.fixture
def cached():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            for name, value in (("Cache-Control", "max-age=600"), ("Content-Length", "1")):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"x")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def test_nothing_stays_when_the_watchdog_was_killed(cached):
    with tempfile.TemporaryDirectory(prefix="own-") as folder:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", folder)
            async with browsing() as (browser, children), await browser.page() as page:
                await page.navigate(
                    f"http://127.0.0.1:{cached.server_port}/"
                )  # its cache is written at the end
                processes = [psutil.Process(pid) for pid in (browser.pid, *descendants(browser.pid))]
                os.kill(children.pid, signal.SIGKILL)
                await asyncio.sleep(0.3)  # the end is not at once, as mostly
                with pytest.raises(BrowserGone):
                    await page.evaluate("new Promise(() => {})", timeout_s=5)
        gone = lambda: not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)  # noqa: E731
        wait_until(gone, 5, "the browser is gone")
        assert len(processes) > 4 and list(Path(folder).iterdir()) == []


OWNER = """
import asyncio
from agentlab.wire.cdp import launch
from agentlab.wire.children import Children

async def main():
    async with Children() as children, launch(children) as browser, await browser.page() as page:
        print(children.pid, browser.pid, flush=True)
        await page.evaluate("new Promise(() => {})", timeout_s=600)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_browser_dies_with_its_owner(number):
    with tempfile.TemporaryDirectory(prefix="own-") as folder:  # a short path: sockets are in it
        check_death_with_owner(number, Path(folder))


def check_death_with_owner(number, tmp_path):
    owner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(OWNER)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    try:
        watchdog = int(owner.stdout.readline().split()[0])
        processes = [psutil.Process(pid) for pid in (watchdog, *descendants(watchdog))]
        assert len(processes) > 4
        owner.send_signal(number)
        owner.wait(10)
        gone = lambda: not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)  # noqa: E731
        wait_until(gone, 5, "the browser is gone")
        wait_until(lambda: list(tmp_path.iterdir()) == [], 5, "its profile is gone")
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
