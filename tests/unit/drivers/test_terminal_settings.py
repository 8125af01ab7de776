"""Settings of the terminal driver, and what it may not touch."""

from __future__ import annotations

import asyncio
import json
import os
from types import SimpleNamespace

import pytest

from agentlab import ConfigError, Scenario, StartupError, Terminal
from agentlab.drivers.terminal import place
from agentlab.drivers.terminal.foreign import ForeignDaemons
from agentlab.drivers.terminal.place import fresh_home
from agentlab.engine.codec import decode, encode


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"agent": None}, r"name an agent, e.g. Terminal\('codex'\), or give command"),
        ({"agent": "vim"}, "known are opencode"),
        ({"command": "codex --x"}, r"command=...\): give a list of words"),
        ({"command": [], "agent": None}, r"command=...\): give a list of words"),
        ({"sessions": 0}, "give different numbers from 1 to 99"),
        ({"sessions": (1, 4, 4)}, "give different numbers"),
        ({"sessions": True}, "give different numbers"),
        ({"sessions": ()}, "give different numbers"),
        ({"sessions": "4"}, "give different numbers"),
        ({"flags": "--bare"}, r"flags=...\): give a list of words"),
        ({"env": ["A=1"]}, "give a mapping"),
        ({"env": {"A": 1}}, "names and values are texts"),
        ({"env": {"A=B": "1"}}, "names and values are texts"),
        ({"home": "/tmp/x"}, "write 'cold' or 'warm'"),
        ({"daemon": "own"}, "write 'shared' or 'isolated'"),
        ({"settle": "clock"}, r"settle='clock'\): give a number from 0"),
        ({"settle": -1}, "give a number from 0"),
        ({"window_s": 0}, "give a number from 0.1"),
        ({"tolerance": 2}, "give a number from 0 to 1"),
        ({"cap_s": float("nan")}, "give a number from 0"),
        ({"hold_s": None}, "give a number from 0"),
        ({"cols": 80.5}, "give a whole number from 20"),
        ({"rows": 1}, "give a whole number from 5"),
        ({"workspace": "/no/such/folder"}, "there is no such folder"),
        ({"agent": None, "command": ["sh"], "version": "1"}, "only for an agent of agentlab"),
        ({"version": 1}, "give a text"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        Terminal(**{"agent": "codex", **settings})


def test_settings_are_frozen_plain_data():
    driver = Terminal("claude-code", sessions=4, env={"A": "1"}, flags=["--x"], home="warm")
    assert (driver.agent, driver.sessions, driver.flags) == ("claude_code", (4,), ("--x",))
    assert decode(encode(driver)) == driver
    assert Terminal(command=["sh", "-i"]).command == ("sh", "-i")
    assert driver.measures_memory


def test_a_command_is_identified_without_being_told():
    one = Terminal(command=["my-agent", "--key", "secret"], env={"TOKEN": "hidden"}).identify()
    told = json.dumps(dict(one.settings))
    assert "secret" not in told and "hidden" not in told and "my-agent" not in told
    assert one.version is None
    assert one != Terminal(command=["my-agent", "--key", "other"], env={"TOKEN": "hidden"}).identify()
    more = Terminal(command=["my-agent", "--key", "secret"], env={"TOKEN": "hidden"}, sessions=(1, 9))
    assert one == more.identify(), "further numbers of sessions extend a study"


def test_a_version_that_is_not_installed_is_told():
    with pytest.raises(StartupError, match=r"Run: agentlab install codex --version 0\.0\.1"):
        Terminal("codex", version="0.0.1").identify()


def test_a_scenario_with_turns_is_refused():
    arm = SimpleNamespace(scenario=Scenario("asks", turns=["Say hello."]))
    with pytest.raises(ConfigError, match="'asks' has 1 turns, and Terminal asks nothing"):
        Terminal(command=["sh"]).open(arm)  # pyright: ignore[reportArgumentType]


def test_a_command_that_is_not_there_is_told():
    async def opened() -> None:
        async with Terminal(command=["no-such-agent-here"]).open(SimpleNamespace(scenario=Scenario("s"))):  # pyright: ignore[reportArgumentType]
            pass

    with pytest.raises(StartupError, match=r"'no-such-agent-here'.*command not found; give its whole path"):
        asyncio.run(opened())


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A user with a home in which two tools live, one of them moved by a variable."""
    home = tmp_path / "home" / "me"
    for folder in (".codex", ".config/opencode", "elsewhere/synaps", "projects"):
        (home / folder).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SYNAPS_BASE_DIR", str(home / "elsewhere" / "synaps"))
    monkeypatch.setenv("AGENTLAB_CACHE", str(home / ".cache" / "agentlab"))
    return home


@pytest.mark.parametrize(
    "name, folder",
    [
        ("HOME", ""),  # equal
        ("HOME", ".."),  # around
        ("CODEX_HOME", ".codex"),
        ("CODEX_HOME", ".codex/inside"),
        ("CODEX_HOME", "."),
        ("XDG_CONFIG_HOME", ".config"),
        ("SYNAPS_BASE_DIR", "elsewhere"),
        ("SYNAPS_BASE_DIR", "elsewhere/synaps/run"),
        ("CLAUDE_CONFIG_DIR", ".claude"),  # not made yet
        ("CODEX_HOME", "projects/../.codex"),
        ("JCODE_SOCKET", ".codex/jcode.sock"),
    ],
)
def test_a_folder_of_the_users_own_is_refused(user, name, folder):
    agent = "claude_code" if name.startswith("CLAUDE") else "codex"
    with pytest.raises(ConfigError, match="is, holds or lies in one of your own"):
        Terminal(agent, env={name: f"{user}/{folder}"})


def test_a_link_to_a_folder_of_the_users_own_is_refused(user):
    (user / "projects" / "link").symlink_to(user / ".codex")
    with pytest.raises(ConfigError, match="one of your own"):
        Terminal("codex", env={"CODEX_HOME": f"{user}/projects/link"})
    with pytest.raises(ConfigError, match="one of your own"):
        Terminal("codex", env={"CODEX_HOME": "~/.codex"})


def test_other_folders_are_the_users_choice(user, tmp_path):
    for value in (str(user / "projects" / "empty"), str(tmp_path / "empty"), "relative"):
        assert Terminal("codex", env={"CODEX_HOME": value}).env == {"CODEX_HOME": value}
    assert Terminal("codex", env={"CODEX_MODE": str(user)}).env


def test_a_way_out_of_the_workspace_is_refused(user):
    with pytest.raises(ConfigError, match="one of your own"):
        Terminal("codex", env={"CODEX_HOME": "../../../../../.codex"})


def test_the_systems_folder_of_the_users_sockets_is_refused(user, monkeypatch):
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    for name, value in {"XDG_RUNTIME_DIR": "", "JCODE_SOCKET": "/jcode.sock"}.items():
        with pytest.raises(ConfigError, match="one of your own"):
            Terminal("codex", env={name: f"/run/user/{os.getuid()}{value}"})


def test_half_a_character_is_refused():
    with pytest.raises(ConfigError, match="names and values are texts"):
        Terminal("codex", env={"A": "\ud800"})
    with pytest.raises(ConfigError, match="give a list of words"):
        Terminal(command=["a", "\ud800"])


def test_homes_are_fresh_and_equally_long(tmp_path):
    home = fresh_home(tmp_path, 0)
    (home / "left").write_text("x")
    assert list(fresh_home(tmp_path, 0).iterdir()) == []
    assert len(str(fresh_home(tmp_path, 12))) == len(str(home))
    assert home.stat().st_mode & 0o777 == 0o700


def test_without_marks_nobody_is_a_daemon():
    assert len(ForeignDaemons(())) == 0
    assert ForeignDaemons(("no such", "daemon")).gone() == ()


def test_a_cache_that_cannot_be_written_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path / "file"))
    with pytest.raises(StartupError, match="set AGENTLAB_CACHE to a folder that can be written"):
        asyncio.run(place.private_place(SimpleNamespace()))  # pyright: ignore[reportArgumentType]
