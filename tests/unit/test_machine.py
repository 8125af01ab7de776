"""Provenance says where a number comes from, and never who made it."""

import getpass
import json
import platform
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import agentlab.machine
from agentlab.machine import provenance


def test_this_machine_is_described_in_strict_json() -> None:
    facts = provenance()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["python"].endswith(platform.python_version())
    assert facts["packages"]["msgspec"]
    assert facts["cpus"] >= facts["cpus_usable"] >= 1


def test_nothing_private_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(provenance())
    home = str(Path.home())
    words = text.replace('"', " ").replace("/", " ").split()
    assert socket.gethostname() not in words
    assert home not in text
    if getpass.getuser() != "root":
        assert getpass.getuser() not in words
    secret = "sk-abcdefghijklmnop"
    monkeypatch.setattr(platform, "release", lambda: f"6.1 built at {home}/x with {secret}")
    assert provenance()["kernel"] == "6.1 built at ~/x with <redacted>"


def fake_root(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_another_machine(tmp_path: Path) -> None:
    psi = "some avg10=1.50 avg60=0 avg300=0 total=1\n"
    root = fake_root(
        tmp_path,
        {
            "proc/cpuinfo": "processor\t: 0\nmodel name\t: Fast CPU 3000\n",
            "proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 10 kB\nSwapTotal: 2 kB\n",
            "proc/pressure/cpu": psi,
            "proc/pressure/memory": psi,
            "proc/1/cgroup": "0::/kubepods/pod1\n",
            "sys/fs/cgroup/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/memory.max": "4096\n",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "sys/kernel/mm/ksm/run": "1\n",
            "sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds": "2\n",
            "sys/kernel/mm/damon/admin/kdamonds/0/state": "on\n",
            "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0/action": "pageout\n",
            "sys/kernel/mm/damon/admin/kdamonds/1/state": "off\n",
            "sys/kernel/mm/damon/admin/kdamonds/1/contexts/0/schemes/0/action": "stat\n",
        },
    )
    facts = provenance(root)
    want = {
        "container": "kubepods",
        "cpu_model": "Fast CPU 3000",
        "cpu_limit": 1.5,
        "memory_bytes": 1_024_000,
        "memory_limit_bytes": 4096,
        "transparent_hugepages": "madvise",
        "swap_bytes": 2048,
        "same_page_merging": True,
        "damon": ["pageout"],
        "clock_source": None,
        "pressure_known": True,
    }
    assert {key: facts[key] for key in want} == want
    assert facts["pressure"]["cpu_some_avg10"] == 1.5
    assert facts["pressure"]["io_some_avg10"] is None


def test_a_machine_that_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "processor", lambda: "")
    fake_root(tmp_path, {"sys/fs/cgroup/cpu.max": "max 100000\n", "sys/fs/cgroup/memory.max": "max\n"})
    facts = provenance(tmp_path)
    silent = (
        "swap_bytes",
        "same_page_merging",
        "damon",
        "container",
        "cpu_model",
        "cpu_limit",
        "memory_bytes",
        "memory_limit_bytes",
        "clock_source",
    )
    assert [facts[key] for key in silent] == [None] * len(silent)
    assert facts["pressure_known"] is False
    assert set(facts["pressure"].values()) == {None}


@pytest.mark.parametrize(("mark", "kind"), [("run/.containerenv", "podman"), (".dockerenv", "docker")])
def test_marks_of_containers(tmp_path: Path, mark: str, kind: str) -> None:
    assert provenance(fake_root(tmp_path, {mark: ""}))["container"] == kind


def test_the_commit_is_that_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "agentlab"
    package.mkdir()
    monkeypatch.setattr(agentlab.machine, "__file__", str(package / "machine.py"))
    assert provenance()["commit"] is None  # no checkout
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "init", "-q"], check=True)
    assert provenance()["commit"] is None  # no commit
    (package / "x").write_text("1")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    facts = provenance()
    assert (len(facts["commit"]), facts["modified"]) == (40, False)
    (package / "x").write_text("2")
    assert provenance()["modified"] is True
    spy = tmp_path / "bin" / "git"
    spy.parent.mkdir()
    spy.write_text(f"#!/bin/sh\nenv > {tmp_path / 'seen'}\n")
    spy.chmod(0o755)
    monkeypatch.setenv("PATH", f"{spy.parent}:/usr/bin:/bin")
    monkeypatch.setenv("SOME_API_KEY", "planted")
    provenance()
    assert "planted" not in (tmp_path / "seen").read_text(), "git gets no key"
    monkeypatch.setenv("PATH", "/nowhere")
    facts = provenance()
    assert (facts["commit"], facts["modified"]) == (None, None)


def test_describing_imports_no_measured_package() -> None:
    code = (
        "import sys; from agentlab.machine import provenance; provenance();"
        "print([n for n in ('numpy', 'pandas', 'aiohttp', 'matplotlib', 'asyncio') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
