"""Plugins on disk: where they are found, what tells two builds apart, and what they are given."""

import json

import pytest

from agentlab.agents import slim
from agentlab.agents.cache import agent_folder
from agentlab.agents.plugins import find_package, find_plugin
from agentlab.errors import ConfigError, StartupError


def package(folder, name="some-plugin", version="1.2.3", **more):
    """Make the package of a plugin."""
    (folder / "dist").mkdir(parents=True)
    (folder / "dist" / "index.js").write_text("export const P = async () => ({})")
    (folder / "dist" / "other.js").write_text("1")
    facts = {"name": name, "version": version, "main": "dist/index.js", **more}
    (folder / "package.json").write_text(json.dumps(facts))
    return folder


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An installation of the known plugin, as npm leaves it; gives the folder of its package."""
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path / "cache"))
    folder = agent_folder(slim.NAME, slim.VERSION)
    made = package(folder / "node_modules" / slim.NAME, slim.NAME, slim.VERSION)
    (folder / "agent.json").write_text(json.dumps({"executable": f"node_modules/{slim.NAME}"}))
    held = {
        "node_modules/zod": {"version": "4.0.0", "integrity": "sha512-a", "resolved": "https://a/zod.tgz"}
    }
    (folder / "node_modules" / ".package-lock.json").write_text(json.dumps({"packages": held}))
    return made


def test_a_known_plugin_is_found_by_name_and_version(installed):
    for name in (slim.NAME, f"{slim.NAME}@{slim.VERSION}"):
        found = find_plugin(name)
        assert (found.name, found.version, found.path) == (slim.NAME, slim.VERSION, installed)
        assert found.entry() == installed.as_uri()


def test_one_that_is_not_installed_says_what_to_run(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    with pytest.raises(StartupError, match=r"Run: agentlab install oh-my-opencode-slim$"):
        find_plugin(slim.NAME)
    with pytest.raises(StartupError, match=r"Run: agentlab install oh-my-opencode-slim --version 2\.0\.0$"):
        find_plugin(f"{slim.NAME}@2.0.0")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("some-plugin@1.0.0", "is not known by name; known are oh-my-opencode-slim"),
        ("./gone.js", "gone.js does not exist"),
        ("file:///x/gone%20too.js", "gone too.js does not exist"),
        (("a", "b", "c"), "no name or path"),
        (("a", "b"), "no name or path"),
        ((7, {}), "no name or path"),
    ],
)
def test_what_is_no_plugin_is_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        find_plugin(given)


def test_a_folder_must_be_a_package(tmp_path):
    with pytest.raises(ConfigError, match=r"holds no package\.json"):
        find_plugin(tmp_path)


def test_the_digest_is_of_all_files_of_the_package_wherever_it_is(tmp_path):
    one, two = (package(tmp_path / name) for name in ("one", "two"))
    first = find_plugin(one).identity()
    assert first == find_plugin(two).identity() == find_plugin(one / "dist" / "index.js").identity()
    assert first["name"] == "some-plugin" and first["version"] == "1.2.3"
    (two / "dist" / "other.js").write_text("2")
    assert find_plugin(two).identity()["digest"] != first["digest"]
    (one / "node_modules" / "zod").mkdir(parents=True)
    (one / "node_modules" / "zod" / "x.js").write_text("3")
    assert find_plugin(one).identity()["digest"] == first["digest"]


def test_dependencies_count_by_version_and_checksum_not_by_address(installed):
    def dependencies(version, address):
        held = {"node_modules/zod": {"version": version, "integrity": "sha512-a", "resolved": address}}
        (installed.parent / ".package-lock.json").write_text(json.dumps({"packages": held}))
        return find_plugin(slim.NAME).identity()["dependencies"]

    first = dependencies("4.0.0", "https://a/")
    assert first is not None and first == dependencies("4.0.0", "https://b/")
    assert first != dependencies("4.0.1", "https://a/")
    (installed.parent / ".package-lock.json").unlink()
    assert find_plugin(slim.NAME).identity()["dependencies"] is None


def test_a_file_of_its_own_counts_with_what_it_imports(tmp_path):
    (tmp_path / "package.json").write_text('{"name": "project-it-lies-in", "main": "else.js"}')
    (tmp_path / "plugin.ts").write_text(
        'import { x } from "./lib/part"\nexport const P = async () => ({ x })'
    )
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "part.ts").write_text('import "../plugin.ts"\nexport const x = 1')
    (tmp_path / "unrelated.js").write_text("1")

    def digest():
        return find_plugin(tmp_path / "plugin.ts").identity()["digest"]

    first = digest()
    assert find_plugin(tmp_path / "plugin.ts").name == "plugin.ts"
    (tmp_path / "unrelated.js").write_text("2")
    assert digest() == first
    (tmp_path / "lib" / "part.ts").write_text("export const x = 2")
    assert digest() != first


def test_settings_are_part_of_the_identity_but_not_in_it(tmp_path):
    path = package(tmp_path / "p")
    plain, mine = find_plugin(path), find_plugin((path, {"prompt": "my private text"}))
    assert mine.entry() == [path.as_uri(), {"prompt": "my private text"}] and mine.files("lab/m") == {}
    assert plain.identity()["settings"] is None and mine.identity()["settings"] is not None
    assert "private" not in str(mine.identity())


def test_a_known_plugin_finds_settings_that_keep_it_off_the_network(installed):
    [(name, settings)] = find_plugin((slim.NAME, {"disabled_tools": ["x"]})).files("lab/m").items()
    assert name == "oh-my-opencode-slim.json" and settings["autoUpdate"] is False
    assert set(settings["disabled_mcps"]) == {"context7", "gh_grep", "websearch"}
    assert {agent["model"] for agent in settings["presets"]["agentlab"].values()} == {"lab/m"}
    assert settings["disabled_tools"] == ["x"]


def test_an_installation_of_another_version_is_refused(tmp_path):
    package(tmp_path / "node_modules" / "p", "p", "1.0.0")
    assert find_package("p", "1.0.0", tmp_path).name == "p"
    with pytest.raises(StartupError, match=r"npm installed p 1\.0\.0 in place of 2\.0\.0"):
        find_package("p", "2.0.0", tmp_path)
    with pytest.raises(StartupError, match=r"q without a package\.json in place of 1"):
        find_package("q", "1.0.0", tmp_path)
