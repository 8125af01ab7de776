"""How each agent is configured and started, without starting it."""

from __future__ import annotations

import dataclasses
import json
import stat
import tomllib
from pathlib import Path

import pytest
import yaml

import agentlab
from agentlab.agents import npm
from agentlab.agents.base import Ask, Setup
from agentlab.agents.bundle import identity
from agentlab.agents.cache import agent_folder
from agentlab.agents.catalogue import AGENTS, find_agent
from agentlab.errors import ConfigError, StartupError

TOKEN = "loopback-token-4711"


@pytest.fixture
def setup(tmp_path) -> Setup:
    home = tmp_path / "home"
    home.mkdir()
    return Setup(
        home=home,
        workspace=tmp_path / "workspace",
        executable=tmp_path / "agent",
        dialect="chat",
        base_url="http://127.0.0.1:4321/v1",
        token=TOKEN,
        model="scripted",
        context_tokens=128_000,
        output_tokens=8_192,
        system=None,
        flags=("--more",),
    )


def ask(setup: Setup, turn: int = 1, text: str = "-x @y") -> Ask:
    return Ask(text=text, file=setup.home / "prompt", turn=turn, session="session-1" if turn > 1 else None)


def own(setup: Setup, name: str, **more) -> Setup:
    return dataclasses.replace(setup, dialect=AGENTS[name].dialects[0], **more)


@pytest.mark.parametrize("name", AGENTS)
def test_the_token_is_in_no_command_line_and_in_private_files_only(name, setup, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "users-key-0815")
    agent, setup = AGENTS[name], own(setup, name)
    environment = agent.prepare(setup)
    for turn in (1, 2):
        assert TOKEN not in " ".join(agent.argv(setup, ask(setup, turn)))
    holding = [f for f in setup.home.rglob("*") if f.is_file() and TOKEN in f.read_text()]
    assert holding or TOKEN in json.dumps(environment)
    for file in holding:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "users-key-0815" not in json.dumps(environment)
    assert "LD_PRELOAD" not in environment
    assert Path(environment["HOME"]) == setup.home
    assert environment["DO_NOT_TRACK"] == "1"


@pytest.mark.parametrize("name", AGENTS)
def test_the_command_line(name, setup):
    agent, setup = AGENTS[name], own(setup, name)
    agent.prepare(setup)
    first, second = (agent.argv(setup, ask(setup, turn)) for turn in (1, 2))
    assert first[0] == str(setup.executable)
    assert "--more" in first
    assert any("scripted" in part for part in first) or name == "codex"
    prompts = [i for i, part in enumerate(first) if part == "-x @y"]
    if agent.stdin or name == "mini_swe_agent":
        assert not prompts
    else:
        assert first[prompts[0] - 1] == "--", "a prompt may begin with a dash"
    assert (first != second) == agent.resumes


def test_codex_is_configured_in_toml(setup):
    setup = own(setup, "codex", system='Say "hello"\nand no more.')
    environment = AGENTS["codex"].prepare(setup)
    config = tomllib.loads((setup.home / "codex" / "config.toml").read_text())
    provider = config["model_providers"][config["model_provider"]]
    assert environment[provider["env_key"]] == TOKEN
    assert (provider["base_url"], provider["wire_api"]) == (setup.base_url, "responses")
    assert provider["request_max_retries"] == provider["stream_max_retries"] == 0
    assert config["developer_instructions"] == setup.system
    assert config["analytics"]["enabled"] is False


@pytest.mark.parametrize("dialect, api", [("chat", "openai-completions"), ("gemini", "google-generative-ai")])
def test_pi_speaks_each_wire(setup, dialect, api):
    AGENTS["pi"].prepare(dataclasses.replace(setup, dialect=dialect))
    provider = json.loads((setup.home / "pi" / "models.json").read_text())["providers"]["lab"]
    assert provider["api"] == api
    assert provider["baseUrl"] == setup.base_url + ("/v1beta" if dialect == "gemini" else "")


@pytest.mark.parametrize(
    ("text", "given"), [("config", "config "), ("two words", "two words"), ("a\nb", "a\nb")]
)
def test_cline_takes_one_word_for_a_command(setup: Setup, text: str, given: str) -> None:
    assert AGENTS["cline"].argv(setup, ask(setup, text=text))[-2:] == ["--", given]


def test_mini_takes_its_prompt_from_a_file(setup):
    setup = own(setup, "mini_swe_agent")
    argv = AGENTS["mini_swe_agent"].argv(setup, ask(setup))
    file = Path(argv[argv.index("mini.yaml") + 2])
    assert json.loads(file.read_text())["run"]["task"] == "-x @y"


