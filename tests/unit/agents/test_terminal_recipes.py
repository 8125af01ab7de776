"""How each agent is configured and started on a terminal, without starting it."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path

import pytest
import yaml

import agentlab
from agentlab.agents import installable, npm, runtime
from agentlab.agents.base import Setup, environment
from agentlab.agents.bundle import identity
from agentlab.agents.cache import agent_folder
from agentlab.agents.catalogue import AGENTS
from agentlab.agents.tui.base import DUMMY_KEY, TerminalSetup
from agentlab.agents.tui.catalogue import TERMINALS, find_terminal
from agentlab.errors import ConfigError, StartupError

OWN = [name for name, about in TERMINALS.items() if about.tested == "real"]
IDLE = [name for name in OWN if TERMINALS[name].idle]


@pytest.fixture
def setup(tmp_path) -> TerminalSetup:
    for name in ("home", "workspace"):
        (tmp_path / name).mkdir()
    return TerminalSetup(
        home=tmp_path / "home",
        workspace=tmp_path / "workspace",
        executable=tmp_path / "agent",
        version="1.2.3",
        base_url="http://127.0.0.1:4321",
        model="scripted",
        port=4711,
        flags=("--more",),
    )


def written(setup: TerminalSetup) -> list[Path]:
    return [file for file in setup.home.rglob("*") if file.is_file()]


@pytest.mark.parametrize("name", TERMINALS)
def test_nothing_of_the_callers_is_passed_on(name, setup, monkeypatch):
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "SYNAPS_TOKEN", "JCODE_X"):
        monkeypatch.setenv(variable, "users-0815")
    environment = TERMINALS[name].prepare(setup)
    assert "users-0815" not in json.dumps(environment)
    assert environment["HOME"] == str(setup.home)
    assert environment["TERM"] == "xterm-256color" and "NO_COLOR" not in environment
    inside = [v for k, v in environment.items() if k.endswith(("HOME", "DIR")) and v.startswith("/")]
    assert all(Path(value).is_relative_to(setup.home) for value in inside)


@pytest.mark.parametrize("name", TERMINALS)
def test_the_key_is_in_no_command_line_and_in_private_files_only(name, setup):
    about = TERMINALS[name]
    environment = about.prepare(setup)
    argv = about.argv(setup)
    assert argv[0] == str(setup.executable) and argv[-1] == "--more"
    assert DUMMY_KEY not in " ".join(argv)
    holding = [file for file in written(setup) if DUMMY_KEY in file.read_text()]
    for file in holding:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    if name in IDLE and name != "claude_code":
        assert holding or DUMMY_KEY in json.dumps(environment)


@pytest.mark.parametrize("name", IDLE)
def test_the_model_is_where_it_was_said_to_be(name, setup):
    about = TERMINALS[name]
    told = [
        *about.prepare(setup).values(),
        *about.argv(setup),
        *(file.read_text() for file in written(setup)),
    ]
    assert any("http://127.0.0.1:4321" in text for text in told)


@pytest.mark.parametrize("name", TERMINALS)
def test_a_home_can_be_prepared_again(name, setup):
    first = TERMINALS[name].prepare(setup)
    before = {file: file.read_bytes() for file in written(setup)}
    assert TERMINALS[name].prepare(setup) == first
    assert {file: file.read_bytes() for file in written(setup)} == before


@pytest.mark.parametrize("name", TERMINALS)
def test_a_recipe_is_whole(name):
    about = TERMINALS[name]
    assert about.name == name and about.gesture and about.folders
    assert bool(about.daemon) == bool(about.daemon_marks)
    assert about.idle == (not about.why)
    release = about.release(about.version or "1.0")
    assert (release.source == "path") == (about.tested == "lookalike") == (not about.version)
    assert all("=" in switch and effect for switch, effect in about.switches.items())
    if name in AGENTS:
        assert (about.version, about.title) == (AGENTS[name].version, AGENTS[name].title)
        assert release.package == AGENTS[name].package


def test_codex_trusts_a_workspace_whatever_its_name(setup, tmp_path):
    import dataclasses

    odd = tmp_path / 'a "b"\\c é'
    odd.mkdir()
    TERMINALS["codex"].prepare(dataclasses.replace(setup, workspace=odd))
    config = tomllib.loads((setup.home / ".codex" / "config.toml").read_text())
    assert config["projects"] == {str(odd): {"trust_level": "trusted"}}
    assert config["model_providers"]["lab"]["base_url"] == "http://127.0.0.1:4321/v1"


def test_codex_is_started_as_npm_does():
    folder = Path("/cache/codex-0.171.0/node_modules/@openai")
    binary = folder / "codex-linux-x64" / "vendor" / "x86_64-unknown-linux-musl" / "bin" / "codex"
    assert TERMINALS["codex"].launched(binary) == folder / "codex" / "bin" / "codex.js"


@pytest.mark.parametrize(
    "name, file", [("omp", ".omp/agent/models.yml"), ("continue_cli", ".continue/config.yaml")]
)
def test_yaml_is_read_as_it_was_meant(name, file, setup):
    TERMINALS[name].prepare(setup)
    data = yaml.safe_load((setup.home / file).read_text())
    assert "scripted" in json.dumps(data)


def test_claude_code_knows_the_key_by_its_end(setup):
    TERMINALS["claude_code"].prepare(setup)
    known = json.loads((setup.home / ".claude.json").read_text())
    assert DUMMY_KEY.endswith(known["customApiKeyResponses"]["approved"][0])
    assert known["projects"][str(setup.workspace)]["hasTrustDialogAccepted"] is True


def test_clines_hub_has_a_port_of_its_own(setup):
    assert TERMINALS["cline"].needs_port
    assert TERMINALS["cline"].prepare(setup)["CLINE_HUB_PORT"] == "4711"


def test_aider_asks_for_no_repository(setup):
    assert "--no-git" in TERMINALS["aider"].argv(setup)
    (setup.workspace / ".git").mkdir()
    assert "--no-git" not in TERMINALS["aider"].argv(setup)


@pytest.mark.parametrize(
    "version, package, beside",
    [("0.73.1", "@mariozechner/pi-coding-agent", ()), ("1.6.0", "@earendil-works/pi-coding-agent", None)],
)
def test_pi_moved_to_another_package(version, package, beside):
    release = TERMINALS["pi"].release(version)
    assert release.package == package
    assert release.beside == (runtime.node24() if beside is None else beside)


def test_a_name_that_is_not_known_says_what_is():
    assert find_terminal("claude-code") is TERMINALS["claude_code"]
    with pytest.raises(ConfigError, match=r"Terminal\('codx'\): known are opencode, .*Did you mean 'codex'"):
        find_terminal("codx")
    with pytest.raises(ConfigError, match="jcode is on no package registry"):
        installable.find_installable("jcode")


@pytest.mark.parametrize("name", [name for name in TERMINALS if not TERMINALS[name].idle])
def test_what_has_no_prompt_offline_is_refused_and_says_why(name):
    with pytest.raises(ConfigError, match=r"no prompt to wait at .* log in.*login_screen=True"):
        TERMINALS[name].check_idle()


def test_what_is_not_installed_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    with pytest.raises(StartupError, match=r"Run: agentlab install copilot$"):
        TERMINALS["copilot"].locate()
    with pytest.raises(StartupError, match=r"Run: agentlab install pi --version 1\.6\.0$"):
        TERMINALS["pi"].locate("1.6.0")


def test_everything_of_a_registry_can_be_installed():
    found = installable.installables()
    assert set(found) >= {*AGENTS, *(name for name, about in TERMINALS.items() if about.version)}
    assert found["copilot"].kind == "terminal" and found["pi"].kind == "agent"
    assert found["mini_swe_agent"].version == AGENTS["mini_swe_agent"].version


def test_a_runtime_is_installed_beside_and_comes_first(tmp_path, monkeypatch):
    """With a stand-in for npm's part: a Node.js that answers for the script."""
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    asked: list[str] = []

    def fake(npm_path, work, packages, name):
        asked.extend(packages)
        node = work / "node_modules" / f"node-{runtime.platform_name()}" / "bin" / "node"
        entry = work / "node_modules" / "@qwen-code" / "qwen-code" / "cli-entry.js"
        for file, text in ((node, "#!/bin/sh\necho 0.24.4\n"), (entry, "#!/usr/bin/env node\n")):
            file.parent.mkdir(parents=True)
            file.write_text(text)
            file.chmod(0o755)

    monkeypatch.setattr(npm, "_npm_install", fake)
    monkeypatch.setattr(npm.shutil, "which", lambda name: "npm")
    done = agentlab.install("qwen-code")
    assert asked == ["@qwen-code/qwen-code@0.24.4", f"node-{runtime.platform_name()}@{runtime.NODE24}"]
    node = agent_folder("qwen_code", "0.24.4") / "node_modules" / f"node-{runtime.platform_name()}" / "bin"
    setup = TerminalSetup(home=tmp_path, workspace=tmp_path, executable=done.executable, version="0.24.4")
    assert TERMINALS["qwen_code"].prepare(setup)["PATH"].split(":")[0] == str(node)
    assert TERMINALS["qwen_code"].locate() == done.executable


