"""Record ``data/traces`` anew: small pages and OpenCode's in a real Chromium, and a script in Node.

A page of our own grows for half a second, is typed into, and asks a worker; it is recorded as numbers only
(:mod:`agentlab.wire.traceline`), so nothing of the machine or of a text is in the files. Run it where
agentlab, Chromium and Node are installed: ``python data/make_traces.py``. The tests work out themselves what
they expect of the files.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import http.server
import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import agentlab as al
from agentlab.wire.cdp import Page, end_profile, end_trace, launch, start_profile, start_trace
from agentlab.wire.children import Children
from agentlab.wire.traceline import reduce_event_line, reduce_profile

HERE = Path(__file__).resolve().parent
TARGET = HERE / "traces"

LIGHT = (
    "devtools.timeline",
    "disabled-by-default-devtools.timeline",
    "disabled-by-default-devtools.timeline.frame",
    "blink.user_timing",
    "loading",
)
SAMPLED = (*LIGHT, "disabled-by-default-v8.cpu_profiler")

PAGE = """<!doctype html><meta charset="utf-8"><title>A title nobody may read</title>
<input id="line"><div id="answer"></div><script src="/app.js"></script>"""
SCRIPT = """
const worker = new Worker("/worker.js");
const answer = document.getElementById("answer");
let steps = 0;
function burn(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
function step() {
  steps += 1;
  const line = document.createElement("p");
  line.textContent = "a word of the answer ".repeat(10);
  answer.append(line);
  if (steps % 8 === 0) burn(70);
  if (steps % 6 === 0) answer.prepend(document.createElement("hr"));
  answer.offsetHeight;
  worker.postMessage(steps);
}
performance.mark("a mark of the page, with a text");
window.grow = (wanted) => new Promise((done) => {
  const timer = setInterval(() => {
    step();
    if (steps >= wanted) { clearInterval(timer); done(steps); }
  }, 16);
});
"""
WORKER = """
onmessage = (event) => {
  const end = performance.now() + 4;
  while (performance.now() < end);
  postMessage(event.data);
};
"""
NODE = """
function inner(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
function outer(n) {
  if (n) outer(n - 1);
  inner(8);
}
outer(5);
"""


class _Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = {"/app.js": ("text/javascript", SCRIPT), "/worker.js": ("text/javascript", WORKER)}
        kind, text = found.get(self.path, ("text/html", PAGE))
        self.send_response(200)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Serve the page."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()


async def grow(page: Page, steps: int) -> None:
    """Let the answer grow between two marks, and type."""
    await page.evaluate("performance.mark('agentlab:begin')")
    await page.evaluate("document.getElementById('line').focus()")
    growing = asyncio.create_task(page.evaluate(f"grow({steps})"))
    for letter in "abc":
        await asyncio.sleep(0.1)
        for kind in ("keyDown", "keyUp"):
            await page.call(
                "Input.dispatchKeyEvent", type=kind, text=letter if kind == "keyDown" else "", key=letter
            )
    await growing
    await page.evaluate("performance.mark('agentlab:end')")


async def record(name: str, categories: tuple[str, ...], *, steps: int, profile: bool = False) -> None:
    """Record one trace, with or without the sampler beside it."""
    with serving() as url:
        async with Children() as children, launch(children) as browser, await browser.page() as page:
            await page.navigate(url)
            await asyncio.sleep(0.3)
            await start_trace(page, categories)
            if profile:
                await start_profile(page, interval_us=1000)
            await grow(page, steps)
            if profile:
                await end_profile(page, TARGET / f"{name}.cpuprofile.gz")
            end = await end_trace(page, TARGET / f"{name}.json.gz", reduce=reduce_event_line)
            if not end.complete or end.data_loss:
                raise RuntimeError(f"{name}: {end}")


def record_node() -> None:
    """Record a CPU profile as Node writes it."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.mjs"
        script.write_text(NODE)
        subprocess.run(["node", "--cpu-prof", "--cpu-prof-name=p", "script.mjs"], cwd=folder, check=True)
        profile = reduce_profile(json.loads((Path(folder) / "p").read_text()))
    (TARGET / "node.cpuprofile").write_text(json.dumps(profile, separators=(",", ":")) + "\n")


def record_opencode(n_events: int = 9000) -> None:
    """Record OpenCode's own page while an answer streams; keep what follows the begin, up to a size."""
    text = "A line with `code`.\n\n```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    model = al.ScriptedModel([al.Step(text=text * 12, ttft_s=0.1, tokens_per_s=100)])
    scenario = al.Scenario("page", turns=["Explain it. {nonce}"])
    with tempfile.TemporaryDirectory() as folder:
        al.record(
            scenario,
            al.WebChat(model="lab/scripted"),
            runs=1,
            gateway=al.Gateway(model),
            to=Path(folder) / "s",
            host="process",
            progress="none",
            quiet=None,
        ).result()
        (path,) = Path(folder).glob("s/runs/*/trace.json.gz")
        lines = [line.rstrip(b",") for line in gzip.decompress(path.read_bytes()).split(b"\n")[1:-2]]
    begin = next(i for i, line in enumerate(lines) if b'"agentlab:' in line)
    first = [line for line in lines[:begin] if b'"ph":"M"' in line or b"TracingStartedInBrowser" in line]
    kept = [*first, *lines[begin : begin + n_events]]
    text_kept = b'{"traceEvents":[\n' + b",\n".join(kept) + b"\n]}\n"
    (TARGET / "opencode.json.gz").write_bytes(gzip.compress(text_kept, 9, mtime=0))


def reduce_written(path: Path) -> None:
    """Take out of a profile what is private."""
    profile = reduce_profile(json.loads(gzip.decompress(path.read_bytes())))
    path.write_bytes(gzip.compress(json.dumps(profile, separators=(",", ":")).encode(), 9, mtime=0))


async def main() -> None:
    """Record all files."""
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir()
    await record("light", LIGHT, steps=24)
    await record("sampled", SAMPLED, steps=12)
    await record("profiled", LIGHT, steps=16, profile=True)
    (TARGET / "profiled.json.gz").unlink()
    reduce_written(TARGET / "profiled.cpuprofile.gz")
    record_node()
    await asyncio.to_thread(record_opencode)
    files = sorted(TARGET.iterdir())
    for path in files:
        path.chmod(0o644)
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 9, mtime=0))
    sums = (f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in files)
    (HERE / "traces.sha256").write_text("".join(sums), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
