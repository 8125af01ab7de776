"""The gateways that are measured, each in processes of its own: ours, and peers from a cache of venvs."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from decimal import Decimal
from pathlib import Path

from agentlab.agents.cache import cache_home
from agentlab.gateway.live import Live
from agentlab.gateway.prices import Price
from agentlab.gateway.settings import Gateway

TOKEN = "sk-bench"  # accepted by loopback peers only
_START_S = 90.0
_STOP_S = 10.0


@dataclasses.dataclass(frozen=True)
class Running:
    """A gateway that can be asked.

    Parameters
    ----------
    url : str
        Of chat completions.
    token : str
        Bearer.
    pids : tuple of int
        Its processes, without their children; none for the provider itself.
    """

    url: str
    token: str
    pids: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Peer:
    """A gateway that pip installs.

    Parameters
    ----------
    name : str
        Of the row and of its venv.
    packages : tuple of str
        For pip; the first one's version is shown.
    command : callable
        Returns the arguments of its Python for a provider's port, its own port and a scratch folder.
    """

    name: str
    packages: tuple[str, ...]
    command: Callable[[int, int, Path], list[str]]

    def python(self) -> Path:
        """Install it into the cache unless it is there; return its Python."""
        folder = cache_home() / "benchmarks" / self.name
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                self._install(folder)
        return folder / "bin" / "python"

    def _install(self, folder: Path) -> None:
        print(f"installing {' '.join(self.packages)} ...", file=sys.stderr)
        work = Path(tempfile.mkdtemp(prefix=f".{self.name}.", dir=folder.parent))
        try:
            subprocess.run([sys.executable, "-m", "venv", work], check=True)
            pip = [work / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            done = subprocess.run([*pip, *self.packages], capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"pip could not install {self.packages}: {done.stderr[-600:]}")
            work.rename(folder)  # programs in it are run as modules, so its own paths do not matter
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def version(self) -> str:
        """Return the versions of what was asked for."""
        names = [name.partition("[")[0].partition("=")[0] for name in self.packages]
        code = f"import importlib.metadata as m; print(*[n + ' ' + m.version(n) for n in {names}], sep=', ')"
        return subprocess.run(
            [self.python(), "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()


def _litellm(provider: int, port: int, folder: Path) -> list[str]:
    models = "".join(
        f"  - model_name: {name}\n    litellm_params: {{model: openai/{name}, api_key: none, "
        f"api_base: 'http://127.0.0.1:{provider}/v1'}}\n"
        for name in ("bench", "bench-paced")
    )
    (folder / "config.yaml").write_text(f"model_list:\n{models}")
    start = "from litellm.proxy.proxy_cli import run_server; run_server()"
    config = ["--config", str(folder / "config.yaml"), "--telemetry", "False", "--num_workers", "1"]
    return ["-c", start, "--host", "127.0.0.1", "--port", str(port), *config]


_STREAMING_ADDON = "def responseheaders(flow):\n    flow.response.stream = True\n"


def _mitmproxy(provider: int, port: int, folder: Path) -> list[str]:
    (folder / "addon.py").write_text(_STREAMING_ADDON)
    start = "from mitmproxy.tools.main import mitmdump; mitmdump()"
    where = ["--mode", f"reverse:http://127.0.0.1:{provider}", "--listen-host", "127.0.0.1"]
    quiet = ["--set", f"confdir={folder}", "-q", "-s", str(folder / "addon.py")]
    return ["-c", start, *where, "--listen-port", str(port), *quiet]


_HTTPX_APP = """
import os, httpx
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route
client = httpx.AsyncClient(base_url=os.environ["PROVIDER"], timeout=None, trust_env=False)
async def chat(request):
    headers = {"content-type": "application/json", "authorization": request.headers["authorization"]}
    out = client.build_request("POST", request.url.path, content=await request.body(), headers=headers)
    back = await client.send(out, stream=True)
    kept = {k: v for k, v in back.headers.items() if k in ("content-type", "content-length")}
    async def parts():
        try:
            async for part in back.aiter_raw():
                yield part
        finally:
            await back.aclose()
    return StreamingResponse(parts(), status_code=back.status_code, headers=kept)
app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])
"""


def _httpx(provider: int, port: int, folder: Path) -> list[str]:
    (folder / "app.py").write_text(_HTTPX_APP)
    fast = ["--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning"]
    return ["-m", "uvicorn", "app:app", "--app-dir", str(folder), "--port", str(port), *fast]


PEERS = (
    Peer("starlette-httpx", ("starlette", "uvicorn[standard]", "httpx"), _httpx),
    Peer("mitmproxy", ("mitmproxy",), _mitmproxy),
    Peer("litellm", ("litellm[proxy]",), _litellm),
)


@contextlib.asynccontextmanager
async def provider_itself(provider: int) -> AsyncGenerator[Running]:
    """Give the provider without a gateway."""
    yield Running(_url(provider), TOKEN, ())


@contextlib.asynccontextmanager
async def ours(provider: int) -> AsyncGenerator[Running]:
    """Start our gateway as a study does: a run under way, evidence on disk, prices and a budget."""
    price = Price(3, 15, cache_read="0.30", cache_write="3.75")
    gateway = Gateway(f"http://127.0.0.1:{provider}/v1", price=price, budget_usd=Decimal(1_000_000))
    with tempfile.TemporaryDirectory(prefix="agentlab-bench-") as folder:
        live = await gateway.start(folder)
        try:
            await live.begin("run", "arm", Path(folder) / "run.jsonl")
            yield Running(live.base_url() + "/chat/completions", live.token, (live.pid,))
            await live.sync()
            _complete(live)
        finally:
            await live.close()


def _complete(live: Live) -> None:
    """Refuse figures of a gateway that has not done its work."""
    for row in live.requests:
        wrong = row["status"] != 200 or "charged_usd" not in row or row.get("uncertain")
        if wrong or row["n_chunks"] not in (1, 100):
            raise RuntimeError(f"a request was not recorded and charged as it should be: {row}")


@contextlib.asynccontextmanager
async def peer(which: Peer, provider: int) -> AsyncGenerator[Running]:
    """Start a peer and end it with all its processes."""
    with tempfile.TemporaryDirectory(prefix="agentlab-bench-") as name:
        folder, port = Path(name), _free_port()
        env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": name,
            "LC_ALL": "C.UTF-8",
            "PROVIDER": f"http://127.0.0.1:{provider}",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
            "LITELLM_LOG": "ERROR",
        }
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [which.python(), *which.command(provider, port, folder)],
                env=env,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            _wait(process, port, folder / "log")
            yield Running(_url(port), TOKEN, (process.pid,))
        finally:
            _stop(process)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise RuntimeError(f"it did not start: {log.read_text(errors='replace')[-800:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    for signal in (15, 9):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_S)
            break


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1/chat/completions"
