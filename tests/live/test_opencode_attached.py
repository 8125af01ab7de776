"""A real server that runs already: used with credentials that are kept nowhere, and left as it was."""

import contextlib
import os
import secrets
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import httpx
import pytest

import agentlab as al
from agentlab.agents import opencode

USER, PASSWORD = "somebody", f"planted-{secrets.token_hex(8)}"
HEADERS = [("X-Lab", f"  planted-{secrets.token_hex(8)} "), ("X-Lab", f"planted-{secrets.token_hex(8)}")]
SECRETS = [PASSWORD, *(value.strip() for _, value in HEADERS)]
PROBE = al.Scenario("probe", turns=["Marker {nonce}. Explain it."], require=["text"])


@contextlib.contextmanager
def foreign_server(executable, folder, base_url, token):
    """Start a server as a user would; gives a client that knows its credentials, and its pid."""
    home, workspace = folder / "home", folder / "workspace"
    home.mkdir()
    workspace.mkdir()
    opencode.prepare_home(home)
    environment = opencode.server_environment(
        home=home,
        database=home / "oc.db",
        config=opencode.server_config("lab/scripted", base_url=base_url, token=token),
        password=PASSWORD,
        passed={"OPENCODE_SERVER_USERNAME": USER},
    )
    process = subprocess.Popen(
        opencode.serve_argv(executable), env=environment, cwd=workspace, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        found = next(filter(None, map(opencode.LISTENING.search, iter(process.stdout.readline, b""))))
        with httpx.Client(base_url=found[1].decode(), auth=(USER, PASSWORD), timeout=60) as client:
            yield client, process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


class Watch:
    """Look for the secrets where other processes or a later reader could see them, as long as it is entered.

    It samples: what stands there for less than its round of some 50 ms may be missed.
    """

    def __init__(self, but_group):
        self.found = set()
        self.n_rounds = self.n_processes = 0
        self._but = but_group
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _run(self):
        while not self._over.wait(0.05):
            self.n_rounds += 1
            for process in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError, ValueError):
                    if os.getpgid(int(process.name)) != self._but and int(process.name) != os.getpid():
                        self._look(process)

    def _look(self, process):
        self.n_processes += 1
        for name in ("cmdline", "environ"):
            self._read(process / name)
        if b"agentlab" in (process / "cmdline").read_bytes():  # also what is written and has no name
            for file in (process / "fd").iterdir():
                if file.is_file():
                    self._read(file)

    def _read(self, file):
        with contextlib.suppress(OSError):
            held = file.read_bytes()
            self.found |= {str(file) for secret in SECRETS if secret.encode() in held}


def files_with_secrets(*folders):
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    return [file for file in files if any(secret.encode() in file.read_bytes() for secret in SECRETS)]


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files that nobody else uses."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def test_the_watch_sees_a_secret_that_a_process_holds():
    with Watch(0) as watch:
        process = subprocess.Popen(["sleep", "30"], env={"HELD": PASSWORD})
        end = time.monotonic() + 10
        while not watch.found and time.monotonic() < end:
            time.sleep(0.02)
        process.kill()
        process.wait()
    assert watch.found == {f"/proc/{process.pid}/environ"}


@pytest.mark.parametrize("host", ["process", "kernel"])
async def test_it_is_used_and_left_and_its_secrets_are_nowhere(
    opencode_executable, tmp_path, temporary, capfd, monkeypatch, host
):
    study = tmp_path / "study"
    runtime = tmp_path / "runtime"
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("PLANTED", PASSWORD)  # what a user may have there, and no child gets
    async with al.Gateway(al.ScriptedModel.load("cache-probe")) as gateway:
        address, token = gateway.base_url("chat"), gateway.token
        with foreign_server(opencode_executable, tmp_path, address, token) as (client, pid):
            theirs = client.post("/session", json={"title": "mine"}).json()["id"]
            driver = al.OpenCode(
                "lab/scripted", url=f"{client.base_url}/", auth=(USER, PASSWORD), headers=HEADERS, build="b1"
            )
            with Watch(pid) as watch:
                recs = await al.record(
                    PROBE, driver, runs=2, to=study, host=host, quiet=None, progress="text"
                )
                wrong = al.OpenCode("lab/scripted", url=str(client.base_url), auth=(USER, SECRETS[1]))
                with pytest.raises(al.StartupError, match="HTTP 401: it wants other credentials") as caught:
                    await al.record(PROBE, wrong, runs=1, to=tmp_path / "other", host=host)
            assert [session["id"] for session in client.get("/session").json()] == [theirs]
            assert client.get("/session/status").json() == {}
    assert watch.n_rounds > 20 and watch.n_processes > 20 and watch.found == set()
    al.export(recs, tmp_path / "csv", format="csv")
    al.export(recs, tmp_path / "schema2", format="schema2")
    if host == "kernel":  # once is enough
        al.report(study, tmp_path / "page" / "page.html", pdf=False)
    kept = [study, *(tmp_path / name for name in ("other", "csv", "schema2", "page")), runtime, temporary]
    assert files_with_secrets(*kept) == []
    said = "".join(capfd.readouterr()) + repr(driver) + str(caught.value) + repr(recs)
    assert not any(secret in said for secret in SECRETS)
    # What is known is there, what is not is NA and said.
    assert recs.runs["eligible"].all() and recs.runs["version"].isna().all()
    assert set(recs.sessions["version"]) == {opencode.VERSION}
    assert set(recs.sessions["agent"]) == {"build"} and set(recs.sessions["model"]) == {"scripted"}
    assert recs.issues["code"].tolist() == ["foreign_server"] * 2 and not recs.issues["discard"].any()


async def test_what_is_no_opencode_is_named(tmp_path):
    async with al.Gateway(al.ScriptedModel.load("cache-probe")) as gateway:
        url = gateway.base_url("chat").removesuffix("/v1")
        with pytest.raises(al.StartupError, match="OpenCode does not answer"):
            await al.OpenCode("lab/m", url=url, retries=0).run(PROBE, to=tmp_path / "s")