@pytest.mark.parametrize(
    "text",
    ["😀", "a\u2028b\u2029c\x85d", "\ufeff\x7f\x9f\uffff", "\\ud83d\\ude00", " - 'x':\n\n\t\"y\" \x01#"],
)
def test_mini_reads_the_prompt_as_it_was_given(text, setup):
    setup = own(setup, "mini_swe_agent")
    argv = AGENTS["mini_swe_agent"].argv(setup, ask(setup, text=text))
    file = Path(argv[argv.index("mini.yaml") + 2])
    assert yaml.safe_load(file.read_bytes())["run"]["task"] == text  # as it reads it: with PyYAML


@pytest.mark.parametrize("name", [name for name, agent in AGENTS.items() if agent.takes_system])
def test_a_system_text_is_passed_on(name, setup):
    agent, setup = AGENTS[name], own(setup, name, system="Be brief indeed.")
    environment = agent.prepare(setup)
    files = [f.read_text() for f in setup.home.rglob("*") if f.is_file()]
    everything = [*agent.argv(setup, ask(setup)), *environment.values(), *files]
    assert any("Be brief indeed." in text for text in everything)


def test_names_are_found_with_dashes_and_underscores():
    assert find_agent("claude-code") is find_agent("claude_code")
    with pytest.raises(ConfigError, match=r"AgentCLI\('aider'\): known are pi, opencode, codex, claude_code"):
        find_agent("aider")


def test_what_is_not_installed_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    with pytest.raises(StartupError, match=r"Codex 0\.171\.0 is not installed\. Run: .* install codex$"):
        AGENTS["codex"].locate()
    with pytest.raises(StartupError, match=r"agentlab install codex --version 9\.0\.0$"):
        AGENTS["codex"].locate("9.0.0")


def test_install_takes_the_catalogue(tmp_path, monkeypatch):
    """With a stand-in for npm's part; `make test` installs the real ones."""
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))

    def fake(npm_path, work, packages, name):
        package, _, version = packages[0].rpartition("@")
        file = work / "node_modules" / package / "dist" / "cli.js"
        file.parent.mkdir(parents=True)
        file.write_text(f"#!/bin/sh\necho {version} >&2\n")
        file.chmod(0o755)

    monkeypatch.setattr(npm, "_npm_install", fake)
    monkeypatch.setattr(npm.shutil, "which", lambda name: "npm")
    done = agentlab.install("pi", version="0.99.9")
    assert done.executable == agent_folder("pi", "0.99.9") / (
        "node_modules/@mariozechner/pi-coding-agent/dist/cli.js"
    )
    assert AGENTS["pi"].locate("0.99.9") == done.executable
    with pytest.raises(ConfigError, match="known are pi, opencode"):
        agentlab.install("nothing")


def test_a_build_is_told_by_its_files(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    entry = tmp_path / "agents" / "pi-1" / "dist" / "cli.js"
    entry.parent.mkdir(parents=True)
    entry.write_text("one")
    (entry.parent / "part.wasm").write_text("two")
    (entry.parent / "README.md").write_text("not code")
    first = identity(AGENTS["pi"], entry)
    assert first["entry"] == "<cache>/agents/pi-1/dist/cli.js"
    assert first["bundle_files"] == 2
    assert identity(AGENTS["pi"], entry) == first
    (entry.parent / "README.md").write_text("still not code")
    assert identity(AGENTS["pi"], entry) == first
    (entry.parent / "part.wasm").write_text("2wo!")
    second = identity(AGENTS["pi"], entry)
    assert second["bundle_sha256"] != first["bundle_sha256"]
    assert second["entry_sha256"] == first["entry_sha256"]


@pytest.mark.parametrize("source", ["npm", "pypi"])
def test_the_same_version_with_other_packages_is_another_build(tmp_path, monkeypatch, source):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path / "cache"))

    def packages(name: str, version: str | None) -> str | None:
        entry = tmp_path / name / ("node_modules/pi/dist/cli.js" if source == "npm" else "mini")
        entry.parent.mkdir(parents=True)
        entry.write_text("")
        if version and source == "npm":
            locked = {"name": name, "packages": {"node_modules/sdk": {"version": version}}}
            (tmp_path / name / "node_modules" / ".package-lock.json").write_text(json.dumps(locked))
        elif version:
            (tmp_path / name / "venv/lib/python3.11/site-packages" / f"sdk-{version}.dist-info").mkdir(
                parents=True
            )
        return identity(AGENTS["pi"], entry)["packages_sha256"]

    first = packages("a", "1.0.0")
    assert first is not None and packages("b", "1.0.0") == first
    assert packages("c", "1.0.1") not in (None, first)
    assert packages("d", None) is None


def test_a_bundle_digest_is_path_nul_bytes(tmp_path, monkeypatch):
    import hashlib

    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    entry = tmp_path / "dist" / "cli.js"
    entry.parent.mkdir()
    entry.write_bytes(b"one")
    expected = hashlib.sha256(b"cli.js\0one").hexdigest()
    found = identity(AGENTS["pi"], entry)
    assert found["bundle_sha256"] == expected
    assert found["entry_sha256"] == hashlib.sha256(b"one").hexdigest()