def test_the_command_line_drivers_get_it_too(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    node = agent_folder("pi", "1.6.0") / "node_modules" / f"node-{runtime.platform_name()}" / "bin"
    node.mkdir(parents=True)
    setup = Setup(
        home=tmp_path,
        workspace=tmp_path,
        executable=node.parent.parent / "pi" / "cli.js",
        dialect="chat",
        base_url="http://127.0.0.1:1/v1",
        token="t",
        model="m",
        context_tokens=1,
        output_tokens=1,
        system=None,
        flags=(),
    )
    assert environment(setup)["PATH"].split(":")[0] == str(node)


@pytest.mark.parametrize(
    "answer, version, fits",
    [
        ("codex-cli 0.171.0", "0.171.0", True),
        ("omp/18.1.21", "18.1.21", True),
        ("GitHub Copilot CLI 1.0.102.", "1.0.102", True),
        ("0.36.0 (commit 7c61e5bb)", "0.36.0", True),
        ("0.0.1790142911-g7618fb (released)", "0.0.1790142911-g7618fb", True),
        ("0.0.1790142911-g7618fb (released)", "0.0.1790142911", False),
        ("11.6.0", "1.6.0", False),
        ("1.6.01", "1.6.0", False),
        ("1.6.0.2", "1.6.0", False),
        ("1.6.0-beta", "1.6.0", False),
        ("v1.6.0", "1.6.0", True),
        ("pi1.6.0", "1.6.0", False),
    ],
)
def test_a_version_is_read_out_of_what_is_said(answer, version, fits, tmp_path, monkeypatch):
    monkeypatch.setattr(npm, "reported_version", lambda executable: answer)
    if fits:
        assert npm.first_that_runs([tmp_path], "x", version) == tmp_path
    else:
        with pytest.raises(StartupError, match="does not run here"):
            npm.first_that_runs([tmp_path], "x", version)


def test_what_says_another_version_is_known_by_it(tmp_path, monkeypatch):
    monkeypatch.setattr(npm, "reported_version", lambda executable: "1.0.1")
    release = TERMINALS["grok_cli"].release("0.0.34")
    assert npm.first_that_runs([tmp_path], "grok_cli", "0.0.34", says=release.says) == tmp_path


@pytest.mark.parametrize("source", ["npm", "pypi", "native"])
def test_a_build_on_a_terminal_is_told_by_its_package(source, tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    entry, code, name = {
        "npm": ("node_modules/x/dist/cli.js", "node_modules/x/lib/a.js", "grok_cli"),
        "pypi": ("aider", "venv/lib/python3.11/site-packages/aider/main.py", "aider"),
        "native": ("node_modules/x/bin/droid", "node_modules/x/bin/part.wasm", "droid"),
    }[source]
    for file in (entry, code, "node_modules/y/package.json"):
        (tmp_path / "t" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "t" / file).write_text("one")
    if source == "npm":
        (tmp_path / "t" / "node_modules" / "x" / "package.json").write_text("{}")
    first = identity(TERMINALS[name], tmp_path / "t" / entry)
    (tmp_path / "t" / "node_modules" / "y" / "package.json").write_text("another package's")
    assert identity(TERMINALS[name], tmp_path / "t" / entry) == first
    (tmp_path / "t" / code).write_text("two!")
    second = identity(TERMINALS[name], tmp_path / "t" / entry)
    assert second["bundle_sha256"] != first["bundle_sha256"]
    assert second["entry_sha256"] == first["entry_sha256"]
