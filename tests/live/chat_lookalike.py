"""A small chat app with OpenChamber's names: its page, its counters, its command line, and plain HTTP.

It shows that a page is driven by its description alone. It cannot show what OpenChamber's own page costs.
"""

import asyncio
import contextlib
import json
import sys
from pathlib import Path

from aiohttp import web

ANSWER = "# Foxes\n\n" + "A fox jumps over the dog and sleeps until noon. " * 90
PAGE = """<!doctype html><title>chat</title><main></main>
<script>
const id = new URLSearchParams(location.search).get("session") ?? location.pathname.split("/").pop();
const entries = new Map();
const count = (metric, ms) => {
  const row = entries.get(metric) ?? {metric, total: 0, count: 0, max: 0};
  row.total += ms; row.count += 1; row.max = Math.max(row.max, ms);
  entries.set(metric, row);
};
if (localStorage.getItem("openchamber_stream_perf") === "1") {
  let on = false;
  window.__openchamberStreamPerformance = {
    setEnabled: value => { on = value; }, reset: () => entries.clear(),
    getSnapshot: () => ({entries: on ? [...entries.values()] : []}),
  };
}
if (localStorage.getItem("openchamber_sync_perf") === "1") {
  window.__openchamberSyncPerformance = {
    reset() {}, getSnapshot: () => ({entries: [{metric: "sync.event", total: 1, count: 1, max: 1}]}),
  };
}
const show = (message, role, text) => {
  const began = performance.now();
  let element = document.querySelector(`[data-message-id="${message}"]`);
  if (!element) {
    element = document.createElement("article");
    element.dataset.messageId = message;
    element.dataset.messageRole = role;
    document.querySelector("main").append(element);
  }
  element.textContent += text;
  count("ui.message_list.render", performance.now() - began);
};
setTimeout(() => {
  new EventSource("/api/global/event").onmessage = event => {
    const data = JSON.parse(event.data);
    if (data.session === id) show(data.message, data.role, data.text);
  };
}, 100);
setTimeout(() => document.body.append(document.createElement("textarea")), 300);
</script>"""
CLI = """#!{python}
import json, sys, urllib.request
action, *rest = sys.argv[2:]
given = dict(zip(rest[::2], rest[1::2])) if rest[-1] != "--json" else dict(zip(rest[:-1:2], rest[1:-1:2]))
assert sys.argv[1] == "session" and rest[-1] == "--json" and given["--dir"], sys.argv
body = json.dumps({{"action": action, **{{k.strip("-"): v for k, v in given.items()}}}}).encode()
url = "http://127.0.0.1:" + given["--port"] + "/cli"
with urllib.request.urlopen(urllib.request.Request(url, body), timeout=20) as reply:
    print(reply.read().decode())
"""


class Lookalike:
    """Answer prompts piece by piece to all who listen."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[dict] = []
        self.deleted: list[str] = []
        self.refuse = False
        self.first: int | None = None  # sessions are numbers from there on
        self.pieces, self.pause_s = 120, 0.015
        self._sessions: dict[str, list[dict]] = {}
        self._busy: set[str] = set()
        self._listeners: list[asyncio.Queue] = []
        self._tasks: set[asyncio.Task] = set()

    @contextlib.asynccontextmanager
    async def running(self, folder: Path):
        """Serve on loopback; ``folder`` gets the command line."""
        app = web.Application()
        app.add_routes([
            web.get("/", self._page),
            web.get("/chat/{session}", self._page),
            web.get("/api/global/event", self._events),
            web.post("/cli", self._cli),
            web.post("/chats", self._create),
            web.post("/chats/{session}", self._send),
            web.get("/chats/{session}", self._status),
            web.get("/chats/{session}/last", self._last),
            web.delete("/chats/{session}", self._delete),
        ])  # fmt: skip
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        cli = folder / "openchamber"
        cli.write_text(CLI.format(python=sys.executable))
        cli.chmod(0o700)
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _page(self, request):
        return web.Response(text=PAGE, content_type="text/html")

    async def _events(self, request):
        reply = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await reply.prepare(request)
        queue = asyncio.Queue()
        self._listeners.append(queue)
        with contextlib.suppress(ConnectionError):
            while True:
                await reply.write(b"data: " + json.dumps(await queue.get()).encode() + b"\n\n")
        return reply

    async def _cli(self, request):
        asked = await request.json()
        self.asked.append(asked)
        if asked["action"] == "create":
            return web.json_response({"sessionId": self._new()})
        session = asked["session"]
        if asked["action"] == "send":
            if self.refuse:
                raise web.HTTPBadRequest
            self._answer(session, asked["prompt"])
            provider, _, model = asked["model"].partition("/")
            return web.json_response({"model": {"providerID": provider, "modelID": model}})
        if asked["action"] == "messages":
            return web.json_response({"messages": self._sessions[session]})
        return web.json_response({"sessionStatus": {"type": "busy" if session in self._busy else "idle"}})

    async def _create(self, request):
        made = self._new()
        return web.json_response({"id": made if self.first is None else int(made)})

    async def _send(self, request):
        body = await request.json()
        self.asked.append(body)
        self._answer(request.match_info["session"], body["text"])
        return web.Response(status=204)

    async def _status(self, request):
        busy = request.match_info["session"] in self._busy
        return web.json_response({"status": "busy" if busy else "idle"})

    async def _last(self, request):
        return web.json_response(self._sessions[request.match_info["session"]][-1])

    async def _delete(self, request):
        self.deleted.append(request.match_info["session"])
        return web.Response(status=204)

    def _new(self) -> str:
        n = len(self._sessions)
        session = f"ses_{n}" if self.first is None else str(self.first + n)
        self._sessions[session] = []
        return session

    def _answer(self, session: str, prompt: str) -> None:
        self._busy.add(session)
        task = asyncio.create_task(self._stream(session, prompt))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _stream(self, session: str, prompt: str) -> None:
        number = len(self._sessions[session])
        self._tell(session, f"m{number}", "user", prompt)
        self._sessions[session].append({"role": "user", "text": prompt})
        size = -(-len(ANSWER) // self.pieces)
        for at in range(0, len(ANSWER), size):
            self._tell(session, f"m{number + 1}", "assistant", ANSWER[at : at + size])
            await asyncio.sleep(self.pause_s)
        self._sessions[session].append({"role": "assistant", "text": ANSWER})
        self._busy.discard(session)

    def _tell(self, session: str, message: str, role: str, text: str) -> None:
        for queue in self._listeners:
            queue.put_nowait({"session": session, "message": message, "role": role, "text": text})
