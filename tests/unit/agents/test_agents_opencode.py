from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentlab.agents import opencode
from agentlab.agents.base import split_model
from agentlab.agents.cache import agent_folder, cache_home, installed_executable
from agentlab.agents.plugins import find_plugin
from agentlab.errors import ConfigError, StartupError


def _environment(config=None, **options):
    return opencode.server_environment(
        home=Path("/lab/home"), database=Path("/lab/home/oc.db"), config=config or {}, **options
    )


def test_environment_is_built_from_nothing(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    monkeypatch.setenv("OPENCODE_CONFIG", "/home/me/private.json")
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    environment = _environment()
    assert "sk-secret" not in json.dumps(environment)
    assert "somebody" not in json.dumps(environment)
    assert "OPENCODE_CONFIG" not in environment
    assert environment["PATH"] == "/usr/bin:/bin"
    assert environment["HOME"] == environment["TMPDIR"] == "/lab/home"
    assert environment["OPENCODE_DB"] == "/lab/home/oc.db"


def test_environment_passes_only_what_is_named():
    environment = _environment(password="pw", passed={"DEEPSEEK_API_KEY": "k"})
    assert environment["OPENCODE_SERVER_PASSWORD"] == "pw"
    assert environment["DEEPSEEK_API_KEY"] == "k"
    assert "OPENCODE_SERVER_PASSWORD" not in _environment()


def test_configuration_travels_as_json_and_not_in_argv():
    config = opencode.server_config("lab/scripted", base_url="http://127.0.0.1:9/v1", token="t0ken")
    environment = _environment(config)
    assert json.loads(environment["OPENCODE_CONFIG_CONTENT"]) == config
    assert "t0ken" not in " ".join(opencode.serve_argv(Path("/x/opencode")))


def test_configuration_too_long_for_an_environment_variable_is_refused():
    with pytest.raises(ConfigError, match="128 KiB"):
        _environment({"agent": {"a": {"prompt": "x" * 140_000}}})


@pytest.mark.parametrize("bad", [{"x": float("nan")}, {"x": {1, 2}}])
def test_configuration_that_is_no_json_is_refused(bad):
    with pytest.raises(ConfigError, match="not plain JSON"):
        _environment(bad)


def test_config_reaches_only_the_model_asked_for():
    config = opencode.server_config("lab/scripted", base_url="http://127.0.0.1:9/v1", token="t")
    assert config["enabled_providers"] == ["lab"]
    assert config["model"] == config["small_model"] == "lab/scripted"
    assert config["provider"]["lab"]["options"] == {"baseURL": "http://127.0.0.1:9/v1", "apiKey": "t"}
    assert config["permission"]["question"] == "deny"
    assert config["snapshot"] is False


def test_config_without_base_url_uses_a_provider_that_opencode_knows():
    config = opencode.server_config("anthropic/some-model")
    assert "provider" not in config
    assert config["enabled_providers"] == ["anthropic"]


def test_extra_is_merged_dict_by_dict():
    extra = {"provider": {"lab": {"models": {"scripted": {"limit": {"output": 99}}}}}, "agent": {"o": {}}}
    config = opencode.server_config("lab/scripted", base_url="http://127.0.0.1:9/v1", extra=extra)
    model = config["provider"]["lab"]["models"]["scripted"]
    assert model["limit"] == {"context": 200_000, "output": 99}
    assert model["tool_call"] is True
    assert config["agent"] == {"o": {}}


def test_defaults_are_not_shared_between_configurations():
    first = opencode.server_config("lab/scripted")
    first["permission"]["*"] = "ask"
    assert opencode.server_config("lab/scripted")["permission"]["*"] == "allow"


def test_plugins_become_entries_and_files(tmp_path):
    (tmp_path / "plugin.js").touch()
    given = [find_plugin(tmp_path / "plugin.js"), find_plugin((tmp_path / "plugin.js", {"a": 1}))]
    config = opencode.server_config("lab/scripted", plugins=given)
    url = f"file://{tmp_path}/plugin.js"
    assert config["plugin"] == [url, [url, {"a": 1}]]
    opencode.prepare_home(tmp_path, files={"own.json": {"b": 2}})
    assert json.loads((tmp_path / ".config" / "opencode" / "own.json").read_text()) == {"b": 2}


@pytest.mark.parametrize("bad", ["scripted", "/scripted", "lab/", "", "lab/two words"])
def test_model_needs_its_provider(bad):
    with pytest.raises(ConfigError, match="provider/model"):
        split_model("OpenCode", bad)


def test_listening_line_gives_the_address():
    found = opencode.LISTENING.search(b"opencode server listening on http://127.0.0.1:4096\n")
    assert found is not None
    assert found[1] == b"http://127.0.0.1:4096"


def test_cache_home_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path / "own"))
    assert cache_home() == tmp_path / "own"
    monkeypatch.delenv("AGENTLAB_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_home() == tmp_path / "xdg" / "agentlab"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says its specification
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_home() == tmp_path / ".cache" / "agentlab"


def test_locate_says_what_to_run(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    with pytest.raises(StartupError, match=r"Run: agentlab install opencode$"):
        opencode.locate()
    with pytest.raises(StartupError, match=r"install opencode --version 1.2.3"):
        opencode.locate("1.2.3")


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"executable": "gone"}', '{"executable": 3}'])
def test_damaged_installation_is_no_installation(monkeypatch, tmp_path, content):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    folder = agent_folder("opencode", "1.2.3")
    folder.mkdir(parents=True)
    (folder / "agent.json").write_text(content)
    assert installed_executable(folder) is None


def test_home_says_that_the_package_is_there(tmp_path):
    opencode.prepare_home(tmp_path, "9.9.9")
    folder = tmp_path / ".config" / "opencode"
    assert list((folder / "node_modules").iterdir()) == []
    lock = json.loads((folder / "package-lock.json").read_text())
    assert lock["packages"][""]["dependencies"] == {"@opencode-ai/plugin": "9.9.9"}
    assert json.loads((folder / "package.json").read_text())["dependencies"] == {
        "@opencode-ai/plugin": "9.9.9"
    }
